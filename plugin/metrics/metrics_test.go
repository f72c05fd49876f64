package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/metrics"
)

// scrape asks a handler for its metrics.
func scrape(t testing.TB, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	return w.Body.String()
}

func hasLines(t testing.TB, text string, want ...string) {
	t.Helper()
	for _, line := range want {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(text) {
			t.Errorf("no line matches %s", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestServerAndClients(t *testing.T) {
	w := plugintest.Serve(t, nil)
	c := w.Dial(t, nil)
	cc := w.DialCluster(t)
	m := metrics.New(nil)
	m.Server("main", w.Server)
	m.Client("direct", c)
	m.Cluster(`the "fleet"`, cc)
	ctx := context.Background()
	for i := range 100 {
		if _, err := weft.Invoke[plugintest.Result](ctx, c, "Arith.Mul", &plugintest.Args{A: i, B: 2}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		err := cc.Call(ctx, "Arith.Fail", &plugintest.Args{A: int(weft.NotFound)}, nil)
		plugintest.IsError(t, err, weft.NotFound, weft.Executed)
	}
	plugintest.IsError(t, c.Call(ctx, "Arith.Fail", &plugintest.Args{A: int(weft.Internal)}, nil), weft.Internal, weft.Executed)
	plugintest.IsError(t, c.Call(ctx, "Arith.None", &plugintest.Args{}, nil), weft.Unimplemented, weft.Refused)
	hasLines(t, scrape(t, m),
		`# TYPE rpc_server_call_duration_seconds histogram`,
		`rpc_server_call_duration_seconds_count\{rpc_system_name="weft",rpc_method="Arith/Mul",rpc_response_status_code="OK",weft_name="main"\} 100`,
		`rpc_server_call_duration_seconds_bucket\{.*rpc_method="Arith/Mul".*le="\+Inf"\} 100`,
		`rpc_server_call_duration_seconds_count\{rpc_system_name="weft",rpc_method="Arith/Fail",rpc_response_status_code="NOT_FOUND",weft_name="main"\} 3`,
		`rpc_server_call_duration_seconds_count\{.*rpc_response_status_code="INTERNAL",error_type="INTERNAL",weft_name="main"\} 1`,
		`rpc_client_call_duration_seconds_count\{.*rpc_method="Arith/Mul",rpc_response_status_code="OK",weft_name="direct"\} 100`,
		`rpc_client_call_duration_seconds_count\{.*rpc_response_status_code="NOT_FOUND",error_type="NOT_FOUND",weft_name="the \\"fleet\\""\} 3`,
		`weft_client_attempts_total\{rpc_method="Arith/Fail",outcome="executed",weft_name="the \\"fleet\\""\} 3`,
		`weft_client_request_bytes_total\{rpc_method="Arith/Fail",weft_name="the \\"fleet\\""\} [1-9][0-9]*`,
		`weft_cluster_instances\{service="Arith",state="healthy",weft_name="the \\"fleet\\""\} 1`,
		`weft_server_connections\{weft_name="main"\} 2`,
		`weft_server_refused_total\{reason="NO_METHOD",weft_name="main"\} 1`,
		`weft_registry_up\{service="Arith",kind="static",weft_name="the \\"fleet\\""\} 1`,
		`weft_build_info\{version=".+",goversion="go1.*"\} 1`)
}

// What was counted once is counted in every scrape that follows.
func TestCountersDoNotFall(t *testing.T) {
	w := plugintest.Serve(t, nil)
	c := w.Dial(t, nil)
	m := metrics.New(&metrics.Config{Bounds: []float64{0.001, 1}})
	m.Server("", w.Server)
	for i := range 5 {
		if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			if err := w.Server.Unregister("Arith"); err != nil {
				t.Fatal(err)
			}
			if err := weft.Handle(w.Server, "Arith.Mul", func(context.Context, *plugintest.Args) (*plugintest.Result, error) { return &plugintest.Result{}, nil }); err != nil {
				t.Fatal(err)
			}
		}
		hasLines(t, scrape(t, m), fmt.Sprintf(`rpc_server_call_duration_seconds_count\{.*"OK"\} %d`, i+1))
	}
	if text := scrape(t, m); strings.Contains(text, `le="0.005"`) || !strings.Contains(text, `le="0.001"`) {
		t.Error("the bounds are not those of the configuration")
	}
}

func TestOnlyGet(t *testing.T) {
	w := httptest.NewRecorder()
	metrics.New(nil).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("%d", w.Code)
	}
}

func TestBoundsInOrder(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("bounds in disorder are accepted")
		}
	}()
	metrics.New(&metrics.Config{Bounds: []float64{1, 1}})
}
