package together_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"
	client "github.com/prometheus/client_golang/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/accesslog"
	"github.com/weftrpc/weft/plugin/acl"
	"github.com/weftrpc/weft/plugin/cache"
	"github.com/weftrpc/weft/plugin/concurrency"
	"github.com/weftrpc/weft/plugin/fault"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/jwt"
	"github.com/weftrpc/weft/plugin/otel"
	"github.com/weftrpc/weft/plugin/prometheus"
	"github.com/weftrpc/weft/plugin/protovalidate"
	"github.com/weftrpc/weft/plugin/protovalidate/shop"
	"github.com/weftrpc/weft/plugin/quota"
	"github.com/weftrpc/weft/plugin/ratelimit"
	"github.com/weftrpc/weft/plugin/record"
	"github.com/weftrpc/weft/plugin/reserve"
	"github.com/weftrpc/weft/plugin/tee"
	"github.com/weftrpc/weft/plugin/validate"
)

// one is a plugin in a pair. It lets the methods Arith.* through.
type one struct {
	plugin weft.Plugin
	server func(*weft.ServerConfig) // changes to the configurations; nil: none
	client func(*weft.ClientConfig)
	header func() string                             // the header Authorization of calls over HTTP; nil: none
	refuse func(ctx context.Context, w *world) error // makes it refuse a call, and checks how; nil: it refuses none
	seen   func() error                              // whether it has seen the calls; nil: it does not tell
}

// target is the server that gets the copies of tee.
type target struct{ client *weft.Client }

