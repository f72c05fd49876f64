package session

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/pace"
	"github.com/weftrpc/weft/internal/wire"
)

// slow makes each call of a method that was never called go to a worker of its own.
func slow(m *Method) *Method {
	for range pace.Trial {
		m.pace.Observe(0, 1)
	}
	for range 100 { // more than count
		m.pace.Stalled()
	}
	return m
}

// slowness is the number that each slow call of a method raises and each fast one lowers by one.
func slowness(t *testing.T, m *Method) (n int) {
	t.Helper()
	text := m.pace.String()
	if _, err := fmt.Sscan(text[strings.LastIndexByte(text, ' ')+1:], &n); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return n
}

// workersNow is how many workers there are, of all executors.
func workersNow() int {
	b := make([]byte, 4<<20)
	return strings.Count(string(b[:runtime.Stack(b, true)]), "/internal/workers.(*Pool[")
}

// waiting is a streaming method that waits as that of wait does.
func waiting() *Method {
	return streaming("Echo.Waiting", func(ctx *Context, _ *Stream) *wire.Status {
		<-ctx.Done()
		return ended(ctx)
	})
}

// Calls that come with their cancels start no worker, are answered, and say nothing of their method; it is the same with streams, with
// one-way calls, those that have an order among them, and with calls that would go to a worker together with a call of another method.
func TestCanceledInTheSameRead(t *testing.T) {
	const calls = 30 // of which all frames are little to read: after much the reader pauses, with the help of a worker
	plain := func(uint32) []byte { return []byte("body") }
	sameOrder := func(uint32) []byte { return inOrder("k", "body") }
	ownOrder := func(slot uint32) []byte { return inOrder(fmt.Sprint("k", slot), "body") }
	for name, c := range map[string]struct {
		m     *Method
		flags wire.Flags
		body  func(slot uint32) []byte
		pairs bool
	}{
		"unary":        {m: wait(), body: plain},
		"one-way":      {m: wait(), flags: wire.FlagOneway, body: plain},
		"pairs":        {m: wait(), body: plain, pairs: true},
		"streams":      {m: waiting(), flags: wire.FlagStream, body: func(uint32) []byte { return nil }},
		"one order":    {m: wait(), flags: orderedFlags, body: sameOrder},
		"orders":       {m: wait(), flags: orderedFlags, body: ownOrder},
		"parts":        {m: wait(), flags: wire.FlagMore, body: plain},
		"ordered part": {m: wait(), flags: orderedFlags | wire.FlagMore, body: ownOrder},
	} {
		t.Run(name, func(t *testing.T) {
			m, other := slow(c.m), wait()
			other.Name = "Echo.Other" // of which several go to one worker
			p := newStranger(t, nil, m, other)
			p.greet(nil)
			p.bind(0, m.Name)
			p.bind(1, other.Name)
			before, most := workersNow(), slowness(t, m)
			for turn := range uint16(3) { // slots are free again
				var b []byte
				for slot := range uint32(calls) {
					call := wire.Header{Type: wire.TypeRequest, Flags: c.flags, ID: wire.ID(slot, turn)}
					end := wire.Header{Type: wire.TypeCancel, Code: uint16(wire.Canceled), ID: call.ID}
					if c.pairs && slot%2 == 0 {
						call.Code = 1
						b = append(b, p.bytes(call, []byte("other"))...)
						continue
					}
					b = append(b, p.bytes(call, c.body(slot))...)
					b = append(b, p.bytes(end, nil)...)
					if c.pairs {
						end.ID = wire.ID(slot-1, turn)
						b = append(b, p.bytes(end, nil)...)
					}
				}
				p.write(b)
				for range calls {
					h, payload, err := p.read()
					if err != nil || h.Type != wire.TypeError || wire.Code(h.Code) != wire.Canceled || h.Flags&wire.FlagRefused == 0 {
						t.Fatalf("got %+v %q, %v, want a refusal", h, payload, err)
					}
				}
			}
			if after := workersNow(); after > before {
				t.Errorf("%d workers were started", after-before)
			}
			if n := slowness(t, m); n != most {
				t.Errorf("the method counts as less slow: %d, want %d", n, most)
			}
			if n, held := p.s.in.running.Load(), p.s.in.bytes.Load(); n != 0 || held != 0 {
				t.Errorf("%d calls run, %d bytes are held", n, held)
			}
		})
	}
}

