package together_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	promclient "github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/accesslog"
	"github.com/weftrpc/weft/plugin/acl"
	"github.com/weftrpc/weft/plugin/cache"
	"github.com/weftrpc/weft/plugin/concurrency"
	"github.com/weftrpc/weft/plugin/debug"
	"github.com/weftrpc/weft/plugin/fault"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/jwt"
	"github.com/weftrpc/weft/plugin/metrics"
	"github.com/weftrpc/weft/plugin/otel"
	"github.com/weftrpc/weft/plugin/otel/producer"
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

// guide is the program of docs/guide/plugins.md, whose code stands here piece by piece.
type guide struct {
	dir  string
	cfg  weft.ServerConfig
	next *weft.Client
	log  *slog.Logger
	stop []func()
}

func (g *guide) refusing(ctx context.Context) error {
	cfg := &g.cfg
	{
		a, err := acl.New(acl.Rules{
			Deny:  []acl.Rule{{Networks: []string{"203.0.113.0/24"}}},
			Allow: []acl.Rule{{Principals: []string{"billing"}, Methods: []string{"Orders.*"}}, {Methods: []string{"Arith.*"}}},
		})
		if err != nil {
			return err
		}
		cfg.Plugins = append(cfg.Plugins, a.Plugin())
	}
	{
		inFlight, err := concurrency.New(&concurrency.Config{Limits: []concurrency.Limit{
			{By: concurrency.Principal, Calls: 50},
			{By: concurrency.Address, Calls: 200, Methods: []string{"Reports.*"}},
		}})
		if err != nil {
			return err
		}
		cfg.Plugins = append(cfg.Plugins, inFlight.Plugin())
	}
	{
		rates, err := ratelimit.New(&ratelimit.Config{Limits: []ratelimit.Limit{
			{By: ratelimit.Server, Rate: 10_000},
			{By: ratelimit.Principal, Rate: 100, Burst: 200, Methods: []string{"Orders.*"}},
		}})
		if err != nil {
			return err
		}
		cfg.Plugins = append(cfg.Plugins, rates.Plugin())
	}
	{
		times, err := reserve.New(&reserve.Config{Percent: 10, AtLeast: 5 * time.Millisecond, Learn: true})
		if err != nil {
			return err
		}
		cfg.Plugins = append(cfg.Plugins, times.Plugin())
	}
	{
		quotas, err := quota.New(&quota.Config{Quotas: []quota.Quota{
			{By: quota.Principal, Calls: 100_000, Every: 24 * time.Hour, Of: map[string]int64{"partner": 5_000_000}},
		}})
		if err != nil {
			return err
		}
		cfg.Plugins = append(cfg.Plugins, quotas.Plugin())
	}
	{
		path := filepath.Join(g.dir, "keys.json")
		if err := writeKeys(path); err != nil {
			return err
		}
		v, err := jwt.NewVerifier(ctx, &jwt.Config{
			Issuers:  []jwt.Issuer{{Name: "https://id.example.org", Keys: jwt.File(path)}}, // or jwt.URL
			Audience: []string{"orders"},
		})
		if err != nil {
			return err
		}
		defer v.Close()
		cfg.Authenticate = v.Authenticate
	}
	cfg.Authenticate = nil // the calls of the test have no tokens
	return nil
}

func (g *guide) checking() error {
	cfg := &g.cfg
	cfg.Plugins = append(cfg.Plugins, validate.Plugin())
	{
		rules, err := protovalidate.New(&protovalidate.Config{Messages: []proto.Message{&shop.Order{}}})
		if err != nil {
			return err
		}
		cfg.Plugins = append(cfg.Plugins, rules)
	}
	{
		replies, err := cache.New(&cache.Config{
			Methods: map[string]time.Duration{"Catalog.Get": time.Minute},
			Vary:    []string{"tenant"}, // a key of metadata that changes the reply
		})
		if err != nil {
			return err
		}
		cfg.Plugins = append(cfg.Plugins, replies.Plugin())
	}
	return nil
}

