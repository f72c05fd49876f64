package session

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/internal/wire"
)

// script notes the bodies of the calls that ran, up to the first "/".
type script struct {
	mu   sync.Mutex
	ran  []string
	hold chan struct{}
}

func (n *script) method() *Method {
	return unary("Script.Line", func(_ *Context, body []byte) ([]byte, *wire.Status) {
		line, _, _ := strings.Cut(string(body), "/")
		n.mu.Lock()
		n.ran = append(n.ran, line)
		n.mu.Unlock()
		switch line {
		case "hold":
			<-n.hold
		case "exit":
			runtime.Goexit()
		case "panic":
			panic("a handler's")
		}
		return nil, nil
	})
}

func (n *script) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.ran, " ")
}

// inOrder is the message of a one-way call with an order.
func inOrder(order, body string) []byte {
	return append(appendMeta(nil, string(wire.AppendPair(nil, wire.OrderKey, order))), body...)
}

// orderly is a peer that sends ordered calls to a session.
func orderly(t *testing.T, change func(*Config)) (*stranger, *script) {
	n := &script{hold: make(chan struct{})}
	p := newStranger(t, change, n.method())
	p.greet(nil)
	p.bind(0, "Script.Line")
	return p, n
}

const orderedFlags = wire.FlagOneway | wire.FlagMeta

func (p *stranger) line(slot uint32, flags wire.Flags, order, body string) {
	p.send(wire.Header{Type: wire.TypeRequest, Flags: orderedFlags | flags, ID: slot}, inOrder(order, body))
}

func (p *stranger) more(slot uint32, flags wire.Flags, body string) {
	p.send(wire.Header{Type: wire.TypeChunk, Flags: flags, ID: slot}, []byte(body))
}

// Calls of one order run as their requests begin, also when one of them comes whole later than
// those behind it; other orders do not wait for it.
func TestSequenceWaitsForChunks(t *testing.T) {
	p, n := orderly(t, nil)
	p.line(0, wire.FlagMore, "k", "one")
	p.line(1, 0, "k", "two")
	p.line(2, wire.FlagMore, "k", "three")
	p.line(3, 0, "k", "four")
	p.line(4, 0, "other", "beside")
	if h, _ := p.expect(wire.TypeReply); h.ID != 4 {
		t.Errorf("call %d was answered first, want that of the other order", h.ID)
	}
	p.more(2, 0, "/")
	p.pong()
	p.more(0, 0, "/")
	for id := range uint32(4) {
		if h, _ := p.expect(wire.TypeReply); h.ID != id {
			t.Errorf("call %d was answered, want %d", h.ID, id)
		}
	}
	if got := n.text(); got != "beside one two three four" {
		t.Errorf("the calls ran so: %s", got)
	}
	atRest(t, p.s)
}

// A call that will not run holds up none behind it: canceled while it arrives, too long, of a
// method that is not there, and one whose handler panics or ends its goroutine.
func TestSequenceGoesOn(t *testing.T) {
	p, n := orderly(t, func(c *Config) { c.Limits.MaxMessage = 20_000 })
	p.line(0, wire.FlagMore, "k", "canceled")
	p.line(1, wire.FlagMore, "k", "long")
	p.line(2, 0, "k", "panic")
	p.line(3, 0, "k", "exit")
	p.bind(1, "Script.None")
	p.send(wire.Header{Type: wire.TypeRequest, Flags: orderedFlags, Code: 1, ID: 4}, inOrder("k", ""))
	p.line(5, 0, "k", "last")
	if h, _ := p.expect(wire.TypeError); h.ID != 4 {
		t.Errorf("call %d was answered first, want that of the method which is not there", h.ID)
	}
	p.send(wire.Header{Type: wire.TypeCancel, Code: 1, ID: 0}, nil)
	for range 3 {
		p.more(1, wire.FlagMore, strings.Repeat("x", wire.MaxPayload))
	}
	for _, want := range []uint32{0, 1, 2, 3} {
		if h, _ := p.expect(wire.TypeError); h.ID != want {
			t.Errorf("call %d has failed, want %d", h.ID, want)
		}
	}
	if h, _ := p.expect(wire.TypeReply); h.ID != 5 {
		t.Errorf("call %d was answered, want 5", h.ID)
	}
	if got := n.text(); got != "panic exit last" {
		t.Errorf("the calls ran so: %s", got)
	}
	atRest(t, p.s)
	if left := p.s.in.sequences.Len(); left != 0 {
		t.Errorf("%d orders are held that have no calls", left)
	}
}

