package accesslog_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/accesslog"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
)

// TestOutcomes fails calls on the server: an error of a handler or an interceptor has the outcome that the
// caller is told, which is that of a call that ran, whatever the error says.
func TestOutcomes(t *testing.T) {
	refused := &weft.Error{Code: weft.PermissionDenied, Outcome: weft.Refused, Message: "no"}
	downstream := &weft.Error{Code: weft.Unavailable, Outcome: weft.NotSent, Method: "Other.Method", Message: "it is down"}
	downstreamRefused := &weft.Error{Code: weft.ResourceExhausted, Outcome: weft.Refused, Method: "Other.Method", Message: "too many"}
	for _, c := range []struct {
		err  error
		want map[string]any
	}{
		{weft.Errorf(weft.NotFound, "gone"), map[string]any{"code": "NotFound", "outcome": "Executed", "error": "gone"}},
		{errors.New("plain"), map[string]any{"code": "Unknown", "outcome": "Executed", "error": "plain"}},
		{weft.Canceled, map[string]any{"code": "Canceled", "outcome": "Executed"}},
		{context.DeadlineExceeded, map[string]any{"code": "DeadlineExceeded", "outcome": "Executed"}},
		{downstream, map[string]any{"code": "Unavailable", "outcome": "Executed", "error": "it is down"}},
		{fmt.Errorf("ask: %w", downstreamRefused), map[string]any{"code": "ResourceExhausted", "outcome": "Executed"}},
		{refused, map[string]any{"code": "PermissionDenied", "outcome": "Executed", "error": "no"}},
	} {
		t.Run(fmt.Sprint(c.err), func(t *testing.T) {
			var j journal
			fails := weft.Plugin{Name: "fails",
				Server:       func(context.Context, *weft.CallInfo, any, weft.UnaryFunc) (any, error) { return nil, c.err },
				ServerStream: func(context.Context, *weft.CallInfo, weft.RawStream, weft.StreamFunc) error { return c.err }}
			w := plugintest.Serve(t, &weft.ServerConfig{Plugins: append(plugin(t, accesslog.Config{Logger: j.logger()}), fails)})
			client := w.Dial(t, nil)
			err := client.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil)
			if e, ok := errors.AsType[*weft.Error](err); !ok || e.Outcome.String() != c.want["outcome"] {
				t.Errorf("the caller is told %v", err)
			}
			has(t, j.wait(t, 1)[0], c.want)
			if _, err := plugintest.Count(t.Context(), client, 1); err == nil {
				t.Error("the stream did not fail")
			}
			has(t, j.wait(t, 2)[1], c.want)
		})
	}
}

// TestOutcomeMade abandons a stream: what its caller knows of it is logged, that is nothing.
func TestOutcomeMade(t *testing.T) {
	var j journal
	c := plugintest.Serve(t, nil).Dial(t, &weft.ClientConfig{Plugins: plugin(t, accesslog.Config{Logger: j.logger()})})
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := weft.Subscribe[plugintest.Result](ctx, c, "Arith.Count", &plugintest.Args{A: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	cancel()
	has(t, j.wait(t, 1)[0], map[string]any{"code": "Canceled", "outcome": "Unknown"})
}
