package session

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/internal/buffer"
	"github.com/weftrpc/weft/internal/held"
	"github.com/weftrpc/weft/internal/inbuf"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/pace"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/internal/streams"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// Messages of streams that are not received are bounded over all streams of a connection: the
// stream ends that goes beyond, and no others begin.
func TestUnreadMessagesAreBounded(t *testing.T) {
	const most = 8 << 20
	release := make(chan struct{})
	p := newStranger(t, func(c *Config) { c.Limits.MaxStreamBytes = most }, stallOn(release), echo())
	p.greet(nil)
	p.bind(0, "Sink.Stall")
	p.bind(1, "Echo.Say")
	// Each stream may have one message of a megabyte, for which its credit needs only be above zero.
	large := func(id uint32) {
		p.request(id, 0, wire.FlagStream, "")
		for i := range 64 {
			h := wire.Header{Type: wire.TypeChunk, Flags: wire.FlagMore, ID: id}
			if i == 0 {
				h.Type = wire.TypeData
			} else if i == 63 {
				h.Flags = 0
			}
			p.send(h, make([]byte, wire.MaxPayload))
		}
	}
	for id := range uint32(20) {
		large(id)
	}
	for range 12 {
		h, _ := p.expect(wire.TypeError)
		if wire.Code(h.Code) != wire.ResourceExhausted {
			t.Fatalf("a stream beyond the bound ended with %+v", h)
		}
	}
	p.pong()
	if n := p.s.in.unread.Load(); n > most+2<<20 {
		t.Errorf("%d bytes wait to be received, want %d", n, most)
	}
	close(release)
	for range 8 {
		p.send(wire.Header{Type: wire.TypePing}, []byte("12345678"))
	}
	for id := range uint32(20) {
		p.send(wire.Header{Type: wire.TypeCancel, Code: 1, ID: id}, nil)
	}
	polltest.True(t, time.Minute, "nothing is held", func() bool {
		return p.s.Incoming() == 0 && p.s.in.unread.Load() == 0 && p.s.in.bytes.Load() == 0
	})
}

// The metadata of calls that wait counts as their bodies do.
func TestMetadataIsCounted(t *testing.T) {
	release := make(chan struct{})
	hold := unary("Hold.All", func(*Context, []byte) ([]byte, *wire.Status) { <-release; return nil, nil })
	p := newStranger(t, func(c *Config) { c.Limits.MaxCallBytes = 100 << 10 }, hold, stallOn(release))
	p.greet(nil)
	p.bind(0, "Hold.All")
	p.bind(1, "Sink.Stall")
	meta := appendMeta(nil, string(wire.AppendPair(nil, "k", string(make([]byte, 16_000)))))
	for id := range uint32(10) {
		h := wire.Header{Type: wire.TypeRequest, Flags: wire.FlagMeta, ID: id}
		if id%2 == 1 {
			h.Flags, h.Code = h.Flags|wire.FlagStream, 1
		}
		p.send(h, meta)
	}
	for range 4 {
		if h, _ := p.expect(wire.TypeError); wire.Code(h.Code) != wire.ResourceExhausted || h.Flags&wire.FlagRefused == 0 {
			t.Errorf("a call beyond the bytes in flight was answered with %+v", h)
		}
	}
	close(release)
	for range 3 {
		p.expect(wire.TypeReply)
	}
	p.conn.Close()
	polltest.True(t, time.Minute, "nothing is held", func() bool { return p.s.Incoming() == 0 && p.s.in.bytes.Load() == 0 })
}

// emptyPools has the buffers that large messages get made anew: one from a pool may have twice the room.
func emptyPools() {
	runtime.GC()
	runtime.GC() // a sync.Pool keeps what it has for one more collection
}

