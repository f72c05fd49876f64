package session

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/budget"
	"github.com/weftrpc/weft/internal/held"
	"github.com/weftrpc/weft/internal/inbuf"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/outbuf"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/internal/streams"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// allocated is how many bytes f has the whole process allocate.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// Sixteen bytes of a stranger allocate no more than 64 KiB, whatever they claim.
func TestClaimsAllocateLittle(t *testing.T) {
	leak.Check(t)
	types := []wire.Type{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 127, 128, 255}
	lengths := []uint32{0, 1, wire.MaxPayload, wire.MaxPayload + 1, 1 << 20, 1 << 31, 1<<32 - 1}
	for _, typ := range types {
		for _, n := range lengths {
			for _, flags := range []wire.Flags{0, wire.FlagMore, 0xff} {
				p := quietStranger(t, nil, echo(), chat())
				p.greet(nil)
				p.bind(0, "Echo.Say")
				p.pong()
				header := make([]byte, wire.HeaderSize)
				wire.PutHeader(header, wire.Header{Length: n, Type: typ, Flags: flags, ID: 1, Arg: 1<<32 - 1})
				got := allocated(func() {
					p.conn.Write(header)
					p.conn.CloseWrite()
					p.conn.SetReadDeadline(time.Now().Add(2 * time.Second))
					var scrap [256]byte
					for {
						if _, err := p.conn.Read(scrap[:]); err != nil {
							break
						}
					}
					<-p.s.Done()
				})
				if got > 64<<10 {
					t.Errorf("type %d, flags %#x, claiming %d bytes: %d bytes were allocated", typ, flags, n, got)
				}
			}
		}
	}
}

// The same before the handshake is over.
func TestHandshakeAllocatesLittle(t *testing.T) {
	leak.Check(t)
	for _, n := range []uint32{0, wire.MaxPayload, wire.MaxPayload + 1, 1 << 31, 1<<32 - 1} {
		for _, typ := range []wire.Type{wire.TypeHello, wire.TypeGoAway, wire.TypeRequest, 0, 200} {
			client, server := mem.Pipe(nil)
			cfg := newConfig(NewExecutor(), nil)
			header := []byte(wire.Preface + strings.Repeat("\x00", wire.HeaderSize))
			wire.PutHeader(header[len(wire.Preface):], wire.Header{Length: n, Type: typ})
			got := allocated(func() {
				client.Write(header)
				client.CloseWrite()
				if s, _ := Accept(context.Background(), server, cfg, nil); s != nil {
					s.Close(closedHere())
				}
			})
			if got > 64<<10 {
				t.Errorf("type %d claiming %d bytes: %d bytes were allocated", typ, n, got)
			}
			client.Close()
		}
	}
}

// A flood of what costs its sender nothing ends the connection, with a reason.
func TestControlFloods(t *testing.T) {
	for name, frame := range map[string]wire.Header{
		"ping":      {Type: wire.TypePing},
		"pong":      {Type: wire.TypePing, Flags: wire.FlagAck},
		"ignorable": {Type: 200},
		"credit":    {Type: wire.TypeCredit, ID: 7, Arg: 1},
		"cancel":    {Type: wire.TypeCancel, ID: 7, Code: 1},
		"chunk":     {Type: wire.TypeChunk, ID: 7},
		"data":      {Type: wire.TypeData, ID: 7},
		"long data": {Type: wire.TypeData, Flags: wire.FlagMore, ID: 7},
	} {
		bubble(t, name, func(t *testing.T) {
			p := newStranger(t, nil)
			p.greet(nil)
			one := p.bytes(frame, []byte("12345678"))
			many := []byte(strings.Repeat(string(one), 2*budget.ControlPerSecond))
			go p.write(many)
			p.expectGoAway(wire.ResourceExhausted)
		})
	}
	bubble(t, "bind", func(t *testing.T) {
		p := newStranger(t, nil)
		p.greet(nil)
		var many []byte
		for i := range 2 * budget.ControlPerSecond {
			many = append(many, p.bytes(wire.Header{Type: wire.TypeBind}, wire.AppendBind(nil, "raw", fmt.Sprint("Churn.M", i)))...)
		}
		go p.write(many)
		p.expectGoAway(wire.ResourceExhausted)
	})
}

