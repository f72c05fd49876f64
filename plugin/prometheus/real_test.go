//go:build unix

package prometheus_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/prometheus"
	"github.com/weftrpc/weft/registry/registrytest"
	"github.com/weftrpc/weft/registry/static"
)

// serverProcess is a server in a process of its own.
type serverProcess struct {
	cmd       *exec.Cmd
	addr, web string
}

func startServer(t *testing.T) *serverProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WEFT_TEST_SERVER=1")
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	s := &serverProcess{cmd: cmd}
	t.Cleanup(func() {
		s.signal(t, syscall.SIGCONT)
		stdin.Close()
		cmd.Wait()
	})
	if _, err := fmt.Fscanln(stdout, &s.addr, &s.web); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *serverProcess) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Error(err)
	}
}

// prom is a running Prometheus.
type prom struct{ url string }

// startPrometheus starts one that scrapes addresses every second, with quick alerts.
func startPrometheus(t *testing.T, flags []string, targets ...string) *prom {
	t.Helper()
	folder := t.TempDir()
	rules, err := os.ReadFile("alerts.yml")
	must(t, err)
	rules = []byte(quick(string(rules)))
	must(t, os.WriteFile(filepath.Join(folder, "alerts.yml"), rules, 0o644))
	config := "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [alerts.yml]\nscrape_configs:\n- job_name: weft\n  static_configs:\n  - targets: ['" +
		strings.Join(targets, "', '") + "']\n"
	must(t, os.WriteFile(filepath.Join(folder, "prometheus.yml"), []byte(config), 0o644))
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(registrytest.FreePort(t)))
	cmd := exec.Command("prometheus", append(flags, "--config.file="+filepath.Join(folder, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+addr)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	p := &prom{"http://" + addr}
	polltest.Until(t, time.Minute, "every target is scraped", func() error {
		n, err := p.series(`up == 1`)
		if err == nil && n != len(targets) {
			err = fmt.Errorf("%d targets are up", n)
		}
		return err
	})
	return p
}

// quick shortens the times of rules and panels, so that a test need not wait for minutes.
func quick(text string) string {
	text = regexp.MustCompile(`\bfor: \w+`).ReplaceAllString(text, "for: 1s")
	return strings.NewReplacer("[5m]", "[10s]", "$__rate_interval", "10s", "$job", ".*", "$method", ".*").Replace(text)
}

func (p *prom) get(path string, into any) error {
	resp, err := http.Get(p.url + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, b)
	}
	return json.Unmarshal(b, into)
}

// series is how many series an expression gives now.
func (p *prom) series(expr string) (int, error) {
	var out struct{ Data struct{ Result []any } }
	err := p.get("/api/v1/query?query="+url.QueryEscape(expr), &out)
	return len(out.Data.Result), err
}

// firing are the names of the alerts that fire.
func (p *prom) firing() ([]string, error) {
	var out struct {
		Data struct {
			Alerts []struct {
				State  string
				Labels map[string]string
			}
		}
	}
	err := p.get("/api/v1/alerts", &out)
	var names []string
	for _, a := range out.Data.Alerts {
		if a.State == "firing" {
			names = append(names, a.Labels["alertname"])
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// repeat makes a call in so many goroutines, each again when it has ended, for as long as the test lasts.
func repeat(t *testing.T, goroutines int, call func(i int)) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				call(i)
			}
		})
	}
	t.Cleanup(func() {
		close(stop)
		wg.Wait()
	})
}

// load calls the servers: few calls fail.
func load(t *testing.T, c *cluster.Client) {
	repeat(t, 4, func(i int) {
		_ = c.Call(t.Context(), "Arith.Mul", &plugintest.Args{A: i}, nil, weft.WithTimeout(500*time.Millisecond))
		if i%200 == 0 {
			_ = c.Call(t.Context(), "Arith.Fail", &plugintest.Args{A: int(weft.Internal)}, nil)
			_ = c.Call(t.Context(), "Arith.None", &plugintest.Args{}, nil)
		}
	})
}