// Calls of an order run behind those that come with their cancels, which are answered on the reader.
func TestSequenceBehindCanceled(t *testing.T) {
	p, n := orderly(t, nil)
	var b []byte
	for slot, line := range []string{"no", "one", "never", "two"} {
		id := wire.ID(uint32(slot), 0)
		b = append(b, p.bytes(wire.Header{Type: wire.TypeRequest, Flags: orderedFlags, ID: id}, inOrder("k", line))...)
		if slot%2 == 0 {
			b = append(b, p.bytes(wire.Header{Type: wire.TypeCancel, Code: uint16(wire.Canceled), ID: id}, nil)...)
		}
	}
	p.write(b)
	for id, want := range []wire.Type{wire.TypeError, wire.TypeReply, wire.TypeError, wire.TypeReply} {
		if h, _, err := p.read(); err != nil || h.Type != want || h.ID != uint32(id) {
			t.Errorf("got %+v, %v, want a frame of type %d for call %d", h, err, want, id)
		}
	}
	if got := n.text(); got != "one two" {
		t.Errorf("the calls ran so: %s", got)
	}
	atRest(t, p.s)
	if left := p.s.in.sequences.Len(); left != 0 {
		t.Errorf("%d orders are held that have no calls", left)
	}
}

// As many calls of one order wait as may. The reply of one that has ended does not wait for
// the next one.
func TestSequenceIsBounded(t *testing.T) {
	p, n := orderly(t, func(c *Config) { c.Limits.MaxOrdered = 2 })
	p.line(0, 0, "k", "first")
	p.line(1, 0, "k", "hold")
	p.expect(wire.TypeReply)
	polltest.True(t, time.Minute, "the second call runs", func() bool { return n.text() == "first hold" })
	p.line(2, 0, "k", "a")
	p.line(3, wire.FlagMore, "k", "b")
	for i, flags := range []wire.Flags{0, wire.FlagMore} {
		p.line(4+uint32(i), flags, "k", "c")
		h, payload := p.expect(wire.TypeError)
		var st wire.Status
		if err := wire.ParseStatus(payload, &st); err != nil || h.ID != 4+uint32(i) || wire.Code(h.Code) != wire.ResourceExhausted ||
			h.Flags&wire.FlagRefused == 0 || !strings.Contains(st.Message, "MaxOrdered") {
			t.Errorf("the call too many was answered with %+v, %+v", h, st)
		}
	}
	p.line(6, 0, "other", "d")
	p.expect(wire.TypeReply)
	close(n.hold)
	p.more(3, 0, "/")
	for range 3 {
		p.expect(wire.TypeReply)
	}
	if got := n.text(); got != "first hold d a b" {
		t.Errorf("the calls ran so: %s", got)
	}
	atRest(t, p.s)
}

// When a session ends, calls end that wait behind a request which will never be whole.
func TestSequenceEndsWithSession(t *testing.T) {
	p, n := orderly(t, nil)
	p.line(0, wire.FlagMore, "k", "never")
	for id := uint32(1); id < 10; id++ {
		p.line(id, 0, "k", "waits")
	}
	p.pong()
	p.conn.Close()
	<-p.s.Done()
	polltest.True(t, time.Minute, "no call is left", func() bool { return p.s.Incoming() == 0 && p.s.in.bytes.Load() == 0 })
	if got := n.text(); got != "" {
		t.Errorf("the calls ran: %s", got)
	}
}

// The order of a call is the first pair of its metadata, whole in the first frame.
func TestSequenceNeedsFirstPair(t *testing.T) {
	pair := string(wire.AppendPair(nil, wire.OrderKey, "k"))
	for name, tc := range map[string]struct {
		payload []byte
		ok      bool
	}{
		"alone":       {appendMeta(nil, pair), true},
		"first":       {appendMeta(nil, pair+string(wire.AppendPair(nil, "a", "b"))), true},
		"second":      {appendMeta(nil, string(wire.AppendPair(nil, "a", "b"))+pair), false},
		"cut":         {appendMeta(nil, pair)[:len(pair)+1], false},
		"none":        {appendMeta(nil, string(wire.AppendPair(nil, "a", "b"))), false},
		"short block": {append([]byte{3, 0}, pair...), false},
		"empty":       {nil, false},
		"empty value": {appendMeta(nil, string(wire.AppendPair(nil, wire.OrderKey, ""))), true},
		"too long":    {appendMeta(nil, string(wire.AppendPair(nil, wire.OrderKey, strings.Repeat("k", wire.MaxOrder+1)))), false},
	} {
		if _, ok := wire.Order(tc.payload); ok != tc.ok {
			t.Errorf("%s: %v, want %v", name, ok, tc.ok)
		}
	}
}
