// Package metrics publishes the statistics of servers and clients in the text format of
// Prometheus, for programs that do without its library; package plugin/prometheus is for
// those that have it. Both have the same metrics; docs/guide/observability.md lists them.
//
//	m := metrics.New(nil)
//	m.Server("", srv)
//	http.Handle("/metrics", m)
//
// Everything is read from what weft counts anyway, when it is asked for: calls cost no more.
package metrics

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/plugin/internal/figures"
)

// Config configures Metrics. The zero value, and a nil pointer to one, give the defaults.
type Config struct {
	// Bounds are the upper bounds of the buckets of histograms, in seconds, in order. nil:
	// those that the conventions of OpenTelemetry advise, 5 ms to 10 s, and five below,
	// from 0.1 ms.
	Bounds []float64
}

// Metrics is an http.Handler that writes the statistics of what was added to it. Its methods
// may be called from any goroutine.
type Metrics struct {
	source figures.Source
	bounds []float64
}

// New makes Metrics of nothing. It panics if the bounds are not in order.
func New(cfg *Config) *Metrics {
	if cfg == nil {
		cfg = &Config{}
	}
	return &Metrics{bounds: figures.BoundsOf("metrics", cfg.Bounds)}
}

// Server adds a server. name becomes the label weft_name of its metrics, which tells several
// apart in one process; "": there is no such label.
func (m *Metrics) Server(name string, srv *weft.Server) { m.source.Server(name, srv) }

// Client adds a client of one server; see Server.
func (m *Metrics) Client(name string, c *weft.Client) { m.source.Client(name, c) }

// Cluster adds a client of many servers; see Server.
func (m *Metrics) Cluster(name string, c *cluster.Client) { m.source.Cluster(name, c) }

// ServeHTTP writes all metrics.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET is allowed", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(m.Append(nil)) // the scraper has gone
}

// Append appends all metrics to b, in the text format.
func (m *Metrics) Append(b []byte) []byte {
	out := text{bytes.NewBuffer(b)}
	for _, f := range m.source.Read() {
		out.family(f, m.bounds)
	}
	return out.Bytes()
}

// text writes the text format.
type text struct{ *bytes.Buffer }

func (t text) family(f figures.Family, bounds []float64) {
	fmt.Fprintf(t, "# HELP %s %s\n# TYPE %s %s\n", f.Name, f.Help, f.Name, f.Kind)
	for _, s := range f.Samples {
		if d := s.Distribution; d != nil {
			t.histogram(f.Name, s.Labels, d, bounds)
		} else {
			t.sample(f.Name, s.Labels, number(s.Value))
		}
	}
}

func (t text) histogram(name string, labels []figures.Label, d *figures.Distribution, bounds []float64) {
	le := func(bound string) []figures.Label {
		return append(slices.Clone(labels), figures.Label{Name: "le", Value: bound})
	}
	for i, n := range d.Fold(bounds) {
		t.sample(name+"_bucket", le(number(bounds[i])), strconv.FormatUint(n, 10))
	}
	count := strconv.FormatUint(d.Count, 10)
	t.sample(name+"_bucket", le("+Inf"), count)
	t.sample(name+"_sum", labels, number(d.Sum))
	t.sample(name+"_count", labels, count)
}

func (t text) sample(name string, labels []figures.Label, value string) {
	t.WriteString(name)
	for i, l := range labels {
		t.WriteByte("{,"[min(i, 1)])
		t.WriteString(l.Name)
		t.WriteString(`="`)
		t.escape(l.Value)
		t.WriteByte('"')
	}
	if len(labels) > 0 {
		t.WriteByte('}')
	}
	t.WriteByte(' ')
	t.WriteString(value)
	t.WriteByte('\n')
}

// escape writes the value of a label.
func (t text) escape(s string) {
	for _, r := range s { // bytes that are not UTF-8 become U+FFFD
		switch r {
		case '\\':
			t.WriteString(`\\`)
		case '"':
			t.WriteString(`\"`)
		case '\n':
			t.WriteString(`\n`)
		default:
			t.WriteRune(r)
		}
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
