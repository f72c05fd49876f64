package session

import (
	"testing"
	"testing/synctest"

	"github.com/weftrpc/weft/internal/streams"
	"github.com/weftrpc/weft/internal/wire"
)

// A stream that is credited with more than an int of 32 bits holds ends the
// connection, as any credit above the bound does.
func TestCreditBeyondInt32(t *testing.T) {
	for _, credit := range []uint32{streams.MaxCredit + 1, 1 << 31, 1<<32 - 1} {
		p := newStranger(t, nil, chat())
		p.greet(nil)
		p.bind(0, "Echo.Chat")
		p.request(0, 0, wire.FlagStream, "")
		p.send(wire.Header{Type: wire.TypeCredit, ID: wire.ID(0, 0), Arg: credit}, nil)
		p.expectGoAway(wire.Internal)
	}
}

// A peer whose limits are above an int of 32 bits gets replies.
func TestLimitsBeyondInt32(t *testing.T) {
	for _, limit := range []uint32{1 << 31, 1<<32 - 1} {
		p := newStranger(t, nil, echo())
		h := strangerHello()
		h.MaxMessage, h.MaxMetadata = limit, limit
		p.greet(h)
		p.bind(0, "Echo.Say")
		p.request(0, 0, 0, "works")
		if _, payload := p.expect(wire.TypeReply); string(payload) != "works" {
			t.Errorf("a call of a peer with the limit %d gave %q", limit, payload)
		}
	}
}

// A client makes calls to a server whose limits are above an int of 32 bits, also when they leave with its hello.
func TestServerLimitsBeyondInt32(t *testing.T) {
	for _, limit := range []uint32{1 << 31, 1<<32 - 1} {
		synctest.Test(t, func(t *testing.T) {
			o := openTo(t, nil)
			o.greeting()
			o.hello(func(h *wire.Hello) { h.MaxMessage, h.MaxMetadata = limit, limit })
			synctest.Wait()
			done := o.call(newCall("Echo.Say", []byte("works"), nil))
			o.expect(wire.TypeBind)
			h, _ := o.expect(wire.TypeRequest)
			o.send(wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: h.ID}, nil)
			if st := <-done; st != nil {
				t.Errorf("a call to a server with the limit %d ended with %+v", limit, st)
			}
		})
	}
}