// The same on a stream that is open.
func TestFloodsOnStream(t *testing.T) {
	const window = 100 * streams.Cost
	for name, flood := range map[string]struct {
		frame wire.Header
		code  wire.Code
	}{
		"no credit":      {wire.Header{Type: wire.TypeCredit}, wire.ResourceExhausted},
		"end":            {wire.Header{Type: wire.TypeData, Flags: wire.FlagEnd}, wire.ResourceExhausted},
		"cancel":         {wire.Header{Type: wire.TypeCancel, Code: 1}, wire.ResourceExhausted},
		"data after end": {wire.Header{Type: wire.TypeData}, wire.Internal}, // beyond its credit
	} {
		bubble(t, name, func(t *testing.T) {
			began, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			hold := streaming("Sink.Hold", func(*Context, *Stream) *wire.Status {
				close(began)
				<-release
				return nil
			})
			p := newStranger(t, func(c *Config) { c.Limits.StreamWindow = window }, hold)
			p.greet(nil)
			p.bind(0, "Sink.Hold")
			p.request(0, 0, wire.FlagStream|wire.FlagEnd, "")
			<-began
			earned := 4 + p.cfg.Limits.MaxMessage/wire.MaxPayload + 2*window/streams.Cost
			go p.write(bytes.Repeat(p.bytes(flood.frame, nil), earned+2*budget.ControlPerSecond))
			p.expectGoAway(flood.code)
		})
	}
}

// What was on its way when its call ended is skipped, however much it is, and a client may give
// a binding a new meaning for each call.
func TestFramesOfEndedCalls(t *testing.T) {
	p := newStranger(t, nil, echo(), streaming("Echo.End", func(*Context, *Stream) *wire.Status { return nil }))
	p.greet(nil)
	p.bind(0, "Echo.End")
	for id := range uint32(4) {
		p.request(id, 0, wire.FlagStream, "")
		p.expect(wire.TypeReply)
		p.write(bytes.Repeat(p.bytes(wire.Header{Type: wire.TypeData, ID: id}, nil), p.cfg.Limits.StreamWindow/streams.Cost))
		p.write(bytes.Repeat(p.bytes(wire.Header{Type: wire.TypeCredit, ID: id, Arg: 1}, nil), 100))
	}
	p.pong()
	for i := range 3 * budget.ControlPerSecond {
		p.bind(1, fmt.Sprint("Echo.Say#", i))
		p.send(wire.Header{Type: wire.TypeRequest, Code: 1, ID: 9}, nil)
		p.send(wire.Header{Type: wire.TypeCancel, Code: 1, ID: wire.ID(9, 1)}, nil)
		p.expect(wire.TypeReply)
	}
}

// Frames that change nothing hold nothing.
func TestHarmlessFloods(t *testing.T) {
	p := newStranger(t, nil, echo(), chat())
	p.greet(nil)
	p.bind(0, "Echo.Say")
	var flood []byte
	for i := range uint32(budget.ControlPerSecond/10 - 1) {
		for _, h := range []wire.Header{
			{Type: wire.TypeChunk, ID: i}, {Type: wire.TypeData, ID: i}, {Type: wire.TypeCredit, ID: i, Arg: 1 << 31},
			{Type: wire.TypeCancel, ID: i}, {Type: wire.TypeData, Flags: wire.FlagAnswer, ID: i},
			{Type: wire.TypeData, Flags: wire.FlagMore, ID: i}, {Type: wire.TypeData, Flags: wire.FlagMore | wire.FlagAnswer, ID: i},
			{Type: wire.TypeChunk, Flags: wire.FlagMore | wire.FlagAnswer, ID: i}, {Type: wire.TypePing, Flags: wire.FlagAck},
		} {
			flood = append(flood, p.bytes(h, []byte("12345678"))...)
		}
		flood = append(flood, p.bytes(wire.Header{Type: wire.TypeBind, Code: 1}, wire.AppendBind(nil, "raw", fmt.Sprint("Churn.M", i)))...)
	}
	p.write(flood)
	p.pong()
	if n := len(p.s.in.bindings); n != 2 {
		t.Errorf("%d bindings are held, want 2", n)
	}
	p.request(0, 0, 0, "works")
	if _, payload := p.expect(wire.TypeReply); string(payload) != "works" {
		t.Errorf("a call after the flood gave %q", payload)
	}
	if n := len(p.s.reading.parts.open); n != 0 {
		t.Errorf("%d unfinished messages are held for calls that are not open", n)
	}
}

