package otel

import (
	"context"
	"errors"
	"io"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrpc/weft"
)

// serve is the interceptor of unary calls that this side answers.
func (t *Telemetry) serve(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	ctx, call := t.arrive(ctx, info)
	ended := false
	defer func() {
		if !ended { // an interceptor further inside has panicked
			call.end(ctx, weft.Internal)
		}
	}()
	reply, err := next(ctx, info, req)
	ended = true
	call.end(ctx, err)
	return reply, err
}

// serveStream is the interceptor of streams that this side answers.
func (t *Telemetry) serveStream(ctx context.Context, info *weft.CallInfo, stream weft.RawStream, next weft.StreamFunc) error {
	ctx, call := t.arrive(ctx, info)
	ended := false
	defer func() {
		if !ended {
			call.end(ctx, weft.Internal)
		}
	}()
	err := next(ctx, info, stream)
	ended = true
	told := err
	if errors.Is(err, io.EOF) {
		told = nil // the handler has passed on the end of its input
	}
	call.end(ctx, told)
	return err
}

// arrive begins the span of a call that came in.
func (t *Telemetry) arrive(ctx context.Context, info *weft.CallInfo) (context.Context, running) {
	began := time.Now()
	m := weft.MetadataFrom(ctx)
	from := t.start(systemOfPeer(info.Peer), info.Method, trace.SpanKindServer)
	options := from.options
	if m.Len() > 0 {
		remote := t.extract(ctx, m)
		if !t.cfg.Public {
			ctx = remote
		} else if caller := trace.SpanContextFromContext(remote); caller.IsValid() {
			options = append(options[:len(options):len(options)], trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: caller}))
		}
	}
	ctx, span := t.tracer.Start(ctx, from.name, options...)
	if span.IsRecording() {
		span.SetAttributes(peerOf(info.Peer)...)
		span.SetAttributes(metadataOf(t.cfg.RequestMetadata, m, semconv.RPCRequestMetadata)...)
	}
	return ctx, running{t, from, span, began}
}