func (g *guide) trying() error {
	cfg, next := &g.cfg, g.next
	{
		faults, err := fault.New(fault.Rule{Methods: []string{"Orders.*"}, Percent: 5, Delay: 300 * time.Millisecond, Code: weft.Unavailable})
		if err != nil {
			return err
		}
		cfg.Plugins = append(cfg.Plugins, faults.Plugin())
	}
	{
		copies, err := tee.New(&tee.Config{
			Target:  next, // a client of the next version
			Percent: 5,
			Methods: []string{"Orders.Get"},
			Ignore:  []string{"served_by"},
		})
		if err != nil {
			return err
		}
		g.stop = append(g.stop, copies.Close)
		cfg.Plugins = append(cfg.Plugins, copies.Plugin())
	}
	dir := filepath.Join(g.dir, "calls")
	{
		calls, err := record.New(&record.Config{Dir: dir, Percent: 1, Redact: []string{"card.number"}})
		if err != nil {
			return err
		}
		g.stop = append(g.stop, func() { calls.Close() })
		cfg.Plugins = append(cfg.Plugins, calls.Plugin())
	}
	return nil
}

func (g *guide) replaying(ctx context.Context) error {
	dir, c := filepath.Join(g.dir, "calls"), g.next
	stats, err := record.Replay(ctx, dir, &record.ReplayConfig{Target: c, Speed: 1})
	if err != nil {
		return err
	}
	fmt.Printf("%d of %d calls were answered as before\n", stats.Equal, stats.Calls)
	return nil
}

func (g *guide) watching() error {
	cfg, log := &g.cfg, g.log
	{
		access, err := accesslog.New(&accesslog.Config{Logger: log, OneIn: 100, Slow: 200 * time.Millisecond})
		if err != nil {
			return err
		}
		cfg.Plugins = append(cfg.Plugins, access)
	}
	{
		traces, err := otel.New(&otel.Config{Sample: 0.01, MeterProvider: noop.NewMeterProvider()})
		if err != nil {
			return err
		}
		cfg.Plugins = append(cfg.Plugins, traces.Plugin())
	}
	return nil
}

func (g *guide) publishing(srv *weft.Server, mux *http.ServeMux, prometheusRegistry *promclient.Registry) *metric.ManualReader {
	m := metrics.New(nil)
	m.Server("", srv)
	mux.Handle("/metrics", m)

	collector := prometheus.New(nil)
	collector.Server("", srv)
	prometheusRegistry.MustRegister(collector)

	p := producer.New(nil)
	p.Server("", srv)
	reader := metric.NewManualReader(metric.WithProducer(p)) // in a program NewPeriodicReader, with an exporter

	pages := debug.New(nil) // for requests from this machine; debug.Token is for others
	pages.Server("", srv)
	mux.Handle("/debug/weft/", http.StripPrefix("/debug/weft", pages))
	return reader
}

// TestGuide runs the code of docs/guide/plugins.md: a server with every plugin.
func TestGuide(t *testing.T) {
	g := &guide{dir: t.TempDir(), log: slog.New(slog.DiscardHandler), next: plugintest.Serve(t, nil).Dial(t, nil)}
	must(t, g.watching())
	must(t, g.refusing(t.Context()))
	must(t, g.trying())
	must(t, g.checking())
	w := plugintest.Serve(t, &g.cfg)
	mux, registry := http.NewServeMux(), promclient.NewRegistry()
	g.publishing(w.Server, mux, registry)
	must(t, weft.Handle(w.Server, "Arith.Buy", func(context.Context, *shop.Order) (*shop.Receipt, error) { return &shop.Receipt{}, nil }))
	c := w.Dial(t, nil)
	must(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil))
	must(t, refused(call(t.Context(), &world{client: c}, "Orders.Get", 1), weft.Unimplemented, weft.Refused, ""))

	err := c.Call(t.Context(), "Arith.Buy", &shop.Order{}, nil)
	if bad := weft.Details[errdetails.BadRequest](err); len(bad) != 1 || len(bad[0].FieldViolations) == 0 {
		t.Errorf("%v has no violations", err)
	}
	for _, bad := range weft.Details[errdetails.BadRequest](err) {
		for _, v := range bad.FieldViolations {
			fmt.Printf("%s: %s\n", v.Field, v.Description)
		}
	}
	for _, stop := range g.stop {
		stop()
	}
	if err := g.replaying(t.Context()); err != nil && weft.CodeOf(err) != weft.NotFound { // of 1 % of few calls there may be none
		t.Error(err)
	}
	for _, path := range []string{"/metrics", "/debug/weft/stats"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost"
		page := httptest.NewRecorder()
		if mux.ServeHTTP(page, r); page.Code != http.StatusOK {
			t.Errorf("%s: %d", path, page.Code)
		}
	}
}