// Unfinished requests take slots, and no more memory than was sent. Beyond
// the bound the calls are refused, not the connection.
func TestUnfinishedRequests(t *testing.T) {
	const slots = 100
	p := newStranger(t, func(c *Config) { c.Limits.MaxCalls = slots }, echo())
	p.greet(nil)
	p.bind(0, "Echo.Say")
	for i := range uint32(slots) {
		p.request(i, 9, wire.FlagMore, "x")
	}
	p.pong()
	if n := len(p.s.reading.parts.open); n != slots {
		t.Errorf("%d unfinished requests are held, want %d", n, slots)
	}
	if n := p.s.reading.parts.size; n < slots*200 {
		t.Errorf("%d unfinished requests of a byte each count for %d bytes, less than what is known of them takes", slots, n)
	}
	for i := range uint32(slots) {
		p.send(wire.Header{Type: wire.TypeCancel, Code: 1, ID: wire.ID(i, 9)}, nil)
		if h, _ := p.expect(wire.TypeError); h.ID != wire.ID(i, 9) || h.Flags&wire.FlagRefused == 0 {
			t.Fatalf("a request canceled while arriving was answered with %+v", h)
		}
	}
	if parts := &p.s.reading.parts; len(parts.open) != 0 || parts.size != 0 {
		t.Errorf("%d unfinished requests of %d bytes are left", len(parts.open), parts.size)
	}
	p.request(5, 0, wire.FlagMore, "x")
	p.request(5, 1, wire.FlagMore, "x")
	p.expectGoAway(wire.Internal)
}

// All unfinished messages together are bounded.
func TestUnfinishedBytes(t *testing.T) {
	p := newStranger(t, func(c *Config) { c.Limits.MaxMessage = 40 << 20 }, echo())
	p.greet(nil)
	p.bind(0, "Echo.Say")
	p.request(0, 0, wire.FlagMore, "x")
	p.request(1, 0, wire.FlagMore, "x")
	p.request(2, 0, wire.FlagMore, "x")
	var chunks [3][]byte
	for i := range chunks {
		one := p.bytes(wire.Header{Type: wire.TypeChunk, Flags: wire.FlagMore, ID: uint32(i)}, make([]byte, wire.MaxPayload))
		chunks[i] = []byte(strings.Repeat(string(one), 64))
	}
	go func() {
		for range 39 { // MiB each
			for _, b := range chunks {
				p.write(b)
			}
		}
	}()
	if h, _ := p.expect(wire.TypeError); wire.Code(h.Code) != wire.ResourceExhausted || h.Flags&wire.FlagRefused == 0 {
		t.Errorf("the request too many was answered with %+v", h)
	}
	p.conn.Close()
	<-p.s.Done()
}

// A peer that opens and cancels calls as fast as it can never has more handlers
// running than slots.
func TestRapidCancel(t *testing.T) {
	const slots = 16
	var running, most, ran atomic.Int64
	handler := unary("Run.Slow", func(ctx *Context, _ []byte) ([]byte, *wire.Status) {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		ran.Add(1)
		<-ctx.Done()
		time.Sleep(200 * time.Microsecond) // it takes a moment to notice
		running.Add(-1)
		return nil, ended(ctx)
	})
	p := newStranger(t, func(c *Config) { c.Limits.MaxCalls = slots }, handler)
	p.greet(nil)
	p.bind(0, "Run.Slow")
	var gens [slots]uint16
	opening := func(slot uint32) []byte {
		id := wire.ID(slot, gens[slot])
		b := p.bytes(wire.Header{Type: wire.TypeRequest, ID: id}, nil)
		return append(b, p.bytes(wire.Header{Type: wire.TypeCancel, Code: 1, ID: id}, nil)...)
	}
	open := func(slot uint32) { p.write(opening(slot)) }
	for slot := range uint32(slots) {
		open(slot)
	}
	for range 2000 {
		h, _ := p.expect(wire.TypeError)
		slot := wire.Slot(h.ID)
		gens[slot]++
		open(slot)
	}
	if most.Load() > slots {
		t.Errorf("%d handlers ran at once for a connection with %d slots", most.Load(), slots)
	}
	for range slots {
		p.expect(wire.TypeError)
	}
	atRest(t, p.s)
	// A peer that does not wait for the answer is disconnected.
	p.write(bytes.Repeat(opening(0), 3))
	p.expectGoAway(wire.Internal)
}

