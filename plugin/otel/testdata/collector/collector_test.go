package collector

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// patience is how long the tests wait for what happens at once on a machine at rest.
const patience = 2 * time.Minute

// TestMain also is the collector and the servers of the test, when it is started as one of them: WEFT_TEST_ROLE has the words of its role.
func TestMain(m *testing.M) {
	role := strings.Split(os.Getenv("WEFT_TEST_ROLE"), " ")
	var err error
	switch role[0] {
	case "":
		os.Exit(m.Run())
	case "collector":
		err = collect(role[1])
	case "server":
		err = serve(role[1], role[2], role[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// start starts this program in a role.
func start(t *testing.T, role ...string) (stdin io.Closer, stdout io.Reader, wait func() error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WEFT_TEST_ROLE="+strings.Join(role, " "))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	wait = sync.OnceValue(cmd.Wait)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = wait()
	})
	return in, out, wait
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The forms of OTLP in JSON, as far as the test looks at them.
type (
	pairs []struct {
		Key   string
		Value struct{ StringValue string }
	}
	span struct {
		TraceID, SpanID, ParentSpanID, Name string
		Kind                                int
		Attributes                          pairs
		process                             string
	}
	metric struct {
		Name, Unit string
		Histogram  struct {
			DataPoints []struct {
				Count          string
				ExplicitBounds []float64
				Attributes     pairs
			}
		}
		process string
	}
	logged struct {
		TraceID, SpanID string
		Body            struct{ StringValue string }
		Attributes      pairs
		process         string
	}
	from  struct{ Attributes pairs }
	batch struct {
		ResourceSpans []struct {
			Resource   from
			ScopeSpans []struct{ Spans []span }
		}
		ResourceMetrics []struct {
			Resource     from
			ScopeMetrics []struct{ Metrics []metric }
		}
		ResourceLogs []struct {
			Resource  from
			ScopeLogs []struct{ LogRecords []logged }
		}
	}
)

func (p pairs) get(key string) string {
	for _, one := range p {
		if one.Key == key {
			return one.Value.StringValue
		}
	}
	return ""
}

// backend is what the collector sends to.
type backend struct {
	mu      sync.Mutex
	spans   []span
	metrics []metric
	logs    []logged
	wrong   error
}

// ServeHTTP implements http.Handler.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var got batch
	err := json.NewDecoder(r.Body).Decode(&got)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.wrong = errors.Join(b.wrong, fmt.Errorf("%s: %w", r.URL.Path, err))
	}
	for _, of := range got.ResourceSpans {
		for _, s := range of.ScopeSpans {
			for _, one := range s.Spans {
				one.process = of.Resource.Attributes.get("service.name")
				b.spans = append(b.spans, one)
			}
		}
	}
	for _, of := range got.ResourceMetrics {
		for _, s := range of.ScopeMetrics {
			for _, one := range s.Metrics {
				one.process = of.Resource.Attributes.get("service.name")
				b.metrics = append(b.metrics, one)
			}
		}
	}
	for _, of := range got.ResourceLogs {
		for _, s := range of.ScopeLogs {
			for _, one := range s.LogRecords {
				one.process = of.Resource.Attributes.get("service.name")
				b.logs = append(b.logs, one)
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte("{}")) // the collector tells what is wrong
}

// startCollector starts a collector that sends to an address, and returns its own.
func startCollector(t *testing.T, to string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := l.Addr().String()
	must(t, l.Close())
	config := filepath.Join(t.TempDir(), "collector.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `
receivers: {otlp: {protocols: {grpc: {endpoint: %q}}}}
exporters: {otlp_http: {endpoint: %q, encoding: json, compression: none}}
service:
  telemetry: {metrics: {level: none}, logs: {level: warn}}
  pipelines:
    traces: {receivers: [otlp], exporters: [otlp_http]}
    metrics: {receivers: [otlp], exporters: [otlp_http]}
    logs: {receivers: [otlp], exporters: [otlp_http]}
`, address, to), 0o600))
	start(t, "collector", config)
	polltest.Until(t, patience, "the collector listens", func() error {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err
	})
	return address
}

// One call goes through three processes. Their spans, metrics and records of the log go by OTLP through a collector of the project, and what comes out
// of it is one trace, with the conventional metrics of each process and the lines of its access log joined to their spans.
func TestCollector(t *testing.T) {
	b := &backend{}
	web := httptest.NewServer(b)
	defer web.Close()
	collector := startCollector(t, web.URL)
	var ends []func()
	server := func(name, next string) string {
		in, out, wait := start(t, "server", collector, name, next)
		ends = append(ends, func() {
			must(t, in.Close())
			must(t, wait())
		})
		address, err := bufio.NewReader(out).ReadString('\n')
		must(t, err)
		return strings.TrimSpace(address)
	}
	middle := server("middle", server("back", ""))
	k, err := newKit(t.Context(), collector, "front")
	must(t, err)
	c, err := weft.Dial(t.Context(), "tcp://"+middle, &weft.ClientConfig{Plugins: k.plugins})
	must(t, err)
	defer c.Close()
	n, err := weft.Invoke[number](t.Context(), c, "Chain.Call", &number{41})
	if err != nil || n.N != 42 {
		t.Fatal(n, err)
	}
	for _, end := range ends {
		end()
	}
	must(t, k.close())

	// The kinds of OTLP: 2 is a server, 3 a client.
	chain := []struct {
		process string
		kind    int
	}{{"front", 3}, {"middle", 2}, {"middle", 3}, {"back", 2}}
	durations := map[int]string{2: "rpc.server.call.duration", 3: "rpc.client.call.duration"}
	var spans []span
	var metrics []metric
	var logs []logged
	polltest.Until(t, patience, "the collector has sent all", func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		spans, metrics, logs = slices.Clone(b.spans), slices.Clone(b.metrics), slices.Clone(b.logs)
		if b.wrong != nil || len(spans) < 4 || len(logs) < 4 {
			return errors.Join(b.wrong, fmt.Errorf("%d spans, %d records", len(spans), len(logs)))
		}
		for _, want := range chain { // a process that lives for a minute exports its metrics several times
			if !slices.ContainsFunc(metrics, func(m metric) bool { return m.process == want.process && m.Name == durations[want.kind] }) {
				return fmt.Errorf("there is no %s of %s: %+v", durations[want.kind], want.process, metrics)
			}
		}
		return nil
	})
	parent, trace := "", ""
	for _, want := range chain {
		at := slices.IndexFunc(spans, func(s span) bool { return s.process == want.process && s.Kind == want.kind })
		if at < 0 {
			t.Fatalf("there is no span of %s with kind %d: %+v", want.process, want.kind, spans)
		}
		s := spans[at]
		if trace == "" {
			trace = s.TraceID
		}
		if s.Name != "Chain/Call" || s.ParentSpanID != parent || s.TraceID != trace || s.Attributes.get("rpc.system.name") != "weft" || s.Attributes.get("rpc.response.status_code") != "OK" {
			t.Errorf("%+v, want it below %s of %s", s, parent, trace)
		}
		parent = s.SpanID
		at = slices.IndexFunc(metrics, func(m metric) bool { return m.process == want.process && m.Name == durations[want.kind] })
		if m, p := metrics[at], metrics[at].Histogram.DataPoints; m.Unit != "s" || len(p) != 1 || p[0].Count != "1" || len(p[0].ExplicitBounds) != 14 || p[0].Attributes.get("rpc.method") != "Chain/Call" {
			t.Errorf("%+v", m)
		}
		direction := map[int]string{2: "answered", 3: "made"}[want.kind]
		at = slices.IndexFunc(logs, func(l logged) bool { return l.process == want.process && l.Attributes.get("call") == direction })
		if at < 0 {
			t.Errorf("there is no record of %s about a call that it has %s: %+v", want.process, direction, logs)
		} else if l := logs[at]; l.Body.StringValue != "call" || l.TraceID != trace || l.SpanID != s.SpanID {
			t.Errorf("%+v, want it joined to %s of %s", l, s.SpanID, trace)
		}
	}
	if len(spans) != 4 || len(logs) != 4 {
		t.Errorf("%d spans and %d records, want 4 of each", len(spans), len(logs))
	}
}
