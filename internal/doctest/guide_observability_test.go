package doctest

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/plugin/accesslog"
	"github.com/weftrpc/weft/plugin/debug"
	"github.com/weftrpc/weft/plugin/metrics"
	"github.com/weftrpc/weft/registry/static"
)

// muxed stands for package http in the code of the guide.
type muxed struct{ *http.ServeMux }

func (muxed) StripPrefix(prefix string, h http.Handler) http.Handler {
	return http.StripPrefix(prefix, h)
}

// TestObservabilityGuide runs the code of docs/guide/observability.md.
func TestObservabilityGuide(t *testing.T) {
	srv := weft.NewServer(nil)
	must(t, srv.Register(Arith{}))
	reg, err := static.New(serve(t, srv))
	must(t, err)
	defer reg.Close()
	c, err := cluster.New(&cluster.Config{Registry: reg})
	must(t, err)
	defer c.Close()
	var logged journal
	must(t, func() error {
		log := logged.logger()
		access, err := accesslog.New(&accesslog.Config{
			Logger:   log,
			OneIn:    100,                    // of the calls that went well; failures are all written
			Slow:     200 * time.Millisecond, // slow calls too
			Metadata: []string{"tenant"},
		})
		if err != nil {
			return err
		}
		srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{access}})
		must(t, srv.Register(Arith{}))
		c, err := weft.Dial(t.Context(), serve(t, srv), nil)
		must(t, err)
		defer c.Close()
		if err := c.Call(t.Context(), "Arith.Mul", "no arguments", nil); err == nil {
			t.Error("a call with the wrong type went well")
		}
		return nil
	}())
	mux := http.NewServeMux()
	{
		http := muxed{mux}
		m := metrics.New(nil)
		m.Server("", srv) // "" or a name, which becomes the label weft_name
		m.Cluster("", c)  // a cluster.Client; Client is for a weft.Client
		http.Handle("/metrics", m)

		h := debug.New(nil) // for requests from this machine; debug.Token is for others
		h.Server("", srv)
		http.Handle("/debug/weft/", http.StripPrefix("/debug/weft", h))
	}
	must(t, c.Call(t.Context(), "Arith.Mul", &Args{6, 7}, nil))
	for _, path := range []string{"/metrics", "/debug/weft/stats"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost"
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("%s: %d, %d bytes", path, w.Code, w.Body.Len())
		}
	}
}