// A large message counts with its buffer, until its handler has returned or it is received: what waits for a worker, in its order, in a stream.
// So does a connection with its bindings, and with what it has borrowed to read large messages.
func TestBuffersOfLargeMessagesAreCounted(t *testing.T) {
	const size, free = 1<<20 + 1000, 64 << 10
	meta := appendMeta(nil, string(wire.AppendPair(nil, wire.OrderKey, "k")))
	for _, tc := range []struct {
		name, method string
		flags        wire.Flags
		begins       []byte
		ends         wire.Type
	}{
		{"unary", "Hold.All", 0, nil, wire.TypeReply},
		{"ordered", "Hold.All", wire.FlagOneway | wire.FlagMeta, meta, wire.TypeReply},
		{"stream", "Sink.Stall", wire.FlagStream, nil, wire.TypeReply},
	} {
		t.Run(tc.name, func(t *testing.T) {
			emptyPools()
			m := held.New(64 << 20)
			release := make(chan struct{})
			hold := unary("Hold.All", func(*Context, []byte) ([]byte, *wire.Status) { <-release; return nil, nil })
			p := newStranger(t, func(c *Config) { c.Memory = m }, hold, stallOn(release))
			p.greet(nil)
			p.bind(0, tc.method)
			h := wire.Header{Type: wire.TypeRequest, Flags: tc.flags | wire.FlagMore}
			if tc.flags&wire.FlagStream != 0 {
				p.request(0, 0, wire.FlagStream, "")
				h = wire.Header{Type: wire.TypeData, Flags: wire.FlagMore}
			}
			rest := append(tc.begins, make([]byte, size)...)
			for len(rest) > 0 {
				n := min(len(rest), wire.MaxPayload)
				if n == len(rest) {
					h.Flags &^= wire.FlagMore
				}
				p.send(h, rest[:n])
				rest = rest[n:]
				h = wire.Header{Type: wire.TypeChunk, Flags: wire.FlagMore}
			}
			p.pong()
			if n := m.Held(); n < 2*(1<<20)-free || n > 2*(1<<20)+inbuf.BulkRead {
				t.Errorf("%d bytes are counted of a message in a buffer of 2 MiB", n)
			}
			close(release)
			if tc.flags&wire.FlagStream != 0 {
				p.send(wire.Header{Type: wire.TypeCancel, Code: 1}, nil)
			}
			polltest.True(t, time.Minute, "the message counts no more", func() bool { return m.Held() <= inbuf.BulkRead && p.s.in.bytes.Load() == 0 })
			p.conn.Close()
			<-p.s.Done()
			if n := m.Held(); n != 0 {
				t.Errorf("%d bytes are counted after the end", n)
			}
		})
	}
}

// What a connection has borrowed to read a large message counts while the rest of that may come.
func TestBorrowedMemoryIsCounted(t *testing.T) {
	const free = 64 << 10
	m := held.New(64 << 20)
	p := newStranger(t, func(c *Config) { c.Memory = m }, echo())
	p.greet(nil)
	p.bind(0, "Echo.Say")
	p.request(0, 0, wire.FlagMore, "x")
	piece := p.bytes(wire.Header{Type: wire.TypeChunk, Flags: wire.FlagMore}, make([]byte, wire.MaxPayload))
	borrowed := func() bool {
		p.pong()
		return m.Held() == int64(p.s.reading.parts.size+inbuf.BulkRead-free)+p.s.in.bindings[0].memory()
	}
	for range 20 {
		if p.write(bytes.Repeat(piece, 10)); borrowed() {
			break
		}
	}
	if !borrowed() {
		t.Errorf("%d bytes are counted of an unfinished message that takes %d", m.Held(), p.s.reading.parts.size)
	}
	p.send(wire.Header{Type: wire.TypeCancel, Code: 1}, nil)
	p.expect(wire.TypeError)
	p.pong()
	if n := m.Held(); n != 0 {
		t.Errorf("%d bytes are counted when the message is gone", n)
	}
}

