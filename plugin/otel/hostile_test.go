package otel_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/fault"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/otel"
)

// What peers send is valid UTF-8 in spans, in which an exporter could not write it otherwise: the spans of others would be lost with it.
func TestHostileTexts(t *testing.T) {
	change := func(c *otel.Config) { c.ErrorMessages, c.RequestMetadata = true, []string{"tenant"} }
	r, k := record(t, change), record(t, change)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins(r)})
	must(t, weft.Handle(w.Server, "Arith.Strange", func(context.Context, *plugintest.Args) (*plugintest.Result, error) {
		return nil, weft.Errorf(weft.Internal, "what is \xff?").WithReason("R\xfe" + strings.Repeat("é", 100))
	}))
	c := w.Dial(t, &weft.ClientConfig{Plugins: plugins(k)})
	ctx := weft.WithMetadata(t.Context(), "tenant", "\xff\x00blue", "traceparent", "00-\xff", "tracestate", "\xfe=\xff", "baggage", "a=\xff,\xfe")
	_ = c.Call(ctx, "Arith.Strange", &plugintest.Args{}, nil)
	_ = c.Call(ctx, "Arith.\xff", &plugintest.Args{}, nil)
	valid := func(what, s string) {
		if !utf8.ValidString(s) {
			t.Errorf("%s: %q", what, s)
		}
	}
	for _, s := range append(r.ended(t, 1), k.ended(t, 2)...) {
		valid("the name", s.Name())
		valid("the status", s.Status().Description)
		for _, a := range s.Attributes() {
			if a.Value.Type() == attribute.STRINGSLICE {
				for _, v := range a.Value.AsStringSlice() {
					valid(string(a.Key), v)
				}
			} else {
				valid(string(a.Key), a.Value.String())
			}
		}
	}
}

// A fault that was injected is told from others in the spans of both sides.
func TestFaultIsMarked(t *testing.T) {
	f, err := fault.New(fault.Rule{Percent: 100, Code: weft.Unavailable})
	must(t, err)
	r, k := record(t, nil), record(t, nil)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: append(plugins(r), f.Plugin())})
	if err := w.Dial(t, &weft.ClientConfig{Plugins: plugins(k)}).Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); weft.CodeOf(err) != weft.Unavailable {
		t.Fatal(err)
	}
	const attributes = "error.type=UNAVAILABLE rpc.method=Arith/Mul rpc.response.status_code=UNAVAILABLE rpc.system.name=weft"
	is(t, r.ended(t, 1)[0], "Arith/Mul", trace.SpanKindServer, attributes+" weft.reason=FAULT_INJECTED")
	is(t, k.ended(t, 1)[0], "Arith/Mul", trace.SpanKindClient, attributes+" weft.outcome=Executed weft.reason=FAULT_INJECTED")
}
