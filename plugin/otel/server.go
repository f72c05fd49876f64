package otel

import (
	"context"
	"errors"
	"io"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/session"
)

// serve is the interceptor of unary calls that this side answers.
func (t *Telemetry) serve(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	ctx, call := t.arrive(ctx, info)
	if call.t == nil {
		return next(ctx, info, req)
	}
	returned := false
	defer func() {
		if !returned { // an interceptor further inside has panicked
			call.end(ctx, weft.Internal)
		}
	}()
	reply, err := next(ctx, info, req)
	returned = true
	call.end(ctx, err)
	return reply, err
}

// serveStream is the interceptor of streams that this side answers.
func (t *Telemetry) serveStream(ctx context.Context, info *weft.CallInfo, stream weft.RawStream, next weft.StreamFunc) error {
	ctx, call := t.arrive(ctx, info)
	if call.t == nil {
		return next(ctx, info, stream)
	}
	returned := false
	defer func() {
		if !returned {
			call.end(ctx, weft.Internal)
		}
	}()
	err := next(ctx, info, stream)
	returned = true
	told := err
	if errors.Is(err, io.EOF) {
		told = nil // the handler has passed on the end of its input
	}
	call.end(ctx, told)
	return err
}

// arrive begins the span of a call that came in. The call is the zero one when nothing is to be noted of
// it.
func (t *Telemetry) arrive(ctx context.Context, info *weft.CallInfo) (context.Context, running) {
	if t.cfg.Sample > 0 && !t.answers.Load() {
		t.answers.Store(true)
	}
	m := weft.MetadataFrom(ctx)
	var links []trace.SpanStartOption
	if m.Len() > 0 {
		remote := t.extract(ctx, m)
		if !t.cfg.Public {
			ctx = remote
		} else if caller := trace.SpanContextFromContext(remote); caller.IsValid() {
			links = []trace.SpanStartOption{trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: caller})}
		}
	}
	skip := t.skipsRemote(ctx)
	if skip && !t.server.Enabled(ctx) {
		return ctx, running{}
	}
	began := session.Nanos()
	from := t.start(systemOfPeer(info.Peer), info.Method, trace.SpanKindServer)
	if skip {
		return ctx, running{t, from, nil, began}
	}
	options := from.options
	if links != nil {
		options = append(options[:len(options):len(options)], links...)
	}
	ctx, span := t.tracer.Start(ctx, from.name, options...)
	if span.IsRecording() {
		span.SetAttributes(peerOf(info.Peer)...)
		span.SetAttributes(metadataOf(t.cfg.RequestMetadata, m, semconv.RPCRequestMetadata)...)
	}
	return ctx, running{t, from, span, began}
}