// plugins make each of the plugins.
func plugins(to target) map[string]func(t *testing.T) *one {
	return map[string]func(t *testing.T) *one{
		"accesslog": newAccessLog, "acl": newACL, "cache": newCache, "concurrency": newConcurrency, "exemplars": newExemplars, "fault": newFault, "jwt": newJWT, "otel": newOTel,
		"quota": newQuota, "ratelimit": newRateLimit, "record": newRecord, "reserve": newReserve, "tee": to.newTee, "validate": newValidate, "protovalidate": newProtovalidate,
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused checks the error of a call. Outcome 0 is not checked.
func refused(err error, code weft.Code, outcome weft.Outcome, reason string) error {
	e, ok := errors.AsType[*weft.Error](err)
	if !ok || e.Code != code || outcome != 0 && e.Outcome != outcome || reason != "" && e.Reason != reason {
		return fmt.Errorf("the error is %w, want %v (%v) [%s]", err, code, outcome, reason)
	}
	return nil
}

func call(ctx context.Context, w *world, method string, a int) error {
	return w.client.Call(ctx, method, &plugintest.Args{A: a, B: 1}, &plugintest.Result{})
}

func newAccessLog(t *testing.T) *one {
	var mu sync.Mutex
	var out strings.Builder
	p, err := accesslog.New(&accesslog.Config{Logger: slog.New(slog.NewTextHandler(locked{&mu, &out}, nil)), PerSecond: -1})
	must(t, err)
	return &one{plugin: p, seen: func() error {
		mu.Lock()
		defer mu.Unlock()
		for _, want := range []string{"method=Arith.Mul", "code=OK", "method=Arith.Count", "code=Aborted", "wire=http"} {
			if !strings.Contains(out.String(), want) {
				return fmt.Errorf("%q is not in the log", want)
			}
		}
		return nil
	}}
}

type locked struct {
	mu  *sync.Mutex
	out io.Writer
}

func (l locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}

func newACL(t *testing.T) *one {
	a, err := acl.New(acl.Rules{Allow: []acl.Rule{{Methods: []string{"Arith.*"}}}, Deny: []acl.Rule{{Methods: []string{"Arith.Denied"}}}})
	must(t, err)
	return &one{plugin: a.Plugin(), refuse: func(ctx context.Context, w *world) error {
		return refused(call(ctx, w, "Arith.Denied", 1), weft.PermissionDenied, weft.Refused, acl.Reason)
	}}
}

func newCache(t *testing.T) *one {
	c, err := cache.New(&cache.Config{Methods: map[string]time.Duration{"Arith.Mul": time.Hour}})
	must(t, err)
	return &one{plugin: c.Plugin(), seen: func() error {
		if s := c.Stats(); s.Hits+s.Shared == 0 || s.Misses == 0 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	}}
}

func newConcurrency(t *testing.T) *one {
	l, err := concurrency.New(&concurrency.Config{Limits: []concurrency.Limit{{By: concurrency.Method, Calls: 1, Methods: []string{"Arith.Held"}}, {By: concurrency.Address, Calls: 1000}}})
	must(t, err)
	return &one{plugin: l.Plugin(), refuse: func(ctx context.Context, w *world) error {
		held, cancel := context.WithTimeout(ctx, time.Hour)
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		all.Go(func() { _ = call(held, w, "Arith.Held", 1) })
		polltest.True(t, time.Minute, "a call is held", func() bool { return l.InFlight(concurrency.Method) == 1 })
		return refused(call(ctx, w, "Arith.Held", 1), weft.ResourceExhausted, weft.Refused, concurrency.Reason)
	}, seen: func() error {
		if n := l.InFlight(concurrency.Address); n != 0 {
			return fmt.Errorf("%d calls are in flight", n)
		}
		return nil
	}}
}

func newExemplars(*testing.T) *one {
	return &one{plugin: prometheus.New(nil).Exemplars("", func(context.Context) client.Labels { return client.Labels{"trace_id": "1"} })}
}

func newFault(t *testing.T) *one {
	f, err := fault.New(fault.Rule{Methods: []string{"Arith.Faulty"}, Percent: 100, Code: weft.Unavailable}, fault.Rule{Percent: 50, Delay: time.Microsecond})
	must(t, err)
	return &one{plugin: f.Plugin(), refuse: func(ctx context.Context, w *world) error {
		return refused(call(ctx, w, "Arith.Faulty", 1), weft.Unavailable, 0, fault.Reason)
	}}
}

// writeKeys writes the keys of an issuer to a file.
func writeKeys(path string) error {
	return os.WriteFile(path, []byte(`{"keys":[{"kty":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}]}`), 0o600)
}

func newJWT(t *testing.T) *one {
	secret := []byte("0123456789abcdef0123456789abcdef")
	file := filepath.Join(t.TempDir(), "keys")
	must(t, writeKeys(file))
	v, err := jwt.NewVerifier(t.Context(), &jwt.Config{Issuers: []jwt.Issuer{{Name: "i", Keys: jwt.File(file)}}, AnyAudience: true, Algorithms: []string{"HS256"}})
	must(t, err)
	t.Cleanup(v.Close)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: secret}, nil)
	must(t, err)
	tokens, err := jwt.NewTokens(&jwt.TokensConfig{Fetch: func(context.Context) (jwt.Token, error) {
		token, err := josejwt.Signed(signer).Claims(josejwt.Claims{Issuer: "i", Subject: "ada", Expiry: josejwt.NewNumericDate(time.Now().Add(time.Hour))}).Serialize()
		return jwt.Token{Value: token}, err
	}})
	must(t, err)
	t.Cleanup(tokens.Close)
	return &one{plugin: tokens.Plugin(),
		server: func(c *weft.ServerConfig) { c.Authenticate = v.Authenticate },
		client: func(c *weft.ClientConfig) { c.Credential = tokens.Credential },
		header: func() string {
			token, _ := tokens.Token(context.Background())
			return "Bearer " + token
		},
		refuse: func(ctx context.Context, w *world) error {
			err := w.client.Call(ctx, "Arith.Other", &plugintest.Args{}, nil, weft.WithCredential(weft.Credential{Scheme: "Bearer", Token: "x"}))
			return refused(err, weft.Unauthenticated, weft.Refused, jwt.ReasonInvalid)
		}}
}

