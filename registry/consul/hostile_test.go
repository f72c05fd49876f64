package consul

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// TestHostile has agents that answer what Consul never does: every operation ends with
// an error, soon, and keeps nothing of it.
func TestHostile(t *testing.T) {
	var elsewhere int // requests that came to where a redirect points
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		want   string // in the errors
	}{
		{"without an end", endless, "more bytes than"},
		{"an error without an end", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			endless(w, r)
		}, "500"},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "invalid character"},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, "EOF"},
		{"another shape", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `"x"`) }, "unmarshal"},
		{"deep JSON", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("[", 1<<20)) }, "depth"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "307"},
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(test.answer)
			defer server.Close()
			d := openDriver(t, Config{Address: server.URL, Token: "secret"})
			// With the race detector, the library needs seconds for as much as is allowed.
			d.http.Transport = limited{d.http.Transport.(limited).Transport, 1 << 20}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for what, err := range map[string]error{
				"Watch":         d.Watch(ctx, "Arith", func(l registry.List) { t.Errorf("it emitted %v", l) }),
				"WatchDocument": d.WatchDocument(ctx, "rules", func(d registry.Document) { t.Errorf("it emitted %v", d) }),
			} {
				if err == nil || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 8000 {
					t.Errorf("%s: %.300v, want a short error with %q", what, err, test.want)
				}
			}
			d.Close()
		})
	}
	if elsewhere > 0 {
		t.Errorf("%d requests went to where a redirect points", elsewhere)
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	chunk := []byte(strings.Repeat(" ", 1<<16))
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// TestSocket asks an agent that listens on a socket.
func TestSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "consul.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(&script{answers: []http.Header{index("7")}})
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	defer server.Close()
	d := openDriver(t, Config{Address: "unix://" + path})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = first(ctx, func(ctx context.Context, got func()) error {
		return d.Watch(ctx, "Arith", func(registry.List) { got() })
	})
	if err != nil {
		t.Error(err)
	}
	if _, ok := d.http.Transport.(limited); !ok {
		t.Error("the answers that come through a socket are not limited")
	}
	d.Close()
}

// TestLargeValue has meta that is longer than an instance may be.
func TestLargeValue(t *testing.T) {
	d := &driver{prefix: DefaultPrefix}
	entry := listEntry(t, d, arith, 5)
	for n := 1; n <= maxMetaKeys; n++ {
		entry.Service.Meta[metaKey(n)] = strings.Repeat(" ", 4096)
	}
	value, err := registry.Encode(arith)
	if err != nil {
		t.Fatal(err)
	}
	entry.Service.Meta[metaKey(maxMetaKeys)] = string(value)
	list := d.list("Arith", []*api.ServiceEntry{entry, listEntry(t, d, weft.Instance{Service: "Arith", ID: "two", Address: "tcp://10.0.0.7:1"}, 6)})
	if len(list.Instances) != 1 || len(list.Invalid) != 1 || !strings.Contains(list.Invalid[0].Err.Error(), "at most") {
		t.Errorf("the list has %d instances and invalid %v, want one of each", len(list.Instances), list.Invalid)
	}
}