// A peer that makes calls and never reads an answer costs a bounded amount of
// memory, and is thrown out, whatever the calls are.
func TestNeverReads(t *testing.T) {
	for _, method := range []string{"No.Such", "Echo.Say", "Echo.Inline"} {
		t.Run(method, func(t *testing.T) {
			inlined := fast(unary("Echo.Inline", func(_ *Context, b []byte) ([]byte, *wire.Status) { return b, nil }))
			var limits Limits
			p := newStranger(t, func(c *Config) {
				c.Limits.WriteBuffer, c.Limits.MaxCalls = 64<<10, 64
				c.Limits.WriteTimeout = 2 * time.Second
				limits = c.Limits
			}, echo(), inlined)
			p.greet(nil)
			p.bind(0, method)
			stop := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				for gen := uint16(0); ; gen++ {
					var b []byte
					for slot := range uint32(limits.MaxCalls) {
						b = append(b, p.bytes(wire.Header{Type: wire.TypeRequest, ID: wire.ID(slot, gen)}, make([]byte, 1000))...)
					}
					select {
					case <-stop:
						return
					default:
						p.write(b)
					}
				}
			})
			most := 0
			within(t, 10*time.Second, "the end of the session", func() {
				for p.s.Err() == nil {
					p.s.w.Lock()
					most = max(most, p.s.w.PendingLocked())
					p.s.w.Unlock()
					time.Sleep(100 * time.Microsecond)
				}
			})
			close(stop)
			p.conn.Close()
			wg.Wait()
			if bound := 4*limits.WriteBuffer + 512*limits.MaxCalls + 2<<20; most > bound {
				t.Errorf("%d bytes waited for a peer that does not read, bound is %d", most, bound)
			}
		})
	}
}

// A stalled peer does not disturb the other sessions of the same executor.
func TestNeighbours(t *testing.T) {
	forever := func(c *Config) { c.Limits.PingInterval, c.Limits.WriteTimeout = 0, 0 }
	stuck := newRig(t, setup{client: forever, server: forever}, echo())
	stuck.broken = true
	good := newRig(t, setup{noLeakCheck: true, server: func(c *Config) { c.Exec = stuck.execs[1] }}, echo())
	stuck.clientConn.In().Stall()
	var wg sync.WaitGroup
	for range 200 {
		c := newCall("Echo.Say", pattern(16_000), nil)
		wg.Add(1)
		c.Async = func(*Call) { wg.Done() }
		if st := stuck.client.Start(context.Background(), c); st != nil {
			wg.Done()
		}
	}
	defer stuck.client.Close(closedHere())
	within(t, 30*time.Second, "the calls of a neighbour", func() {
		for range 200 {
			if got, st := invoke(good.client, "Echo.Say", "quick"); st != nil || got != "quick" {
				t.Errorf("a neighbour's call gave %q, %+v", got, st)
			}
		}
	})
	stuck.client.Close(closedHere())
	within(t, 20*time.Second, "the end of the stuck calls", wg.Wait)
}

// A CANCEL for the call that was in the slot before ends nothing.
func TestCancelOfOtherGeneration(t *testing.T) {
	release := make(chan struct{})
	p := newStranger(t, nil, unary("Wait.Both", func(ctx *Context, _ []byte) ([]byte, *wire.Status) {
		select {
		case <-ctx.Done():
			return nil, ended(ctx)
		case <-release:
			return nil, nil
		}
	}))
	p.greet(nil)
	p.bind(0, "Wait.Both")
	p.request(2, 7, 0, "")
	for _, gen := range []uint16{6, 8} {
		p.send(wire.Header{Type: wire.TypeCancel, Code: 1, ID: wire.ID(2, gen)}, nil)
	}
	p.pong()
	close(release)
	if h, _ := p.expect(wire.TypeReply); h.ID != wire.ID(2, 7) {
		t.Errorf("the answer is %+v", h)
	}
}

// A slot in use is in use for calls that run on the reader too.
func TestSlotInUseInline(t *testing.T) {
	p := newStranger(t, nil, wait(), fast(echo()))
	p.greet(nil)
	p.bind(0, "Echo.Wait")
	p.bind(1, "Echo.Say")
	p.request(3, 0, 0, "")
	p.send(wire.Header{Type: wire.TypeRequest, Code: 1, ID: wire.ID(3, 1)}, nil)
	p.expectGoAway(wire.Internal)
}