// A large request that begins while the process has no room is refused then.
func TestLargeRequestWithoutRoom(t *testing.T) {
	p := newStranger(t, func(c *Config) { c.Memory = held.New(1 << 20) }, echo())
	p.greet(nil)
	p.bind(0, "Echo.Say")
	p.pong()
	p.s.in.account.Add(1<<20 + 64<<10) // others hold what there is
	p.send(wire.Header{Type: wire.TypeRequest, Flags: wire.FlagMore}, make([]byte, wire.MaxPayload))
	if h, _ := p.expect(wire.TypeError); wire.Code(h.Code) != wire.ResourceExhausted || h.Flags&wire.FlagRefused == 0 {
		t.Errorf("the beginning of a request was answered with %+v", h)
	}
	for range 100 { // what comes of it all the same costs the peer nothing
		p.send(wire.Header{Type: wire.TypeChunk, Flags: wire.FlagMore}, make([]byte, wire.MaxPayload))
	}
	p.pong()
}

// A large request needs room for its buffer when it is whole.
func TestLargeRequestNeedsRoomForItsBuffer(t *testing.T) {
	const most, room, size = 8 << 20, 1_500_000, 1<<20 + 1000
	emptyPools()
	p := newStranger(t, func(c *Config) { c.Memory = held.New(most) }, echo())
	p.greet(nil)
	p.bind(0, "Echo.Say")
	p.pong()
	p.s.in.account.Add(most - room + 64<<10) // others hold that
	h := wire.Header{Type: wire.TypeRequest, Flags: wire.FlagMore}
	for left := size; left > 0; left -= wire.MaxPayload {
		if left <= wire.MaxPayload {
			h.Flags = 0
		}
		p.send(h, make([]byte, min(left, wire.MaxPayload)))
		h.Type = wire.TypeChunk
	}
	if h, _ := p.expect(wire.TypeError); wire.Code(h.Code) != wire.ResourceExhausted || h.Flags&wire.FlagRefused == 0 {
		t.Errorf("a request of 1 MiB in a buffer of 2 MiB was answered with %+v, where there is room for %d bytes", h, room)
	}
}

