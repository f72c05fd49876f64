package prometheus_test

import (
	"context"
	"fmt"

	client "github.com/prometheus/client_golang/prometheus"

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
