package prometheus_test

import (
	"context"
	"fmt"
	"net/http"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/prometheus"
)

func Example() {
	srv := weft.NewServer(nil)
	defer srv.Close()
	if err := weft.Handle(srv, "Greeter.Hello", func(_ context.Context, name *string) (*string, error) { return name, nil }); err != nil {
		fmt.Println(err)
		return
	}
	c := prometheus.New(nil)
	c.Server("", srv)
	registry := client.NewRegistry() // promhttp.HandlerFor serves it
	registry.MustRegister(c)

	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		if f.GetName() == "weft_server_connections" {
			fmt.Println(f.GetHelp(), f.Metric[0].Gauge.GetValue())
		}
	}
	// Output: Open connections of clients. 0
}

// The buckets of the histograms lead to traces.
func ExampleCollector_Exemplars() {
	c := prometheus.New(nil)
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{
		// behind that of plugin/otel, which puts the span into the context; with it labels would be
		//	if s := trace.SpanContextFromContext(ctx); s.IsSampled() {
		//		return client.Labels{"trace_id": s.TraceID().String()}
		//	}
		c.Exemplars("", nil),
	}})
	defer srv.Close()
	c.Server("", srv)
	registry := client.NewRegistry()
	registry.MustRegister(c)
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
}
