package debug_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/debug"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
)

// get asks for a page from this machine, or as request changes it.
func get(h http.Handler, path string, request func(*http.Request)) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:4711", "localhost:8080"
	if request != nil {
		request(r)
	}
	h.ServeHTTP(w, r)
	return w
}

func decode(t *testing.T, w *httptest.ResponseRecorder, v any) {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
		t.Fatal(err)
	}
}

func TestPages(t *testing.T) {
	w := plugintest.Serve(t, nil)
	c := w.Dial(t, nil)
	cc := w.DialCluster(t)
	h := debug.New(nil)
	h.Server("main", w.Server)
	h.Client("", c)
	h.Cluster("", cc)
	door := w.DialDoor(t)
	native, foreign := c.Go(t.Context(), "Arith.Sleep", &plugintest.Args{A: 60_000}, nil, nil), door.Go("Arith.Sleep", &plugintest.Args{A: 60_000}, &plugintest.Result{}, nil)
	if err := cc.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
		t.Fatal(err)
	}
	polltest.True(t, 30*time.Second, "both calls are listed", func() bool {
		var calls []struct {
			Server, Method, Peer string
			Age                  float64 `json:"age_seconds"`
		}
		decode(t, get(h, "/calls", nil), &calls)
		return len(calls) == 2 && calls[0].Method == "Arith.Sleep" && calls[0].Server == "main" && calls[0].Age >= calls[1].Age && calls[1].Age > 0
	})
	var conns []struct {
		Wire, Software string
		Open           int `json:"open_calls"`
	}
	decode(t, get(h, "/connections", nil), &conns)
	wires, open := []string{}, 0
	for _, c := range conns {
		wires = append(wires, c.Wire)
		open += c.Open
	}
	slices.Sort(wires)
	if !slices.Equal(wires, []string{"netrpc", "weft", "weft"}) || open != 2 {
		t.Errorf("%+v", conns)
	}
	var stats struct {
		Servers  []struct{ Methods []struct{ Method string } }
		Clients  []struct{ Connections int }
		Clusters []struct {
			Methods []struct {
				Calls   int
				Request int `json:"request_bytes"`
			}
			Services []struct{ Instances map[string]int }
		}
	}
	decode(t, get(h, "/stats", nil), &stats)
	if len(stats.Servers) != 1 || len(stats.Clients) != 1 || stats.Clients[0].Connections != 1 || len(stats.Clusters) != 1 ||
		stats.Clusters[0].Methods[0].Calls != 1 || stats.Clusters[0].Methods[0].Request == 0 || stats.Clusters[0].Services[0].Instances["healthy"] != 1 {
		t.Errorf("%+v", stats)
	}
	w.Server.Close()
	<-native.Done
	<-foreign.Done
}

func TestProfiles(t *testing.T) {
	h := debug.New(nil)
	var names []string
	decode(t, get(h, "/pprof/", nil), &names)
	if !slices.Contains(names, "goroutine") || !slices.Contains(names, "profile") {
		t.Errorf("%v", names)
	}
	for _, path := range []string{"/pprof/heap", "/pprof/goroutine?debug=1", "/pprof/profile?seconds=1", "/pprof/trace?seconds=1"} {
		if w := get(h, path, nil); w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("%s: %d, %d bytes", path, w.Code, w.Body.Len())
		}
	}
	for path, want := range map[string]int{"/pprof/none": 404, "/pprof/profile?seconds=0": 400, "/pprof/profile?seconds=999": 400, "/none": 404} {
		if w := get(h, path, nil); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}

// Without Allow only this machine may ask, and only by its own name.
func TestGuard(t *testing.T) {
	local, token := debug.New(nil), debug.New(&debug.Config{Allow: debug.Token("secret")})
	for _, tt := range []struct {
		name    string
		h       http.Handler
		request func(*http.Request)
		want    int
	}{
		{"local", local, nil, 200},
		{"local by address", local, func(r *http.Request) { r.Host = "127.0.0.1" }, 200},
		{"local over IPv6", local, func(r *http.Request) { r.RemoteAddr, r.Host = "[::1]:1", "[::1]:80" }, 200},
		{"from elsewhere", local, func(r *http.Request) { r.RemoteAddr = "192.0.2.1:1" }, 403},
		{"by another name", local, func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"forwarded", local, func(r *http.Request) {
			r.RemoteAddr = "192.0.2.1:1"
			r.Header.Set("X-Forwarded-For", "127.0.0.1")
		}, 403},
		{"passed on by a proxy here", local, func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.1") }, 403},
		{"by the page of another site", local, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"by a person with a browser", local, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "none") }, 200},
		{"no token", token, nil, 403},
		{"wrong token", token, func(r *http.Request) { r.Header.Set("Authorization", "Bearer guess") }, 403},
		{"token", token, func(r *http.Request) { r.Header.Set("Authorization", "Bearer secret"); r.RemoteAddr = "192.0.2.1:1" }, 200},
		{"post", local, func(r *http.Request) { r.Method = http.MethodPost }, 405},
	} {
		if w := get(tt.h, "/", tt.request); w.Code != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, w.Code, tt.want)
		}
	}
}