// The first parts of large messages count as well.
func TestUnfinishedBeginnings(t *testing.T) {
	p := newStranger(t, nil, echo())
	p.greet(nil)
	p.bind(0, "Echo.Say")
	const most = (maxAssembly+5<<20)/wire.MaxPayload + 2
	go func() {
		for i := range uint32(most) {
			p.send(wire.Header{Type: wire.TypeRequest, Flags: wire.FlagMore, ID: wire.ID(i, 0)}, make([]byte, wire.MaxPayload))
		}
	}()
	if h, _ := p.expect(wire.TypeError); wire.Code(h.Code) != wire.ResourceExhausted || h.Flags&wire.FlagRefused == 0 {
		t.Errorf("the request too many was answered with %+v", h)
	}
	p.conn.Close()
	<-p.s.Done()
}

// A message may be as long as the limit says, whatever the bound of all together.
func TestUnfinishedLong(t *testing.T) {
	const long = 2 * maxAssembly
	rd := &reader{s: &Session{cfg: &Config{Limits: Limits{MaxMessage: long}}}}
	rd.s.reading.parts.size = outbuf.MaxBulk // others are on their way
	if !rd.spare(long) {
		t.Errorf("there is no room for a message of %d bytes", long)
	}
	rd.s.cfg.Limits.MaxMessage = 4 << 20
	if rd.spare(long) {
		t.Errorf("there is room for %d bytes", long)
	}
}

// A connection that was refused leaves nothing in the context of its server.
func TestRefusedLeavesNothing(t *testing.T) {
	ctx := &parent{Context: t.Context()}
	cfg := newConfig(NewExecutor(), nil)
	defer cfg.Exec.Close()
	cfg.Accept = func(*Session, string) *wire.Status { return &wire.Status{Code: wire.Unauthenticated, Message: "no"} }
	for range 10 {
		client, server := mem.Pipe(nil)
		go func() {
			Dial(t.Context(), client, newConfig(cfg.Exec, nil), "")
			client.Close()
		}()
		if _, st := Accept(ctx, server, cfg, nil); st == nil {
			t.Fatal("the connection was let in")
		}
	}
	if n := ctx.waiting.Load(); n != 0 {
		t.Errorf("%d functions still wait for the end of the server", n)
	}
}

// parent is a context that counts the functions which wait for its end.
type parent struct {
	context.Context
	waiting atomic.Int64
}

// Value hides what the parent is, so that package context asks AfterFunc.
func (*parent) Value(any) any { return nil }

func (p *parent) AfterFunc(end func()) (stop func() bool) {
	p.waiting.Add(1)
	forget := context.AfterFunc(p.Context, end)
	return func() bool {
		p.waiting.Add(-1)
		return forget()
	}
}

// What is held of unfinished messages is what their buffers have room for: a byte that doubles a buffer counts as that, and a buffer has never
// room for more than its message may have.
func TestUnfinishedBuffersAreCounted(t *testing.T) {
	const free = 64 << 10 // of each connection are not counted for the process
	m := held.New(64 << 20)
	p := newStranger(t, func(c *Config) { c.Memory = m }, echo())
	p.greet(nil)
	p.bind(0, "Echo.Say")
	const messages = 100
	for i := range uint32(messages) {
		p.send(wire.Header{Type: wire.TypeRequest, Flags: wire.FlagMore, ID: wire.ID(i, 0)}, make([]byte, wire.MaxPayload))
		p.send(wire.Header{Type: wire.TypeChunk, Flags: wire.FlagMore, ID: wire.ID(i, 0)}, []byte{1})
	}
	p.pong()
	n := 0
	for _, m := range p.s.reading.parts.open {
		n += cap(m.buf.B) + assemblyCost
	}
	if counted := p.s.reading.parts.size; counted != n {
		t.Errorf("%d bytes are counted of %d messages with buffers for %d", counted, messages, n)
	}
	if counted := int(m.Held()); counted < n-free || counted > n+inbuf.BulkRead {
		t.Errorf("%d bytes are counted for the process, of %d messages with buffers for %d", counted, messages, n)
	}
	most := p.s.cfg.Limits.longest(&wire.Header{Type: wire.TypeRequest})
	parts := p.s.cfg.Limits.MaxMessage/wire.MaxPayload - 1
	for range parts { // the first message becomes as long as it may; the last byte that it has room for is missing
		p.send(wire.Header{Type: wire.TypeChunk, Flags: wire.FlagMore}, make([]byte, wire.MaxPayload-1))
	}
	p.pong()
	if n := cap(p.s.reading.parts.find(0, false).buf.B); n > most {
		t.Errorf("a message of at most %d bytes has a buffer for %d", most, n)
	}
	for i := range uint32(messages) {
		p.send(wire.Header{Type: wire.TypeCancel, Code: 1, ID: wire.ID(i, 0)}, nil)
		p.expect(wire.TypeError)
	}
	p.pong()
	if n := m.Held(); n > inbuf.BulkRead {
		t.Errorf("%d bytes are counted when no message is left", n)
	}
	p.conn.Close()
	<-p.s.Done()
}

