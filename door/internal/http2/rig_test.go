package http2

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/internal/session"
)

const patience = 20 * time.Second

// words is a vocabulary that keeps nothing.
type words struct{}

func (words) Name([]byte) hpack.Kind        { return hpack.Other }
func (words) Look(f *hpack.Field, v []byte) { f.Value = string(v) }

// echo is a handler that answers a stream with its body, when it has ended.
type echo struct {
	t    *testing.T
	conn *Conn
	path string

	mu       sync.Mutex
	size     uint32 // the most that a block has given to Field
	now      uint32
	tooLarge int
	closed   []*Ending
	bodies   map[*Stream][]byte
	hold     chan struct{} // streams of the path /hold run until it is closed
	headers  chan Block    // of a client
	apart    bool          // streams of the path /hold are not answered
	keeps    bool          // what comes is not given back
}

func (e *echo) Field(f *hpack.Field) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f == nil {
		e.now = 0
		return
	}
	if f.Kind == hpack.Path {
		e.path = f.Value
	}
	e.now += f.Size
	e.size = max(e.size, e.now)
}

func (e *echo) Open() *Stream { return new(Stream) }

func (e *echo) Headers(st *Stream, b Block) bool {
	e.mu.Lock()
	if b.TooLarge {
		e.tooLarge++
	}
	e.mu.Unlock()
	if over, ok := st.Owner.(chan struct{}); ok {
		if b.End {
			over <- struct{}{}
		}
		return true
	}
	if e.headers != nil {
		e.headers <- b
		return true
	}
	if b.End {
		return e.answer(st, nil)
	}
	return true
}

func (e *echo) Data(st *Stream, p []byte, end bool) bool {
	e.mu.Lock()
	e.bodies[st] = append(e.bodies[st], p...)
	body := e.bodies[st]
	if end {
		delete(e.bodies, st)
	}
	e.mu.Unlock()
	if !end {
		if !e.keeps {
			e.conn.GiveLater(st, len(p))
		}
		return true
	}
	if e.headers != nil {
		return true
	}
	return e.answer(st, body)
}

// answer answers a stream where it was read, also if that takes long.
func (e *echo) answer(st *Stream, body []byte) (stays bool) {
	holds := e.path == "/hold"
	if holds && e.apart {
		return true
	}
	turn := e.conn.Guard().Enter()
	if holds {
		<-e.hold
	}
	e.conn.Lock()
	if e.conn.OpenLocked(st) {
		at := e.conn.StartHeadersLocked(st, false)
		e.conn.SetBufferLocked(e.conn.Enc.Static(e.conn.BufferLocked(), hpack.Static200))
		e.conn.EndHeadersLocked(at)
		e.conn.QueueDataLocked(st, body, true, nil)
	}
	e.conn.Unlock()
	if e.conn.Guard().Leave(turn) {
		return true
	}
	e.conn.Lock()
	e.conn.FlushAndUnlock(false)
	return false
}

func (e *echo) Closed(st *Stream, why *Ending) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = append(e.closed, why)
	if over, ok := st.Owner.(chan struct{}); ok {
		over <- struct{}{}
	}
}

func config(exec *session.Executor) Config {
	return Config{Tables: hpack.NewTables(words{}), Vocabulary: words{}, MaxStreams: 100, StreamWindow: 64 << 10, MaxHeader: 8 << 10,
		WriteBuffer: 1 << 20, WriteTimeout: 5 * time.Second, Go: exec.Go,
		Guard: func(f func()) Guard { return exec.Guard(f) }}
}

// pair makes a connection and the raw other end of it.
func pair(t *testing.T, change func(*Config)) (*echo, *raw) {
	t.Helper()
	return pairOn(t, func(nc net.Conn) net.Conn { return nc }, change)
}

// pairOn is pair for a connection on what wrap returns.
func pairOn(t *testing.T, wrap func(net.Conn) net.Conn, change func(*Config)) (*echo, *raw) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	there, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	here, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	exec := session.NewExecutor()
	cfg := config(exec)
	if change != nil {
		change(&cfg)
	}
	e := &echo{t: t, bodies: make(map[*Stream][]byte), hold: make(chan struct{})}
	if cfg.Client {
		e.headers = make(chan Block, 1000)
	}
	e.conn = New(wrap(here), e, cfg)
	if cfg.Client {
		e.conn.Lock()
		e.conn.FlushAndUnlock(false)
	}
	exec.Go(e.conn.Run)
	r := &raw{t: t, conn: there}
	t.Cleanup(func() {
		there.Close()
		e.conn.Close(errors.New("the test has ended"))
		select {
		case <-e.hold:
		default:
			close(e.hold)
		}
		exec.Close()
	})
	return e, r
}

// raw is the other end of a connection, which writes and reads frames.
type raw struct {
	t    *testing.T
	conn net.Conn
	buf  []byte
	enc  hpack.Encoder
}

// frame is one that has come.
type frame struct {
	typ, flags byte
	id         uint32
	payload    []byte
}

func (r *raw) add(typ, flags byte, id uint32, payload ...byte) *raw {
	r.buf = append(appendFrame(r.buf, len(payload), typ, flags, id), payload...)
	return r
}

// greet sends what a client begins with.
func (r *raw) greet() *raw {
	r.buf = append(r.buf, Preface...)
	return r.add(typeSettings, 0, 0)
}

// get adds a request.
func (r *raw) get(id uint32, path string, end bool) *raw {
	b := r.enc.Static(r.enc.Static(nil, hpack.StaticPOST), hpack.StaticHTTP)
	b = r.enc.Literal(b, ":path", path)
	flags := byte(flagEndHeaders)
	if end {
		flags |= flagEndStream
	}
	return r.add(typeHeaders, flags, id, b...)
}

// send writes what was added. The connection may be closed meanwhile.
func (r *raw) send() *raw {
	b := r.buf
	r.buf = nil
	_ = r.conn.SetWriteDeadline(time.Now().Add(patience))
	_, _ = r.conn.Write(b)
	return r
}

// next reads a frame; ok is false when the connection has ended.
func (r *raw) next() (f frame, ok bool) {
	r.t.Helper()
	_ = r.conn.SetReadDeadline(time.Now().Add(patience))
	var h [headerSize]byte
	if _, err := io.ReadFull(r.conn, h[:]); err != nil {
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			r.t.Fatal("no frame came")
		}
		return f, false
	}
	f = frame{typ: h[3], flags: h[4], id: number31(h[5:]), payload: make([]byte, int(h[0])<<16|int(h[1])<<8|int(h[2]))}
	if _, err := io.ReadFull(r.conn, f.payload); err != nil {
		return f, false
	}
	return f, true
}

// until reads frames until one of a type comes.
func (r *raw) until(typ byte, id uint32) frame {
	r.t.Helper()
	for {
		f, ok := r.next()
		if !ok {
			r.t.Fatalf("the connection ended before a frame of type %d of stream %d", typ, id)
		}
		if f.typ == typ && f.id == id && (typ != typeSettings || f.flags&flagAck == 0) {
			return f
		}
	}
}

// goAway reads to the end of the connection, and returns the code of its GOAWAY.
func (r *raw) goAway() ErrCode {
	r.t.Helper()
	code := ErrCode(99)
	for {
		f, ok := r.next()
		if !ok {
			return code
		}
		if f.typ == typeGoAway {
			code = ErrCode(binary.BigEndian.Uint32(f.payload[4:]))
		}
	}
}

// code is that of an RST_STREAM.
func (f frame) code() ErrCode { return ErrCode(binary.BigEndian.Uint32(f.payload)) }

func (c *Conn) streamsOpen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open.Len()
}
