package codectest

import (
	"fmt"
	"iter"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/internal/growthtest"
)

// Growth fails t when the time that c takes to decode a body grows much faster
// than the length of the body: then a peer can keep a server busy with little.
// body returns a body of about n bytes, sound or not, which is decoded into each
// of targets, once with n and once with eight times as many. The bound is
// generous, one good result of several is enough, and on Linux the time is the
// processor time of the decoding thread: a busy machine does not fail t.
func Growth(t testing.TB, c codec.Codec, n int, body func(n int) []byte, targets ...any) {
	t.Helper()
	for _, target := range targets {
		growthtest.Check(t, fmt.Sprintf("Decode into a %T", target), n, body, func(b []byte) { decodeAny(c, b, target) })
		if t.Failed() {
			return // one is enough: each takes seconds
		}
	}
}

// FuzzGrowth fuzzes [Growth] with bodies that have something before, a piece many times, and something after.
// It begins with parts of bodies.
func FuzzGrowth(f *testing.F, c codec.Codec, bodies [][]byte, targets ...any) {
	f.Helper()
	for _, body := range bodies {
		for before, piece := range parts(body) {
			f.Add(before, piece, body[len(before)+len(piece):])
		}
	}
	f.Fuzz(func(t *testing.T, before, piece, after []byte) {
		Growth(t, c, growthSize, growthtest.Repeat(before, piece, after), targets...)
	})
}

// growthSize is how long the shorter bodies are: the longer ones of 64 KiB take less than a tenth of a second, unless the time grows
// with the square of their length.
const growthSize = 8 << 10

// growth repeats parts of the encoding of a value, with the rest around them and without.
func (s *suite) growth(t *testing.T, v any, body []byte) {
	for before, piece := range parts(body) {
		after := body[len(before)+len(piece):]
		Growth(t, s.c, growthSize, growthtest.Repeat(before, piece, after), v, new(any))
		if t.Failed() {
			return
		}
		Growth(t, s.c, growthSize, growthtest.Repeat(nil, piece, nil), v, new(any))
	}
}

// parts yields some parts of a body, and what is before each.
func parts(body []byte) iter.Seq2[[]byte, []byte] {
	const places, longest = 8, 1 << 10
	return func(yield func(before, piece []byte) bool) {
		step := max(1, len(body)/places)
		for from := 0; from < min(len(body), places*step); from += step {
			for _, n := range []int{1, 2, 7, longest} {
				if to := min(from+n, len(body)); !yield(body[:from:from], body[from:to:to]) {
					return
				}
			}
		}
	}
}

// decodeAny decodes a body, whatever comes of it.
func decodeAny(c codec.Codec, body []byte, target any) {
	_ = safely(func() error { return c.Decode(body, newLike(target)) })
}