// What has come of messages is let go when the session ends, though a handler that runs on keeps the session.
func TestUnfinishedOfEndedSession(t *testing.T) {
	runs, release, ended := make(chan *Session), make(chan struct{}), make(chan struct{})
	hold := unary("Hold.All", func(c *Context, _ []byte) ([]byte, *wire.Status) {
		defer close(ended)
		runs <- c.Session
		<-release
		return nil, nil
	})
	p := newStranger(t, nil, hold)
	p.greet(nil)
	p.bind(0, "Hold.All")
	p.request(0, 0, 0, "x")
	s := <-runs
	p.request(1, 0, wire.FlagMore, "x")
	p.pong()
	if n := len(s.reading.parts.open); n != 1 {
		t.Errorf("%d unfinished messages are held, want 1", n)
	}
	p.conn.Close()
	within(t, time.Minute, "the end of the session", func() { <-p.ended })
	if n := len(s.reading.parts.open); n != 0 {
		t.Errorf("%d unfinished messages are held after the end", n)
	}
	close(release)
	<-ended
}

// Whether there is room for more is known at once, however many messages are unfinished.
func TestUnfinishedCostNothing(t *testing.T) {
	cost := func(held int) time.Duration {
		rd := &reader{s: &Session{cfg: &Config{}}}
		parts := &rd.s.reading.parts
		for id := range uint32(held) {
			parts.begin(wire.Header{Type: wire.TypeData, ID: id}, nil, 0)
		}
		parts.size = maxAssembly
		best := time.Hour
		for range 5 {
			from := time.Now()
			for range 2000 {
				if rd.spare(17) {
					t.Fatal("there is room beyond the bound")
				}
			}
			best = min(best, time.Since(from))
		}
		return best
	}
	if few, many := cost(1), cost(8000); many > 50*few+time.Millisecond {
		t.Errorf("2,000 refused pieces cost %v with one unfinished message, %v with 8,000", few, many)
	}
}

// What is left of an unfinished message is dropped when its stream has ended, also when nothing comes behind it.
func TestUnfinishedOfEndedStream(t *testing.T) {
	m := held.New(64 << 20)
	end := make(chan struct{})
	p := newStranger(t, func(c *Config) { c.Memory = m }, streaming("Echo.End", func(*Context, *Stream) *wire.Status { <-end; return nil }))
	p.greet(nil)
	p.bind(0, "Echo.End")
	const streams, pieces = 10, 5 // each message is more than a server lets a connection hold without counting it
	for id := range uint32(streams) {
		p.request(id, 0, wire.FlagStream, "")
		p.send(wire.Header{Type: wire.TypeData, Flags: wire.FlagMore, ID: id}, make([]byte, wire.MaxPayload))
		for range pieces - 1 {
			p.send(wire.Header{Type: wire.TypeChunk, Flags: wire.FlagMore, ID: id}, make([]byte, wire.MaxPayload))
		}
	}
	p.pong()
	if n := p.s.reading.parts.size; n < streams*pieces*wire.MaxPayload {
		t.Fatalf("%d bytes of unfinished messages are held, want all that was sent", n)
	}
	close(end)
	for range streams {
		p.expect(wire.TypeReply)
	}
	polltest.True(t, time.Minute, "nothing is held", func() bool { return m.Held() == 0 })
	if st := p.s.Err(); st != nil {
		t.Errorf("the session ended with %+v", st)
	}
}
