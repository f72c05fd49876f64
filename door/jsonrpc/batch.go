package jsonrpc

import (
	"fmt"
	"sync"

	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
)

// batch collects the answers of a batch.
type batch struct {
	s  *server
	to sink

	mu   sync.Mutex
	b    []byte
	left int
}

// batch has run called for each call of a batch, a valid array.
func (s *server) batch(value []byte, in incoming, run func(x *call, in *incoming)) {
	elements := envelope.Elements(value, s.d.cfg.MaxBatch)
	switch n := len(elements); {
	case n == 0:
		in.to.answer(invalid(&envelope.Request{}, "the batch is empty"), in.pace)
		return
	case n > s.d.cfg.MaxBatch:
		in.to.answer(invalid(&envelope.Request{}, fmt.Sprintf("the batch has more than %d requests", s.d.cfg.MaxBatch)), in.pace)
		return
	}
	in.to = &batch{s: s, to: in.to, left: len(elements)}
	for _, e := range elements {
		x := &call{s: s, to: in.to, pace: in.pace, r: envelope.ReadRequest(e, true)}
		x.r.Own(value, in.kept)
		run(x, &in)
	}
}

// maxDropped is how many bytes the answer to a batch has at most that does not wait for room.
const maxDropped = 4 << 10

// answer implements sink.
func (b *batch) answer(answer []byte, p pace) {
	if answer != nil {
		b.s.Hold(len(answer) + 1)
	}
	b.mu.Lock()
	if answer != nil {
		c := byte(',')
		if b.b == nil {
			c = '['
		}
		b.b = append(append(b.b, c), answer...)
		b.s.held.Add(int64(len(answer) + 1))
	}
	b.left--
	last := b.left == 0
	b.mu.Unlock()
	if !last {
		return
	}
	if n := len(b.b); n > 0 {
		b.s.held.Add(-int64(n))
		defer b.s.Hold(-n) // it counts with what waits to be written then
		b.b = append(b.b, ']')
	}
	if p == dropped && len(b.b) > maxDropped {
		p = alone
	}
	b.to.answer(b.b, p)
}