func newOTel(t *testing.T) *one {
	spans := tracetest.NewSpanRecorder()
	o, err := otel.New(&otel.Config{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)),
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))})
	must(t, err)
	return &one{plugin: o.Plugin(), seen: func() error {
		names := make(map[string]bool)
		for _, s := range spans.Ended() {
			names[s.Name()] = true
		}
		if !names["Arith/Mul"] || !names["Arith/Count"] || !names["Arith/Fail"] {
			return fmt.Errorf("spans: %v", names)
		}
		return nil
	}}
}

func newQuota(t *testing.T) *one {
	q, err := quota.New(&quota.Config{Quotas: []quota.Quota{{By: quota.Method, Calls: 1 << 40, Every: 1e6 * time.Hour, Of: map[string]int64{"Arith.Quota": 0}}}})
	must(t, err)
	return &one{plugin: q.Plugin(), refuse: func(ctx context.Context, w *world) error {
		return refused(call(ctx, w, "Arith.Quota", 1), weft.ResourceExhausted, weft.Refused, quota.Reason)
	}, seen: func() error {
		if len(q.Usage()) < 3 {
			return fmt.Errorf("%+v", q.Usage())
		}
		return nil
	}}
}

func newRateLimit(t *testing.T) *one {
	l, err := ratelimit.New(&ratelimit.Config{Limits: []ratelimit.Limit{{By: ratelimit.Address, Rate: 1e6}, {By: ratelimit.Method, Rate: 1e-6, Burst: 1, Methods: []string{"Arith.Rate"}}}})
	must(t, err)
	return &one{plugin: l.Plugin(), refuse: func(ctx context.Context, w *world) error {
		_ = call(ctx, w, "Arith.Rate", 1)
		return refused(call(ctx, w, "Arith.Rate", 1), weft.ResourceExhausted, weft.Refused, ratelimit.Reason)
	}}
}

func newRecord(t *testing.T) *one {
	r, err := record.New(&record.Config{Dir: t.TempDir(), Redact: []string{"B"}})
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return &one{plugin: r.Plugin(), seen: func() error {
		if s := r.Stats(); s.Written == 0 || s.LeftOut+s.Failures > 0 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	}}
}

func newReserve(t *testing.T) *one {
	r, err := reserve.New(&reserve.Config{Percent: 1, Learn: true, Needs: map[string]time.Duration{"Arith.Long": 1e6 * time.Hour}})
	must(t, err)
	return &one{plugin: r.Plugin(), refuse: func(ctx context.Context, w *world) error {
		return refused(call(ctx, w, "Arith.Long", 1), weft.DeadlineExceeded, weft.Refused, reserve.Reason)
	}}
}

func (to target) newTee(t *testing.T) *one {
	x, err := tee.New(&tee.Config{Target: to.client, Percent: 100, Methods: []string{"Arith.Mul", "Arith.Fail"}, Timeout: time.Minute})
	must(t, err)
	t.Cleanup(x.Close)
	return &one{plugin: x.Plugin(), seen: func() error {
		for _, m := range x.Stats().Methods {
			if m.Different > 0 {
				return fmt.Errorf("%+v, %+v", m, x.Mismatches())
			}
			if m.Method == "Arith.Mul" && m.Equal > 0 {
				return nil
			}
		}
		return fmt.Errorf("%+v", x.Stats())
	}}
}

func newProtovalidate(t *testing.T) *one {
	p, err := protovalidate.New(nil)
	must(t, err)
	return &one{plugin: p, refuse: func(ctx context.Context, w *world) error {
		return refused(w.client.Call(ctx, "Arith.Buy", &shop.Order{}, nil), weft.InvalidArgument, 0, protovalidate.Reason)
	}}
}

func newValidate(*testing.T) *one {
	return &one{plugin: validate.Plugin(), refuse: func(ctx context.Context, w *world) error {
		return refused(call(ctx, w, "Arith.Other", 1001), weft.InvalidArgument, 0, "")
	}}
}
