package prometheus_test

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/metrics"
	"github.com/weftrpc/weft/plugin/prometheus"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// source is what servers and clients are added to.
type source interface {
	Server(name string, srv *weft.Server)
	Client(name string, c *weft.Client)
	Cluster(name string, c *cluster.Client)
}

// busy adds a server and clients that have made calls of all kinds.
func busy(t *testing.T, to ...source) {
	t.Helper()
	w := plugintest.Serve(t, nil)
	c, cc := w.Dial(t, nil), w.DialCluster(t)
	for i := range 50 {
		for _, k := range []weft.Caller{c, cc} {
			must(t, k.Call(t.Context(), "Arith.Mul", &plugintest.Args{A: i}, nil))
		}
	}
	for code := weft.Canceled; code <= weft.Unauthenticated; code++ {
		for _, k := range []weft.Caller{c, cc} {
			if err := k.Call(t.Context(), "Arith.Fail", &plugintest.Args{A: int(code)}, nil); weft.CodeOf(err) != code {
				t.Fatal(err)
			}
		}
	}
	_ = c.Call(t.Context(), "Arith.None", &plugintest.Args{}, nil)
	for _, s := range to {
		s.Server("main", w.Server)
		s.Client("direct", c)
		s.Cluster("fleet", cc)
	}
}

// gather collects with the strictest registry there is.
func gather(t testing.TB, c client.Collector) []*dto.MetricFamily {
	t.Helper()
	r := client.NewPedanticRegistry()
	must(t, r.Register(c))
	families, err := r.Gather()
	must(t, err)
	return families
}

func TestCollect(t *testing.T) {
	c := prometheus.New(nil)
	busy(t, c)
	families := gather(t, c)
	problems, err := testutil.GatherAndLint(client.GathererFunc(func() ([]*dto.MetricFamily, error) { return families, nil }))
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	statuses := make(map[string]bool)
	for _, f := range families {
		if f.GetName() != "rpc_server_call_duration_seconds" {
			continue
		}
		for _, m := range f.Metric {
			labels := make(map[string]string)
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			h := m.Histogram
			statuses[labels["rpc_response_status_code"]] = true
			if want := map[string]uint64{"Arith/Mul": 100, "Arith/Fail": 2}[labels["rpc_method"]]; h.GetSampleCount() != want {
				t.Errorf("%v: %d calls, want %d", labels, h.GetSampleCount(), want)
			}
			if total := nativeTotal(h); total != h.GetSampleCount() {
				t.Errorf("%v: the native buckets hold %d calls, want %d", labels, total, h.GetSampleCount())
			}
			last := h.Bucket[len(h.Bucket)-1]
			if last.GetCumulativeCount() > h.GetSampleCount() || h.GetSampleSum() <= 0 {
				t.Errorf("%v: %v", labels, h)
			}
		}
	}
	if len(statuses) != 17 {
		t.Errorf("there are %d statuses, want 17: %v", len(statuses), statuses)
	}
}

// nativeTotal is the number of observations in the native buckets.
func nativeTotal(h *dto.Histogram) uint64 {
	total, count := int64(h.GetZeroCount()), int64(0)
	for _, d := range h.PositiveDelta {
		count += d
		total += count
	}
	return uint64(total)
}

// A native histogram has each call in a bucket whose bounds are near its duration.
func TestNativeBuckets(t *testing.T) {
	w := plugintest.Serve(t, nil)
	k := w.Dial(t, nil)
	c := prometheus.New(&prometheus.Config{Bounds: []float64{1}})
	c.Client("", k)
	must(t, k.Call(t.Context(), "Arith.Sleep", &plugintest.Args{A: 50}, nil))
	took := k.Stats().Methods[0].Latency.Quantile(1).Seconds()
	for _, f := range gather(t, c) {
		if f.GetName() != "rpc_client_call_duration_seconds" {
			continue
		}
		h := f.Metric[0].Histogram
		if len(h.Bucket) != 1 || len(h.PositiveSpan) != 1 || h.GetSchema() != 3 {
			t.Fatalf("%v", h)
		}
		upper := math.Exp2(float64(h.PositiveSpan[0].GetOffset()) / 8)
		if upper < took*0.75 || upper > took*1.1 {
			t.Errorf("a call of %v s is in the bucket up to %v s", took, upper)
		}
	}
	for _, f := range gather(t, func() client.Collector {
		c := prometheus.New(&prometheus.Config{NoNative: true})
		c.Client("", k)
		return c
	}()) {
		if f.Metric[0].Histogram != nil && f.Metric[0].Histogram.Schema != nil {
			t.Error("there are native buckets")
		}
	}
}

// Both plugins have the same metrics, and promtool finds no fault with them.
func TestTextIsTheSame(t *testing.T) {
	c, m := prometheus.New(nil), metrics.New(nil)
	busy(t, c, m)
	text := string(m.Append(nil))
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, f := range gather(t, c) {
		if !strings.Contains(text, "# TYPE "+f.GetName()+" "+strings.ToLower(f.GetType().String())+"\n") {
			t.Errorf("plugin/metrics has no %s %s", f.GetType(), f.GetName())
		}
	}
	cmd := exec.Command("promtool", "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

func TestRules(t *testing.T) {
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// Every rule and every panel uses metrics that exist.
func TestNamesExist(t *testing.T) {
	c := prometheus.New(nil)
	busy(t, c)
	known := make(map[string]bool)
	for _, f := range gather(t, c) {
		known[f.GetName()] = true
	}
	for _, file := range []string{"alerts.yml", "alerts_test.yml", "dashboard.json", filepath.Join("..", "..", "docs", "guide", "observability.md")} {
		b, err := os.ReadFile(file)
		must(t, err)
		names := metricNames(string(b))
		if len(names) < 5 {
			t.Errorf("%s uses only %d metrics", file, len(names))
		}
		for name := range names {
			if !known[name] {
				t.Errorf("%s uses %s, which does not exist", file, name)
			}
		}
		if strings.HasSuffix(file, ".md") {
			for name := range known {
				if !names[name] {
					t.Errorf("%s does not tell of %s", file, name)
				}
			}
		}
	}
}
