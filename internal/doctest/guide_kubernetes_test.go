package doctest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	httpdoor "github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/health"
	"github.com/weftrpc/weft/internal/polltest"
)

// TestKubernetesGuide runs the code of docs/guide/kubernetes.md.
func TestKubernetesGuide(t *testing.T) {
	srv := weft.NewServer(nil)
	must(t, srv.RegisterName("Orders", Arith{}))
	pingDatabase := func(context.Context) error { return nil }
	loadStock := pingDatabase
	billing, err := weft.Dial(t.Context(), serve(t, weft.NewServer(nil)), nil)
	must(t, err)
	defer billing.Close()
	mux := http.NewServeMux()
	must(t, func() error {
		h, err := health.New(srv, &health.Config{Checks: []health.Check{
			{Name: "database", Func: pingDatabase, Period: 10 * time.Second, Failures: 3},
			{Name: "stock of goods", Func: loadStock, Services: []string{"Orders"}}, // only Orders needs it
			health.Dependency("billing", billing, ""),                               // shown, and changes nothing
		}})
		if err != nil {
			return err
		}
		mux.Handle("/", h) // /livez, /readyz, /startupz
		return nil
	}())
	status := func(path string) int {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code
	}
	_ = func(ctx context.Context) error { // with a port that may be in use here
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
		defer stop()
		return srv.ListenAndServe(ctx, "tcp://:8972") // returns when the calls in flight have ended
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	// It ends with ctx.
	go func() { ended <- srv.ListenAndServe(ctx, "tcp://127.0.0.1:0") }()
	polltest.True(t, 30*time.Second, "the server is ready", func() bool { return status("/readyz?service=Orders") == 200 && status("/startupz") == 200 })
	cancel()
	must(t, <-ended)
	if got := status("/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("/readyz of a server that has ended: %d", got)
	}
	if got := status("/livez"); got != http.StatusOK {
		t.Errorf("/livez: %d", got)
	}
}

// onePort is the program of docs/guide/kubernetes.md that serves probes and calls on one port.
func onePort(t *testing.T, pingDatabase func(context.Context) error) error {
	mux := http.NewServeMux()
	var h *health.Health
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{httpdoor.Door(&httpdoor.Config{
		Handler: mux,
		Ready: func() error { // /readyz
			if s, _ := h.Status(""); s != health.Serving {
				return errors.New(s.String())
			}
			return nil
		},
	})}})
	h, err := health.New(srv, &health.Config{Checks: []health.Check{{Name: "database", Func: pingDatabase}}})
	if err != nil {
		return err
	}
	mux.Handle("/livez", h)
	mux.Handle("/startupz", h)
	addr := serve(t, srv)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	status := func(path string) int {
		resp, err := client.Get("http://" + addr[len("tcp://"):] + path)
		must(t, err)
		resp.Body.Close()
		return resp.StatusCode
	}
	polltest.True(t, 30*time.Second, "the server is ready", func() bool { return status("/readyz") == 200 && status("/startupz") == 200 })
	for path, want := range map[string]int{"/healthz": 200, "/livez": 200, "/other": 404} {
		if got := status(path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	h.Set("", false)
	if got := status("/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("/readyz of a server that is not ready: %d", got)
	}
	return nil
}

// TestKubernetesGuideOnOnePort runs it.
func TestKubernetesGuideOnOnePort(t *testing.T) {
	must(t, onePort(t, func(context.Context) error { return nil }))
}