// A call that may be held for long has a buffer that fits it, also behind short calls of the same read, whose job has any buffer of the pool.
func TestLongCallBehindShortOnes(t *testing.T) {
	short, long := echo(), unary("Hold.All", func(*Context, []byte) ([]byte, *wire.Status) { return nil, nil })
	p := newStranger(t, nil, short, long)
	p.greet(nil)
	rd := newReader(p.s, nil, 0, 0)
	id := uint32(0)
	assign := func(m *Method) {
		c := rd.newContext(0)
		c.Session, c.Method, c.id = p.s, m, id
		id++
		if err := rd.assign(c, wire.Header{Type: wire.TypeRequest, ID: c.id}, &Binding{Method: m, Codec: raw.New()}, []byte("x"), nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		for range 4 {
			(&buffer.Buffer{B: make([]byte, 0, buffer.Small)}).Release()
		}
		for long.pace.Tier() != pace.Alone {
			long.pace.Stalled()
		}
		assign(short)
		assign(long)
		if j := rd.ready[len(rd.ready)-1].job; j.items[len(j.items)-1].ctx.Method != long || cap(j.mem) > 8<<10 {
			t.Errorf("the job of %d calls, with one that may be held for long, has a buffer of %d bytes", len(j.items), cap(j.mem))
		}
		rd.submit()
	}
	for range id {
		p.expect(wire.TypeReply)
	}
}

// heldCodec notes what is held while it decodes.
type heldCodec struct {
	codec.Codec
	m    *held.Memory
	held int64
}

func (c *heldCodec) Decode(body []byte, v any) error {
	c.held = c.m.Held()
	return c.Codec.Decode(body, v)
}

// What a message of a stream becomes when its compression is undone counts until it is decoded.
func TestRestoredMessagesAreCounted(t *testing.T) {
	const size, free = 1 << 20, 64 << 10
	m := held.New(64 << 20)
	r := newRig(t, setup{server: func(c *Config) { c.Memory = m }}, echo())
	mustEcho(t, r.client, "hello")
	comp := r.server.cfg.Compressors[0]
	body, err := comp.Compress([]byte{0}, make([]byte, size))
	if err != nil {
		t.Fatal(err)
	}
	st := newStream(r.server, false, t.Context(), 0)
	c := &heldCodec{Codec: raw.New(), m: m}
	st.codec = c
	var got []byte
	if err := st.decode(streams.Message{Body: body, Compressed: true}, &got); err != nil || len(got) != size {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if c.held < size-free {
		t.Errorf("%d bytes were counted while a message of 1 MiB was decoded", c.held)
	}
	if n := m.Held(); n != 0 {
		t.Errorf("%d bytes are counted afterwards", n)
	}
}

// A large message of a stream counts with its buffer also while it is decoded.
func TestReceivedMessagesAreCounted(t *testing.T) {
	const size, free = 1<<20 + 1000, 64 << 10
	emptyPools()
	m := held.New(64 << 20)
	c := &heldCodec{Codec: raw.New(), m: m}
	p := newStranger(t, func(c *Config) { c.Memory = m }, streaming("Sink.Once", func(_ *Context, st *Stream) *wire.Status {
		st.codec = c
		var b []byte
		_, status := st.Recv(&b)
		return status
	}))
	p.greet(nil)
	p.bind(0, "Sink.Once")
	p.request(0, 0, wire.FlagStream, "")
	h := wire.Header{Type: wire.TypeData, Flags: wire.FlagMore}
	for left := size; left > 0; left -= wire.MaxPayload {
		if left <= wire.MaxPayload {
			h.Flags = 0
		}
		p.send(h, make([]byte, min(left, wire.MaxPayload)))
		h.Type = wire.TypeChunk
	}
	if h, _ := p.expect(wire.TypeReply); h.ID != 0 {
		t.Fatalf("the stream was answered with %+v", h)
	}
	if c.held < 2<<20-free {
		t.Errorf("%d bytes were counted while a message in a buffer of 2 MiB was decoded", c.held)
	}
}

// The methods that a peer binds count, each once.
func TestBindingsAreCounted(t *testing.T) {
	m := held.New(64 << 20)
	p := newStranger(t, func(c *Config) { c.Memory, c.Limits.MaxBindings = m, 1000 }, echo())
	p.greet(nil)
	name := strings.Repeat("x", wire.MaxMethodName)
	for range 2 {
		for i := range uint16(500) {
			p.bind(i, name)
		}
		p.pong()
		if n := m.Held(); n < 500*wire.MaxMethodName-64<<10 || n > 500*2*wire.MaxMethodName {
			t.Errorf("%d bytes are counted of 500 methods with names of %d", n, wire.MaxMethodName)
		}
	}
}

// What all sessions hold together is bounded: beyond it new calls are refused, and the session ends
// that holds most when others go on to send what cannot be refused.
func TestMemoryOfAllSessions(t *testing.T) {
	m := held.New(4 << 20)
	release := make(chan struct{})
	defer close(release)
	modest := newRig(t, setup{server: func(c *Config) { c.Memory = m }}, echo(), stallOn(release))
	greedy := newRig(t, setup{noLeakCheck: true, server: func(c *Config) { c.Memory = m }}, echo(), stallOn(release))
	greedy.broken, modest.broken = true, true
	for range 5 {
		st := openStream(t, context.Background(), greedy.client, "Sink.Stall")
		if status := st.Send(pattern(1 << 20)); status != nil {
			break // it has ended already
		}
	}
	polltest.True(t, time.Minute, "the greedy session has ended, or the memory is full", func() bool {
		return greedy.server.Err() != nil || m.Held() > 4<<20
	})
	polltest.True(t, time.Minute, "a call is refused, or the greedy session has ended", func() bool {
		_, st := invoke(modest.client, "Echo.Say", string(pattern(70_000)))
		if st != nil && (st.Code != wire.ResourceExhausted || st.Outcome != wire.Refused) {
			t.Errorf("a call when the memory was full ended with %+v", st)
		}
		return st != nil || greedy.server.Err() != nil
	})
	if st, status := greedy.client.OpenStream(context.Background(), newCall("Sink.Stall", nil, nil)); status == nil {
		st.Send(pattern(1 << 20))
	}
	<-greedy.server.Done()
	if st := greedy.server.Err(); st.Code != wire.ResourceExhausted {
		t.Errorf("the session that held most ended with %+v", st)
	}
	polltest.True(t, time.Minute, "what it held is given back", func() bool { return m.Held() < 1<<20 })
	mustEcho(t, modest.client, "on")
}

// Handlers whose replies are known to be long count with them while they run: those for which there is
// no memory are not begun, and others are.
func TestExpectedRepliesAreCounted(t *testing.T) {
	const size = 256 << 10
	m := held.New(8 << 20)
	release := make(chan struct{})
	var running atomic.Int32
	answer := unary("Get.Large", func(_ *Context, body []byte) ([]byte, *wire.Status) {
		if len(body) > 0 {
			running.Add(1)
			<-release
		}
		return make([]byte, size), nil
	})
	r := newRig(t, setup{server: func(c *Config) { c.Memory = m }}, answer, echo())
	if _, st := invoke(r.client, "Get.Large", ""); st != nil {
		t.Fatal(st)
	}
	const calls, fit = 100, 24
	var refused atomic.Int32
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			st := do(context.Background(), r.client, newCall("Get.Large", []byte("wait"), nil))
			if st == nil {
				return
			}
			refused.Add(1)
			if st.Code != wire.ResourceExhausted || st.Outcome != wire.Refused {
				t.Errorf("a call for whose reply there is no room ended with %+v", st)
			}
		})
	}
	polltest.True(t, time.Minute, "each call runs or is refused", func() bool { return running.Load()+refused.Load() == calls })
	if n := running.Load(); n > fit+4 || n < fit/2 { // one may be counted a moment later than it waits
		t.Errorf("%d handlers run, want about %d", n, fit)
	}
	mustEcho(t, r.client, string(pattern(100_000)))
	// That buffers which are used again have room for more, and the peer does not read for a moment, ends no connection.
	for range fit {
		(&buffer.Buffer{B: make([]byte, 0, 4*size)}).Release()
	}
	r.clientConn.In().Stall()
	begun := int(running.Load())
	close(release)
	polltest.True(t, time.Minute, "the replies wait", func() bool {
		r.server.w.Lock()
		defer r.server.w.Unlock()
		return r.server.w.Large.Size() > (begun-2)*size
	})
	r.clientConn.In().Resume()
	within(t, time.Minute, "the calls", wg.Wait)
	polltest.True(t, time.Minute, "nothing is counted", func() bool { return m.Held() == 0 })
}

