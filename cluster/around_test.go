package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/registry/memory"
)

// journal notes what runs, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) take() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := strings.Join(j.lines, "; ")
	j.lines = nil
	return out
}

type callKey struct{}

// Plugins run once for each call, and what they put into the context reaches the attempts
// and the events.
func TestPluginsAroundCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		var j journal
		c := f.client(func(cfg *cluster.Config) {
			cfg.Balancer = balance.RoundRobin()
			cfg.Plugins = []weft.Plugin{
				{
					Name: "outer",
					Client: func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
						reply, err := next(context.WithValue(ctx, callKey{}, "call"), info, req)
						j.add("ended %v", weft.CodeOf(err))
						return reply, err
					},
					ClientStream: func(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
						j.add("stream %s %v", info.Method, info.OwnCredential)
						return next(context.WithValue(ctx, callKey{}, "stream"), info)
					},
				},
				{Name: "inner", Client: func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
					if info.Method == "Who.Never" {
						return nil, errors.New("refused here")
					}
					return next(ctx, info, req)
				}},
			}
			cfg.Client.Interceptors = []weft.UnaryInterceptor{func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
				j.add("attempt %d of the %v", info.Attempt, ctx.Value(callKey{}))
				return next(ctx, info, req)
			}}
			cfg.Observe = func(ctx context.Context, e cluster.Event) {
				j.add("%s %s in the %v", e.Kind, e.Address+e.After.String(), ctx.Value(callKey{}))
			}
		})
		who(t, t.Context(), c)
		if got := j.take(); !strings.HasPrefix(got, "picked mem://") || !strings.HasSuffix(got, " in the call; attempt 0 of the call; ended OK") {
			t.Error(got)
		}
		for _, n := range f.servers {
			n.fail.Store(weft.Errorf(weft.Unavailable, "no").WithRetryAfter(30 * time.Millisecond))
		}
		_, err := weft.Invoke[Reply](cluster.WithIdempotent(t.Context()), c, "Who.Who", &Args{})
		if err == nil {
			t.Fatal("the call went well")
		}
		got := j.take()
		for _, want := range []string{"attempt 0 of the call; pushed back 30ms in the call; retrying", "attempt 1 of the call", "attempt 2 of the call", "ended Unavailable"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %s", want, got)
			}
		}
		if strings.Count(got, "ended") != 1 || strings.Count(got, "picked") != 3 {
			t.Error(got)
		}
		m := statsOf(t, c, "Who.Who")
		if m.Failures[weft.Executed] != 3 || m.Latencies[weft.Unavailable].Count != 1 || m.Latencies[0].Count != 1 {
			t.Errorf("%+v", m)
		}
		s, err := c.OpenStream(t.Context(), "Who.Chat", &Args{}, weft.WithCredential(weft.Credential{Token: "x"}))
		must(t, err)
		s.Close()
		if got := j.take(); !strings.HasPrefix(got, "stream Who.Chat true; picked mem://") || !strings.HasSuffix(got, "in the stream") {
			t.Error(got)
		}
		must(t, c.Notify(t.Context(), "Who.Other", &Args{}))
		if got := j.take(); !strings.HasSuffix(got, "attempt 0 of the call; ended OK") {
			t.Error(got)
		}
		wantError(t, c.Call(t.Context(), "Who.Never", &Args{}, nil), weft.Unknown, weft.OutcomeUnknown, "refused here")

		services := c.Stats().Services
		if len(services) != 1 || services[0].Service != "Who" || services[0].Err != nil || services[0].Instances[health.Healthy] != 2 {
			t.Errorf("%+v", services)
		}
	})
}

// CallInfo names the codec of the call around all attempts, as it does around each.
func TestPluginsKnowTheCodec(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		var j journal
		for _, configured := range []codec.Codec{nil, json.New()} {
			c := f.client(func(cfg *cluster.Config) {
				cfg.Client.Codec = configured
				note := func(at string) weft.Plugin {
					return weft.Plugin{Name: at,
						Client: func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
							j.add("%s %s", at, info.Codec)
							return next(ctx, info, req)
						},
						ClientStream: func(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
							j.add("%s stream %s", at, info.Codec)
							return next(ctx, info)
						},
					}
				}
				cfg.Plugins = []weft.Plugin{note("call")}
				cfg.Client.Plugins = []weft.Plugin{note("attempt")}
			})
			usual, other := codec.Codec(msgpack.New()), codec.Codec(json.New())
			if configured != nil {
				usual, other = other, usual
			}
			for with, opts := range map[string][]weft.CallOption{usual.Name(): nil, other.Name(): {weft.WithCodec(other)}} {
				must(t, c.Call(t.Context(), "Who.Who", &Args{}, new(Reply), opts...))
				if got, want := j.take(), fmt.Sprintf("call %s; attempt %[1]s", with); got != want {
					t.Errorf("a call tells %q, want %q", got, want)
				}
				s, err := c.OpenStream(t.Context(), "Who.Chat", &Args{}, opts...)
				must(t, err)
				s.Close()
				if got, want := j.take(), fmt.Sprintf("call stream %s; attempt stream %[1]s", with); got != want {
					t.Errorf("a stream tells %q, want %q", got, want)
				}
			}
			if configured == nil {
				_ = c.Call(t.Context(), "Who.Never", wrapperspb.Int64(1), new(wrapperspb.Int64Value))
				if got, want := j.take(), "call protobuf; attempt protobuf"; got != want {
					t.Errorf("a call tells %q, want %q", got, want)
				}
			}
		}
	})
}

func TestPluginWithoutClient(t *testing.T) {
	f, err := memory.NewStore().Registry(nil)
	must(t, err)
	defer f.Close()
	_, err = cluster.New(&cluster.Config{Registry: f, Plugins: []weft.Plugin{{Name: "server's"}}})
	if err == nil || !strings.Contains(err.Error(), `Plugins[0] ("server's")`) {
		t.Errorf("%v", err)
	}
}