// untilLate is a gate that admits calls when their deadlines have passed.
type untilLate struct{ admitted, dropped int }

func (g *untilLate) Admit(c *Context) *Refusal {
	for now() < c.deadline {
		runtime.Gosched()
	}
	g.admitted++
	return nil
}

func (g *untilLate) Dropped(*Context) { g.dropped++ }

// Calls whose deadlines have passed before all of their read was looked at start no worker, and are answered.
func TestExpiredInTheSameRead(t *testing.T) {
	const calls = 50
	for name, flags := range map[string]wire.Flags{"unary": 0, "one-way": wire.FlagOneway, "streams": wire.FlagStream} {
		t.Run(name, func(t *testing.T) {
			m, body, gate := wait(), []byte("body"), new(untilLate)
			if flags == wire.FlagStream {
				m, body = waiting(), nil
			}
			slow(m)
			m.Gate = gate
			p := newStranger(t, nil, m)
			p.greet(nil)
			p.bind(0, m.Name)
			before := workersNow()
			var b []byte
			for slot := range uint32(calls) {
				h := wire.Header{Type: wire.TypeRequest, Flags: flags, ID: wire.ID(slot, 0), Arg: 1} // a microsecond
				b = append(b, p.bytes(h, body)...)
			}
			p.write(b)
			for range calls {
				h, payload, err := p.read()
				if err != nil || h.Type != wire.TypeError || wire.Code(h.Code) != wire.DeadlineExceeded || h.Flags&wire.FlagRefused == 0 {
					t.Fatalf("got %+v %q, %v, want a refusal", h, payload, err)
				}
			}
			if after := workersNow(); after > before {
				t.Errorf("%d workers were started", after-before)
			}
			atRest(t, p.s)
			p.s.Close(closedHere())
			if <-p.ended; gate.admitted != calls || gate.dropped != calls {
				t.Errorf("the gate has admitted %d calls and dropped %d, want %d", gate.admitted, gate.dropped, calls)
			}
		})
	}
}

// Calls whose handler does not run say nothing of their method, wherever they run.
func TestRefusedSayNothingOfTheMethod(t *testing.T) {
	const calls = 4 * pace.SampleEvery
	halfSlow := fast(wait()) // and runs on the reader
	halfSlow.pace.Stalled()
	halfSlow.pace.Stalled()
	for name, c := range map[string]struct {
		m      *Method
		flags  wire.Flags
		body   []byte
		weight int // of a call whose handler runs, at most
	}{
		"worker":  {m: slow(wait()), weight: 1},
		"ordered": {m: slow(wait()), flags: orderedFlags, body: inOrder("k", ""), weight: 1},
		"reader":  {m: halfSlow, weight: pace.SampleEvery},
	} {
		t.Run(name, func(t *testing.T) {
			p := newStranger(t, nil, c.m)
			p.greet(nil)
			p.bind(0, c.m.Name)
			most := slowness(t, c.m)
			var b []byte
			for slot := range uint32(calls) {
				h := wire.Header{Type: wire.TypeRequest, Flags: c.flags, ID: wire.ID(slot, 0), Arg: 1} // a microsecond
				b = append(b, p.bytes(h, c.body)...)
			}
			p.write(b)
			refused := 0
			for range calls {
				h, _, err := p.read()
				if err != nil || h.Type != wire.TypeError || wire.Code(h.Code) != wire.DeadlineExceeded {
					t.Fatalf("got %+v, %v, want a deadline that has passed", h, err)
				}
				if h.Flags&wire.FlagRefused != 0 {
					refused++
				}
			}
			atRest(t, p.s)
			if n := slowness(t, c.m); n < most-(calls-refused)*c.weight {
				t.Errorf("the method counts as less slow: %d, want %d less %d for each of %d calls at most", n, most, c.weight, calls-refused)
			}
		})
	}
}
