package prometheus_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/prometheus"
)

const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"

// traced is a context whose calls belong to a trace.
func traced(t *testing.T, flags string) context.Context {
	return weft.WithMetadata(t.Context(), "traceparent", "00-"+traceID+"-00f067aa0ba902b7-"+flags)
}

// exemplarsOf are the exemplars of the histograms of a collector: family, method, status and labels of each.
func exemplarsOf(t *testing.T, c client.Collector) (all []string) {
	t.Helper()
	for _, f := range gather(t, c) {
		for _, m := range f.Metric {
			if m.Histogram == nil {
				continue
			}
			labels := make(map[string]string)
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			lower := 0.0
			for _, b := range m.Histogram.Bucket {
				if e := b.Exemplar; e != nil {
					all = append(all, fmt.Sprint(f.GetName(), " ", labels["rpc_method"], " ", labels["rpc_response_status_code"], " ", labels["weft_name"], " ", e.Label[0].GetName(), "=", e.Label[0].GetValue()))
					if v := e.GetValue(); v <= lower || v > b.GetUpperBound() {
						t.Errorf("an exemplar of %v s is in the bucket from %v to %v", v, lower, b.GetUpperBound())
					}
				}
				lower = b.GetUpperBound()
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wantExemplars waits until a collector has these exemplars and no others: a server keeps that of a call when the reply is on its way.
func wantExemplars(t *testing.T, c client.Collector, want ...string) {
	t.Helper()
	slices.Sort(want)
	polltest.Until(t, time.Minute, "the exemplars", func() error {
		if got := exemplarsOf(t, c); !slices.Equal(got, want) {
			return fmt.Errorf("they are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		return nil
	})
}

// Calls of sampled traces are the exemplars of both sides, by method, status and name. Others are not, nor those of a wire that
// carries no metadata.
func TestExemplars(t *testing.T) {
	c := prometheus.New(nil)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{c.Exemplars("main", nil)}})
	k := w.Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{c.Exemplars("", nil)}})
	c.Server("main", w.Server)
	c.Client("", k)
	for _, parent := range []string{"", "00", "zz"} {
		must(t, k.Call(traced(t, parent), "Arith.Sleep", &plugintest.Args{A: 1}, nil))
	}
	must(t, w.DialDoor(t).Call("Arith.Sleep", &plugintest.Args{A: 1}, &plugintest.Result{}))
	for _, hostile := range []string{strings.Repeat("\xff", 55), "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01"} {
		must(t, k.Call(weft.WithMetadata(t.Context(), "traceparent", hostile), "Arith.Sleep", &plugintest.Args{A: 1}, nil))
	}
	must(t, k.Call(traced(t, "01"), "Arith.Mul", &plugintest.Args{A: 1}, nil))
	_ = k.Call(traced(t, "03"), "Arith.Fail", &plugintest.Args{A: int(weft.NotFound)}, nil)
	if n, err := plugintest.Count(traced(t, "01"), k, 3); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	const id = " trace_id=" + traceID
	var want []string
	for _, call := range []string{"Arith/Count OK", "Arith/Fail NOT_FOUND", "Arith/Mul OK"} {
		want = append(want, "rpc_client_call_duration_seconds "+call+" "+id, "rpc_server_call_duration_seconds "+call+" main"+id)
	}
	wantExemplars(t, c, want...)
}

// The program says which labels an exemplar has. Labels that no exemplar may have cost that exemplar and no other.
func TestExemplarLabels(t *testing.T) {
	c := prometheus.New(&prometheus.Config{Bounds: []float64{0.2}})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{c.Exemplars("", func(ctx context.Context) client.Labels {
		return client.Labels{"tenant": weft.MetadataFrom(ctx).Get("tenant")}
	})}})
	c.Server("", w.Server)
	k := w.Dial(t, nil)
	sleep := func(tenant string, ms int) {
		must(t, k.Call(weft.WithMetadata(t.Context(), "tenant", tenant), "Arith.Sleep", &plugintest.Args{A: ms}, nil))
	}
	const want = "rpc_server_call_duration_seconds Arith/Sleep OK  tenant=blue"
	sleep("blue", 300)
	wantExemplars(t, c, want)
	sleep(strings.Repeat("x", 1000), 0)
	// The call may have taken the place of the good one on a machine that is busy.
	polltest.Until(t, time.Minute, "the exemplar of the slow call", func() error {
		sleep("blue", 300)
		if got := exemplarsOf(t, c); !slices.Equal(got, []string{want}) {
			return fmt.Errorf("the exemplars are %q", got)
		}
		return nil
	})
}

// A scrape in the format of OpenMetrics has them.
func TestExemplarsInOpenMetrics(t *testing.T) {
	c := prometheus.New(nil)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{c.Exemplars("", nil)}})
	c.Server("", w.Server)
	must(t, w.Dial(t, nil).Call(traced(t, "01"), "Arith.Mul", &plugintest.Args{A: 1}, nil))
	r := client.NewRegistry()
	r.MustRegister(c)
	web := httptest.NewServer(promhttp.HandlerFor(r, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	defer web.Close()
	polltest.Until(t, time.Minute, "the scrape has the exemplar", func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL, nil)
		must(t, err)
		req.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
		resp, err := web.Client().Do(req)
		must(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		must(t, err)
		if !strings.Contains(string(text), ` # {trace_id="`+traceID+`"} `) || !strings.HasSuffix(string(text), "# EOF\n") {
			return fmt.Errorf("it is\n%s", text)
		}
		return nil
	})
}

// Names of methods that would be the same time series, and such as no label may have, do not make a scrape fail: a program that
// passes calls on makes them with the names that its own callers choose.
func TestStrangeNames(t *testing.T) {
	w := plugintest.Serve(t, nil)
	k, cc := w.Dial(t, nil), w.DialCluster(t)
	c := prometheus.New(nil)
	c.Client("direct", k)
	c.Cluster("fleet", cc)
	names := []string{"Arith.Mul", "Arith/Mul", "Arith.\xff", "Arith.\xfe", "Arith.a\x00b", "Arith.\"}\n", "Arith.None"}
	for _, name := range names {
		for range 3 {
			_ = k.Call(t.Context(), name, &plugintest.Args{A: 1}, nil)
			_ = cc.Call(t.Context(), name, &plugintest.Args{A: 1}, nil)
		}
	}
	for range 2 { // the second scrape has the same series
		for _, f := range gather(t, c) {
			if f.GetName() != "weft_client_request_bytes_total" {
				continue
			}
			for _, m := range f.Metric {
				if m.Counter.GetValue() < 0 {
					t.Errorf("%v", m)
				}
			}
		}
	}
}
