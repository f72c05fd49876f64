package producer_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/otel"
	"github.com/weftrpc/weft/plugin/otel/producer"
)

// Traces of one call in a hundred, and metrics of all of them from the statistics of the server.
func Example() {
	traces, err := otel.New(&otel.Config{Sample: 0.01, MeterProvider: noop.NewMeterProvider()})
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{traces.Plugin()}})
	defer srv.Close()

	p := producer.New(nil)
	p.Server("", srv)
	reader := metric.NewManualReader(metric.WithProducer(p)) // in a program NewPeriodicReader, with an exporter
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer provider.Shutdown(context.Background())

	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if m.Name == "weft.server.connections" {
			fmt.Println(m.Description)
		}
	}
	// Output: Open connections of clients.
}