// dial connects to one server, without metrics.
func dial(t *testing.T, s *serverProcess) *weft.Client {
	t.Helper()
	c, err := weft.Dial(t.Context(), "tcp://"+s.addr, &weft.ClientConfig{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// A real Prometheus scrapes three servers and a client of two of them. The alerts about instances fire while a server is
// frozen, and end when it is back; those about calls fire for calls that fail, are slow, are refused and hang. Every panel
// of the dashboard shows something.
func TestRealPrometheus(t *testing.T) {
	a, b, apart := startServer(t), startServer(t), startServer(t)
	reg, err := static.New("tcp://"+a.addr, "tcp://"+b.addr)
	must(t, err)
	t.Cleanup(func() { reg.Close() })
	cc, err := cluster.New(&cluster.Config{Registry: reg, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { cc.Close() })
	c := prometheus.New(nil)
	c.Cluster("", cc)
	web := httptest.NewServer(metricsHandlerOf(c))
	t.Cleanup(web.Close)
	crowded, hanging := dial(t, b), dial(t, apart)
	must(t, hanging.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil)) // one that ends, before those that do not
	load(t, cc)
	repeat(t, 1, func(int) { _ = cc.Call(t.Context(), "Arith.Sleep", &plugintest.Args{A: 1500}, nil) })
	repeat(t, 4, func(int) { _ = crowded.Call(t.Context(), "Arith.Few", &plugintest.Args{A: 100}, nil) })
	repeat(t, 1, func(int) {
		_ = hanging.Call(t.Context(), "Arith.Sleep", &plugintest.Args{A: int(time.Hour.Milliseconds())}, nil, weft.WithTimeout(time.Hour))
	})
	p := startPrometheus(t, nil, a.web, b.web, apart.web, strings.TrimPrefix(web.URL, "http://"))

	firing := func(want bool, names ...string) {
		t.Helper()
		polltest.Until(t, 2*time.Minute, fmt.Sprintf("firing %v: %v", names, want), func() error {
			now, err := p.firing()
			for _, name := range names {
				if slices.Contains(now, name) != want {
					return fmt.Errorf("%v fire (%v)", now, err)
				}
			}
			return err
		})
	}
	firing(false, "WeftInstancesLost", "WeftHalfOfInstancesLost")
	firing(true, "WeftCallsFail", "WeftServerErrors", "WeftCallsSlow", "WeftServerRefuses", "WeftCallsHang")
	a.signal(t, syscall.SIGSTOP)
	firing(true, "WeftInstancesLost", "WeftHalfOfInstancesLost")
	a.signal(t, syscall.SIGCONT)
	firing(false, "WeftInstancesLost", "WeftHalfOfInstancesLost")

	for _, expr := range panels(t) {
		polltest.Until(t, time.Minute, expr, func() error {
			n, err := p.series(expr)
			if err == nil && n == 0 {
				err = fmt.Errorf("no series")
			}
			return err
		})
	}
}

// panels are the expressions of the dashboard.
func panels(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("dashboard.json")
	must(t, err)
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	must(t, json.Unmarshal(b, &d))
	var all []string
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, quick(target.Expr))
		}
	}
	if len(all) < 15 {
		t.Fatalf("the dashboard has only %d expressions", len(all))
	}
	return all
}

// A Prometheus that asks for native histograms gets them.
func TestNativeHistograms(t *testing.T) {
	w := plugintest.Serve(t, nil)
	k := w.Dial(t, nil)
	for range 100 {
		must(t, k.Call(t.Context(), "Arith.Sleep", &plugintest.Args{A: 1}, nil))
	}
	c := prometheus.New(nil)
	c.Server("", w.Server)
	web := httptest.NewServer(metricsHandlerOf(c))
	t.Cleanup(web.Close)
	p := startPrometheus(t, []string{"--enable-feature=native-histograms"}, strings.TrimPrefix(web.URL, "http://"))
	polltest.Until(t, time.Minute, "the quantile of a native histogram", func() error {
		n, err := p.series(`histogram_quantile(0.5, rpc_server_call_duration_seconds) > 0.0005 < 0.1`)
		if err == nil && n != 1 {
			err = fmt.Errorf("%d series", n)
		}
		return err
	})
}

// A Prometheus that stores exemplars gets them, and answers with the ID of the trace.
func TestRealExemplars(t *testing.T) {
	c := prometheus.New(nil)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{c.Exemplars("", nil)}})
	c.Server("", w.Server)
	k := w.Dial(t, nil)
	must(t, k.Call(traced(t, "01"), "Arith.Sleep", &plugintest.Args{A: 20}, nil))
	r := client.NewRegistry()
	r.MustRegister(c)
	web := httptest.NewServer(promhttp.HandlerFor(r, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	t.Cleanup(web.Close)
	p := startPrometheus(t, []string{"--enable-feature=exemplar-storage"}, strings.TrimPrefix(web.URL, "http://"))
	ask := url.Values{"query": {`rpc_server_call_duration_seconds_bucket{rpc_method="Arith/Sleep"}`},
		"start": {strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)}, "end": {strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)}}
	polltest.Until(t, time.Minute, "an exemplar is stored", func() error {
		var out struct {
			Data []struct {
				Exemplars []struct{ Labels map[string]string }
			}
		}
		if err := p.get("/api/v1/query_exemplars?"+ask.Encode(), &out); err != nil {
			return err
		}
		for _, series := range out.Data {
			for _, e := range series.Exemplars {
				if e.Labels["trace_id"] == traceID {
					return nil
				}
			}
		}
		return fmt.Errorf("%+v", out)
	})
}
