package otel

import (
	"context"
	"errors"
	"io"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/figures"
)

// serve is the interceptor of unary calls that this side answers.
func (t *Telemetry) serve(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	began, system := time.Now(), systemOfPeer(info.Peer)
	ctx, span := t.arrive(ctx, info, system)
	ended := false
	defer func() {
		if !ended { // an interceptor further inside has panicked
			t.end(ctx, span, system, info.Method, began, weft.Internal, false)
		}
	}()
	reply, err := next(ctx, info, req)
	ended = true
	t.end(ctx, span, system, info.Method, began, err, false)
	return reply, err
}

// serveStream is the interceptor of streams that this side answers.
func (t *Telemetry) serveStream(ctx context.Context, info *weft.CallInfo, stream weft.RawStream, next weft.StreamFunc) error {
	began, system := time.Now(), systemOfPeer(info.Peer)
	ctx, span := t.arrive(ctx, info, system)
	ended := false
	defer func() {
		if !ended {
			t.end(ctx, span, system, info.Method, began, weft.Internal, false)
		}
	}()
	err := next(ctx, info, stream)
	ended = true
	told := err
	if errors.Is(err, io.EOF) {
		told = nil // the handler has passed on the end of its input
	}
	t.end(ctx, span, system, info.Method, began, told, false)
	return err
}

// arrive begins the span of a call that came in.
func (t *Telemetry) arrive(ctx context.Context, info *weft.CallInfo, system string) (context.Context, trace.Span) {
	m := weft.MetadataFrom(ctx)
	options := t.start(system, info.Method, trace.SpanKindServer)
	if m.Len() > 0 {
		remote := t.cfg.Propagator.Extract(ctx, received{m})
		if !t.cfg.Public {
			ctx = remote
		} else if from := trace.SpanContextFromContext(remote); from.IsValid() {
			options = append(options[:len(options):len(options)], trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: from}))
		}
	}
	ctx, span := t.tracer.Start(ctx, figures.MethodName(info.Method), options...)
	if span.IsRecording() {
		span.SetAttributes(peerOf(info.Peer)...)
		span.SetAttributes(metadataOf(t.cfg.RequestMetadata, m, semconv.RPCRequestMetadata)...)
	}
	return ctx, span
}
