package nacos

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/registry"
)

// recorder is a Nacos whose lists stay as they are, and what it was asked to change.
type recorder struct {
	mu      sync.Mutex
	list    string // JSON
	lost    bool   // it does not know the instance of a heartbeat
	changes []string
}

func (n *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = r.ParseForm() // a form without these fields fails the test
	data := `"ok"`
	switch {
	case r.Method == http.MethodGet:
		data = n.list
	case r.Form.Get("heartBeat") == "":
		n.changes = append(n.changes, r.Method+" "+r.Form.Get("ip"))
	case n.lost:
		fmt.Fprintf(w, `{"code":%d}`, codeNoInstance)
		return
	}
	fmt.Fprintf(w, `{"code":0,"data":%s}`, data)
}

// expect fails the test unless these are the changes since the last time.
func (n *recorder) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.changes, want) {
		t.Errorf("%s: Nacos was asked for %q, want %q", what, n.changes, want)
	}
	n.changes = nil
}

func (n *recorder) set(list string, lost bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list, n.lost = list, lost
}

// TestNotListed: a registration is sent twice, and once more when Nacos takes heartbeats of the instance and does not list it.
func TestNotListed(t *testing.T) {
	n := &recorder{list: "[]"}
	server := httptest.NewServer(n)
	defer server.Close()
	d := openDriver(t, Config{Addresses: []string{server.URL}})
	i := arith("Arith", "one")
	refresh := func() error { return d.Refresh(testContext(t), i, time.Minute) }
	looks := func(at time.Time) {
		p, ok := d.known(instanceKey{"Arith", "one"})
		if !ok || p.look.IsZero() {
			t.Fatalf("the driver has %+v, want that Refresh is to look", p)
		}
		p.look = at
		d.note(instanceKey{"Arith", "one"}, p)
	}
	later := func() { looks(time.Now().Add(-time.Second)) }
	const post = "POST 10.0.0.7"
	began := time.Now()
	put(t, d, i)
	n.expect(t, "a new instance", post, post)
	put(t, d, i)
	n.expect(t, "an update", post)
	if p, _ := d.known(instanceKey{"Arith", "one"}); p.look.Sub(began) < lookAfter || time.Until(p.look) > lookAfter {
		t.Errorf("the driver has %+v, want that it looks after %v", p, lookAfter)
	}
	looks(time.Now().Add(time.Hour)) // a busy machine may take longer than until then
	if err := refresh(); err != nil {
		t.Error(err)
	}
	n.expect(t, "Refresh before the list can have the instance")
	later()
	n.set(`"damaged"`, false)
	if err := refresh(); err != nil {
		t.Errorf("Refresh when the list cannot be read: %v", err)
	}
	n.expect(t, "Refresh when the list cannot be read")
	n.set("[]", false)
	for look := 2; look <= mostLooks; look++ {
		later()
		began := time.Now()
		if err := refresh(); err != nil {
			t.Error(err)
		}
		n.expect(t, "Refresh of an instance that is not listed", post)
		if p, _ := d.known(instanceKey{"Arith", "one"}); look < mostLooks && p.look.Sub(began) < lookAfter<<look {
			t.Errorf("the driver has %+v %v after look %d, want that it waits for %v", p, time.Since(began), look, lookAfter<<look)
		}
	}
	if err := refresh(); err != nil {
		t.Error(err)
	}
	n.expect(t, "Refresh after the last look")

	n.set("[]", true)
	if err := refresh(); !errors.Is(err, registry.ErrLost) {
		t.Errorf("Refresh of an instance that is lost: %v", err)
	}
	n.set(`[{"ip":"10.0.0.7","port":8972}]`, false)
	put(t, d, i)
	n.expect(t, "an instance that was lost", post, post)
	later()
	if err := refresh(); err != nil {
		t.Error(err)
	}
	n.expect(t, "Refresh of an instance that is listed")
}

// TestMovedUnlisted: an instance with a new address is withdrawn from where this process has put it, though the list does not have it yet.
func TestMovedUnlisted(t *testing.T) {
	n := &recorder{list: "[]"}
	server := httptest.NewServer(n)
	defer server.Close()
	d := openDriver(t, Config{Addresses: []string{server.URL}})
	i := arith("Arith", "one")
	put(t, d, i)
	i.Address = "tcp://10.0.0.8:8972"
	put(t, d, i)
	n.expect(t, "an instance that has moved", "POST 10.0.0.7", "POST 10.0.0.7", "POST 10.0.0.8", "DELETE 10.0.0.7", "POST 10.0.0.8")
}
