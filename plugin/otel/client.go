package otel

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/plugin/internal/ended"
)

// caller makes the spans of calls that this side makes. within is the context of what is inside of a call: on the connection to
// a server inject, and around the attempts of a cluster aroundAttempts.
type caller struct {
	*Telemetry
	within func(context.Context) context.Context
}

// call is the interceptor of unary calls.
func (t caller) call(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	ctx, call := t.leave(ctx, info)
	if call.t == nil {
		return next(t.within(ctx), info, req)
	}
	returned := false
	defer func() {
		if !returned { // an interceptor further inside has panicked
			call.end(ctx, weft.Internal)
		}
	}()
	reply, err := next(t.within(ctx), info, req)
	returned = true
	call.end(ctx, err)
	return reply, err
}

// open is the interceptor of streams.
func (t caller) open(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
	ctx, call := t.leave(ctx, info)
	stream, err := next(t.within(ctx), info)
	if call.t == nil {
		return stream, err
	}
	end := func(err error) { call.end(ctx, err) }
	if err != nil {
		end(err)
		return nil, err
	}
	return ended.Watch(ctx, stream, end), nil
}

// leave begins the span of a call that is made. The call is the zero one when nothing is to be noted of it.
func (t *Telemetry) leave(ctx context.Context, info *weft.CallInfo) (context.Context, running) {
	skip := t.skips(ctx)
	if skip && !t.client.Enabled(ctx) {
		return ctx, running{}
	}
	began := session.Nanos()
	from := t.start(systemOfPeer(info.Peer), info.Method, trace.SpanKindClient)
	if skip {
		return ctx, running{t, from, nil, began}
	}
	ctx, span := t.tracer.Start(ctx, from.name, from.options...)
	if span.IsRecording() {
		span.SetAttributes(metadataOf(t.cfg.RequestMetadata, weft.OutgoingMetadata(ctx), semconv.RPCRequestMetadata)...)
		span.SetAttributes(peerOf(info.Peer)...)
	}
	return ctx, running{t, from, span, began}
}

// aroundAttempts is the context of the attempts of a call.
func aroundAttempts(ctx context.Context) context.Context {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx // attempts are linked in spans alone
	}
	return context.WithValue(ctx, attemptsKey{}, &attempts{})
}

type attemptsKey struct{}

// attempts are those of one call.
type attempts struct {
	mu   sync.Mutex
	last trace.SpanContext
}

// follow notes an attempt and returns the one before.
func (a *attempts) follow(s trace.SpanContext) trace.SpanContext {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.last
	a.last = s
	return before
}

// attempt is the interceptor of one attempt of a unary call.
func (t *Telemetry) attempt(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	ctx, span := t.try(ctx, info)
	returned := false
	defer func() {
		if !returned {
			t.endSpan(span, weft.Internal, weft.Internal, true)
		}
	}()
	reply, err := next(t.inject(ctx), info, req)
	returned = true
	t.endSpan(span, codeOf(err), err, true)
	return reply, err
}

// openAttempt is the interceptor of one attempt to open a stream.
func (t *Telemetry) openAttempt(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
	ctx, span := t.try(ctx, info)
	stream, err := next(t.inject(ctx), info)
	end := func(err error) { t.endSpan(span, codeOf(err), err, true) }
	if err != nil {
		end(err)
		return nil, err
	}
	return ended.Watch(ctx, stream, end), nil
}

// try begins the span of an attempt.
func (t *Telemetry) try(ctx context.Context, info *weft.CallInfo) (context.Context, trace.Span) {
	if t.untraced || t.cfg.Sample > 0 && !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, nil // the call was not chosen
	}
	from := t.start("weft", info.Method, trace.SpanKindClient)
	ctx, span := t.tracer.Start(ctx, from.attempt, from.options...)
	if !span.IsRecording() {
		return ctx, span
	}
	span.SetAttributes(attribute.Int("weft.attempt", info.Attempt))
	if a, ok := ctx.Value(attemptsKey{}).(*attempts); ok {
		if before := a.follow(span.SpanContext()); before.IsValid() {
			span.AddLink(trace.Link{SpanContext: before})
		}
	}
	return ctx, span
}

// Observe is for cluster.Config.Observe: it adds an event to the span of the call. Cluster sets
// it.
func (t *Telemetry) Observe(ctx context.Context, e cluster.Event) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	attributes := make([]attribute.KeyValue, 0, 4)
	if e.Address != "" {
		attributes = append(attributes, semconv.ServerAddress(e.Address))
	}
	if e.After != 0 {
		attributes = append(attributes, attribute.Float64("weft.after", e.After.Seconds()))
	}
	if e.Err != nil {
		attributes = append(attributes, resultOf(codeOf(e.Err), true)...)
	}
	span.AddEvent("weft."+string(e.Kind), trace.WithAttributes(attributes...))
}
