package otel

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"

	"github.com/weftrpc/weft"
)

// skips reports whether a call that is made with ctx gets no span, by Config.Sample. What belongs to a
// trace follows it, and other calls are chosen; those of a handler whose call was not chosen are not
// chosen either.
func (t *Telemetry) skips(ctx context.Context) bool {
	if t.cfg.Sample == 0 || t.untraced {
		return t.untraced
	}
	if s := trace.SpanContextFromContext(ctx); s.IsValid() {
		return !s.IsSampled()
	}
	if t.answers.Load() && weft.PeerFrom(ctx) != nil {
		return true
	}
	return t.notChosen()
}

// skipsRemote is skips for a call that came in, with the trace of its caller in ctx.
func (t *Telemetry) skipsRemote(ctx context.Context) bool {
	if t.cfg.Sample == 0 || t.untraced {
		return t.untraced
	}
	if s := trace.SpanContextFromContext(ctx); s.IsValid() {
		return !s.IsSampled()
	}
	return t.notChosen()
}

func (t *Telemetry) notChosen() bool { return t.cfg.Sample < 1 && rand.Float64() >= t.cfg.Sample }

// notSampled is the beginning of a trace that is not sampled, for what is called.
func notSampled() trace.SpanContext {
	var c trace.SpanContextConfig
	binary.LittleEndian.PutUint64(c.TraceID[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(c.TraceID[8:], rand.Uint64()|1) // not all of it may be zero
	binary.LittleEndian.PutUint64(c.SpanID[:], rand.Uint64()|1)
	return trace.NewSpanContext(c)
}