// soleConn notes when two goroutines read at the same time.
type soleConn struct {
	*mem.Conn
	reads atomic.Int32
	both  atomic.Bool
}

func (c *soleConn) Read(b []byte) (int, error) {
	if c.reads.Add(1) > 1 {
		c.both.Store(true)
	}
	defer c.reads.Add(-1)
	return c.Conn.Read(b)
}

// The peer of a session that ends because most is held for it is told so. Only the reader reads meanwhile: two goroutines would
// take bytes from each other, and the reader would take the rest of a message for frames.
func TestMemoryEndsSessionOnItsReader(t *testing.T) {
	leak.Check(t)
	cfg := newConfig(NewExecutor(), []*Method{echo()})
	cfg.Memory = held.New(1 << 20)
	client, server := mem.Pipe(nil)
	sole := &soleConn{Conn: server}
	p := &stranger{t: t, conn: client, cfg: cfg, accepted: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(p.accepted)
		p.s, p.refused = Accept(context.Background(), sole, cfg, nil)
		go p.s.Run(nil, func() { close(p.ended) })
	}()
	p.greet(nil)
	p.pong()
	p.s.in.account.Add(2 << 20) // as when messages come that cannot be refused
	p.expectGoAway(wire.ResourceExhausted)
	<-p.ended
	if st := p.s.Err(); st.Code != wire.ResourceExhausted || st.Reason != wire.ReasonTooManyBytes {
		t.Errorf("the session ended with %+v", st)
	}
	if sole.both.Load() {
		t.Error("two goroutines read from the connection")
	}
	client.Close()
	cfg.Exec.Close()
}
