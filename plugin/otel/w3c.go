package otel

import (
	"context"
	"encoding/hex"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrpc/weft"
)

// The keys of the trace context and the baggage of the W3C.
const (
	traceparent = "traceparent"
	tracestate  = "tracestate"
	baggageKey  = "baggage"
)

// w3c is the propagator of a configuration that names none: what propagation.TraceContext and
// propagation.Baggage do, with less work for a call that has neither state nor baggage. Both
// are in the tests as its measure.
type w3c struct{}

// inject appends the pairs that a call carries: of a span, and of the baggage in ctx.
func (w3c) inject(ctx context.Context, s trace.SpanContext, pairs []string) []string {
	if s.IsValid() {
		if state := s.TraceState(); state.Len() > 0 {
			pairs = append(pairs, tracestate, state.String())
		}
		var b [55]byte
		id, span := s.TraceID(), s.SpanID()
		copy(b[:], "00-")
		hex.Encode(b[3:], id[:])
		b[35] = '-'
		hex.Encode(b[36:], span[:])
		b[52] = '-'
		hex.Encode(b[53:], []byte{byte(s.TraceFlags() & (trace.FlagsSampled | trace.FlagsRandom))})
		pairs = append(pairs, traceparent, string(b[:]))
	}
	if bag := baggage.FromContext(ctx); bag.Len() > 0 {
		pairs = append(pairs, baggageKey, bag.String())
	}
	return pairs
}

// extract returns ctx with what came with a call.
func (w3c) extract(ctx context.Context, m weft.Metadata) context.Context {
	parent, state, bags := "", false, false
	for key, value := range m.All() {
		switch key {
		case traceparent:
			if parent == "" {
				parent = value
			}
		case tracestate:
			state = true
		case baggageKey:
			bags = true
		}
	}
	if parent != "" {
		if s, ok := parentOf(parent); ok && !state {
			ctx = trace.ContextWithRemoteSpanContext(ctx, s)
		} else { // with a state, of a later version, or wrong
			ctx = propagation.TraceContext{}.Extract(ctx, received{m})
		}
	}
	if bags {
		ctx = propagation.Baggage{}.Extract(ctx, received{m})
	}
	return ctx
}

// parentOf reads a traceparent of version 00 whose only flag is that it is sampled or not. ok is
// false for every other.
func parentOf(h string) (s trace.SpanContext, ok bool) {
	if len(h) != 55 || h[:3] != "00-" || h[35] != '-' || h[52:54] != "-0" || h[54] != '0' && h[54] != '1' {
		return s, false
	}
	c := trace.SpanContextConfig{Remote: true, TraceFlags: trace.TraceFlags(h[54] - '0')}
	if !lowerHex(c.TraceID[:], h[3:35]) || !lowerHex(c.SpanID[:], h[36:52]) {
		return s, false
	}
	s = trace.NewSpanContext(c)
	return s, s.IsValid()
}

// lowerHex decodes lower-case digits.
func lowerHex(to []byte, from string) bool {
	for i := range to {
		high, low := digit(from[2*i]), digit(from[2*i+1])
		if high > 15 || low > 15 {
			return false
		}
		to[i] = high<<4 | low
	}
	return true
}

func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 16
}
