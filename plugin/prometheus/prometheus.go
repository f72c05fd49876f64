// Package prometheus is a collector of Prometheus for the statistics of servers and clients.
// It has the metrics of package plugin/metrics, with native histograms beside the classic
// ones; docs/guide/observability.md lists them. alerts.yml has rules for alerts and
// dashboard.json a dashboard for Grafana.
//
//	c := prometheus.New(nil)
//	c.Server("", srv)
//	registry.MustRegister(c)
//
// Everything is read from what weft counts anyway, when Prometheus asks: calls cost no more. Exemplars alone are noted as calls
// end, by an interceptor: see Collector.Exemplars.
package prometheus

import (
	client "github.com/prometheus/client_golang/prometheus"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/plugin/internal/figures"
)

// Config configures a Collector. The zero value, and a nil pointer to one, give the defaults.
type Config struct {
	// Bounds are the upper bounds of the buckets of classic histograms, in seconds, in order.
	// nil: those that the conventions of OpenTelemetry advise, 5 ms to 10 s, and five below,
	// from 0.1 ms.
	Bounds []float64
	// NoNative leaves out native histograms, which only a Prometheus gets that asks for the
	// protobuf format.
	NoNative bool
}

// Collector collects the statistics of what was added to it. It is given to a registry, and
// belongs to one only. Its methods may be called from any goroutine.
type Collector struct {
	source figures.Source
	bounds []float64
	native bool

	exemplars kept
}

var _ client.Collector = (*Collector)(nil)

// New makes a collector of nothing. It panics if the bounds are not in order.
func New(cfg *Config) *Collector {
	if cfg == nil {
		cfg = &Config{}
	}
	return &Collector{bounds: figures.BoundsOf("prometheus", cfg.Bounds), native: !cfg.NoNative}
}

// Server adds a server. name becomes the label weft_name of its metrics, which tells several
// apart in one process; "": there is no such label.
func (c *Collector) Server(name string, srv *weft.Server) { c.source.Server(name, srv) }

// Client adds a client of one server; see Server.
func (c *Collector) Client(name string, of *weft.Client) { c.source.Client(name, of) }

// Cluster adds a client of many servers; see Server.
func (c *Collector) Cluster(name string, of *cluster.Client) { c.source.Cluster(name, of) }

// Describe implements prometheus.Collector. It describes nothing: which metrics there are
// depends on what was added and called.
func (c *Collector) Describe(chan<- *client.Desc) {}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- client.Metric) {
	for _, f := range c.source.Read() {
		for _, s := range f.Samples {
			names, values := make([]string, len(s.Labels)), make([]string, len(s.Labels))
			for i, l := range s.Labels {
				names[i], values[i] = l.Name, l.Value
			}
			desc := client.NewDesc(f.Name, f.Help, names, nil)
			switch {
			case f.Kind == figures.Histogram:
				to <- c.withExemplars(&histogram{c: c, desc: desc, labels: client.MakeLabelPairs(desc, values), of: s.Distribution}, f, s)
			case f.Kind == figures.Counter:
				to <- client.MustNewConstMetric(desc, client.CounterValue, s.Value, values...)
			default:
				to <- client.MustNewConstMetric(desc, client.GaugeValue, s.Value, values...)
			}
		}
	}
}
