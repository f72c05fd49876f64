package session

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/held"
	"github.com/weftrpc/weft/internal/inbuf"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/internal/streams"
	"github.com/weftrpc/weft/internal/wire"
)

// halfSent opens so many streams, on each of which a message of the server has begun.
func halfSent(p *stranger, streams int, size int) (all []*Stream, ids []uint32) {
	for range streams {
		all = append(all, openStream(p.t, context.Background(), p.s, "Down.Large"))
		h, _ := p.expect(wire.TypeRequest)
		ids = append(ids, h.ID)
		p.send(wire.Header{Type: wire.TypeData, Flags: wire.FlagAnswer | wire.FlagMore, ID: h.ID}, make([]byte, size))
	}
	p.pong() // all have come
	return all, ids
}

// finishSent sends the rest of the messages in so many pieces each, and ends the calls.
func finishSent(p *stranger, ids []uint32, pieces int) {
	var b []byte
	for _, id := range ids {
		h := wire.Header{Type: wire.TypeChunk, Flags: wire.FlagAnswer | wire.FlagMore, ID: id}
		for i := range pieces {
			if i+1 == pieces {
				h.Flags &^= wire.FlagMore
			}
			b = append(b, p.bytes(h, []byte("x"))...)
		}
		b = append(b, p.bytes(wire.Header{Type: wire.TypeError, Flags: wire.FlagAnswer, Code: uint16(wire.Canceled), ID: id}, wire.AppendStatus(nil, &wire.Status{Code: wire.Canceled}))...)
	}
	p.write(b)
	p.pong()
}

// What a server sends of messages of streams that were given up in the middle costs it nothing: it does not know yet. The memory of
// what had come is given back before.
func TestRestOfMessagesOfStreamsThatWereGivenUp(t *testing.T) {
	const streams, pieces = 16, 250
	p := strangeServer(t, nil)
	all, ids := halfSent(p, streams, wire.MaxPayload)
	for _, st := range all {
		st.Cancel(&wire.Status{Code: wire.Canceled})
	}
	last, lastID := halfSent(p, 1, 1)
	if n := p.s.reading.parts.size; n != (streams+1)*assemblyCost+1 {
		t.Errorf("%d bytes of unfinished messages are held, want a byte and what is known of all", n)
	}
	finishSent(p, ids, pieces)
	finishSent(p, lastID, 3)
	if b, _ := recv(last[0]); len(b) != 4 {
		t.Errorf("the last stream received %d bytes, want 4", len(b))
	}
	if n := len(p.s.reading.parts.open); n != 0 {
		t.Errorf("%d messages are unfinished", n)
	}
	if st := p.s.Err(); st != nil {
		t.Errorf("the session ended with %+v", st)
	}
}

// The same for messages that are longer than this side takes: their streams end, and the session goes on.
func TestRestOfMessagesThatAreTooLong(t *testing.T) {
	const streams, pieces = 16, 250
	p := strangeServer(t, nil, func(c *Config) { c.Limits.MaxMessage = 1000 })
	all, ids := halfSent(p, streams, 999)
	finishSent(p, ids, pieces)
	for _, st := range all {
		if b, status := recv(st); b != nil || status == nil || status.Code != wire.ResourceExhausted {
			t.Errorf("a stream with a message that is too long ended with %d bytes, %+v", len(b), status)
		}
	}
	if st := p.s.Err(); st != nil {
		t.Errorf("the session ended with %+v", st)
	}
}

// A stream that was given up takes no more than the server has credit for.
func TestCreditOfStreamsThatWereGivenUp(t *testing.T) {
	const window = 100 * streams.Cost
	p := strangeServer(t, nil, func(c *Config) { c.Limits.StreamWindow = window })
	st := openStream(t, context.Background(), p.s, "Down.Large")
	h, _ := p.expect(wire.TypeRequest)
	st.Cancel(&wire.Status{Code: wire.Canceled})
	one := p.bytes(wire.Header{Type: wire.TypeData, Flags: wire.FlagAnswer, ID: h.ID}, nil)
	p.write(bytes.Repeat(one, window/streams.Cost))
	p.pong()
	p.write(one)
	p.expectGoAway(wire.Internal)
}

// What has come of messages is held no longer than their streams last, also when nothing comes behind it.
func TestUnfinishedOfStreamsThatWereGivenUp(t *testing.T) {
	m := held.New(64 << 20)
	p := strangeServer(t, nil, func(c *Config) { c.Memory = m })
	all, _ := halfSent(p, 32, wire.MaxPayload)
	const read = inbuf.BulkRead // which is borrowed while the rest of a message may come
	if m.Held() <= read {
		t.Error("unfinished messages are not counted")
	}
	for _, st := range all {
		st.Cancel(&wire.Status{Code: wire.Canceled})
	}
	polltest.True(t, time.Minute, "nothing is held", func() bool { return m.Held() <= read })
	if st := p.s.Err(); st != nil {
		t.Errorf("the session ended with %+v", st)
	}
}
