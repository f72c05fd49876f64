package session

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/pace"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// rig is two sessions back to back over a connection in memory.
type rig struct {
	t              testing.TB
	client, server *Session
	// The ends of the connection; their faults are the tests'.
	clientConn, serverConn *mem.Conn

	execs  []*Executor
	broken bool // the test breaks the connection: nothing is asked of the tables
}

// setup is what one test wants to be different.
type setup struct {
	client, server func(*Config)
	pipe           *mem.PipeConfig
	before         func(client, server *mem.Conn) // before the hellos
	wrap           func(net.Conn) net.Conn        // the client's end of the connection
	bubble         bool                           // in a synctest bubble, which looks for leaks itself
	noLeakCheck    bool                           // the other rig of the test makes it
}

// newRig connects two sessions that both serve the given methods. It ends them
// after the test, and checks that nothing of any call is left.
func newRig(t testing.TB, o setup, methods ...*Method) *rig {
	t.Helper()
	if !o.bubble && !o.noLeakCheck {
		leak.Check(t)
	}
	r := &rig{t: t}
	ccfg, scfg := r.config(methods), r.config(methods)
	if o.client != nil {
		o.client(ccfg)
	}
	if o.server != nil {
		o.server(scfg)
	}
	r.clientConn, r.serverConn = mem.Pipe(o.pipe)
	if o.before != nil {
		o.before(r.clientConn, r.serverConn)
	}
	var st1, st2 *wire.Status
	var cc net.Conn = r.clientConn
	if o.wrap != nil {
		cc = o.wrap(cc)
	}
	r.client, r.server, st1, st2 = connect(cc, r.serverConn, ccfg, scfg)
	if st1 != nil || st2 != nil {
		t.Fatalf("handshake: client %+v, server %+v", st1, st2)
	}
	t.Cleanup(r.end)
	return r
}

// connect makes the two sessions of a connection.
func connect(cc, sc net.Conn, ccfg, scfg *Config) (client, server *Session, st1, st2 *wire.Status) {
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		if server, st2 = Accept(context.Background(), sc, scfg, nil); server != nil {
			go server.Run(nil, nil)
		}
	}()
	if client, st1 = Dial(context.Background(), cc, ccfg, ""); client != nil {
		go client.Run(nil, nil)
	} else {
		cc.Close()
	}
	<-accepted
	return client, server, st1, st2
}

func (r *rig) config(methods []*Method) *Config {
	e := NewExecutor()
	r.execs = append(r.execs, e)
	return newConfig(e, methods)
}

// newConfig is what a side has by default in these tests.
func newConfig(e *Executor, methods []*Method) *Config {
	return &Config{
		Limits: Limits{
			MaxMessage: 4 << 20, MaxMetadata: 16 << 10, MaxCalls: 16 << 10, MaxCallBytes: 64 << 20, MaxStreamBytes: 128 << 20, MaxOrdered: 1 << 10, MaxBindings: 1 << 10,
			StreamWindow: 256 << 10, WriteBuffer: 1 << 20, WriteTimeout: 10 * time.Second,
			PingInterval: 2 * time.Second, PingIdle: 30 * time.Second, PingTimeout: 3 * time.Second,
			DrainWait: 5 * time.Second, HandshakeTimeout: 5 * time.Second, CompressAbove: 1 << 10,
		},
		Codecs:      []string{"raw"},
		Compressors: []compress.Compressor{gzip.New()},
		Software:    "weft-test",
		Resolve:     resolver(methods),
		Exec:        e,
		Logger:      slog.New(slog.DiscardHandler),
	}
}

func resolver(methods []*Method) func(codec, name string) (*Binding, *wire.Status) {
	c := raw.New()
	return func(codecName, name string) (*Binding, *wire.Status) {
		if codecName != "raw" {
			return nil, &wire.Status{Code: wire.Unimplemented, Message: "there is no codec " + codecName}
		}
		for _, m := range methods {
			// "Echo.Say#7" is another name of "Echo.Say", to make many bindings.
			if base, _, _ := strings.Cut(name, "#"); base == m.Name {
				return &Binding{Method: m, Codec: c, Sizer: c.(codec.Sizer)}, nil
			}
		}
		return nil, &wire.Status{Code: wire.Unimplemented, Message: "there is no method " + name}
	}
}

// end ends both sessions. Before that it waits for both to be at rest.
func (r *rig) end() {
	if !r.broken {
		for _, s := range []*Session{r.client, r.server} {
			if s.Err() == nil {
				atRest(r.t, s)
			}
		}
	}
	r.client.Close(closedHere())
	r.server.Close(closedHere())
	for _, e := range r.execs {
		e.Close()
	}
}

// atRest waits until nothing of any call is left in a session, and fails the test
// if something stays.
func atRest(t testing.TB, s *Session) {
	t.Helper()
	var left string
	for range 6000 {
		if left = remains(s); left == "" {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("something is left of ended calls: %s", left)
}

// remains tells what a session that has no calls still holds.
func remains(s *Session) string {
	var left []string
	note := func(what string, n int) {
		if n != 0 {
			left = append(left, fmt.Sprintf("%s %d", what, n))
		}
	}
	note("running", int(s.in.running.Load()))
	note("arriving", int(s.in.arriving.Load()))
	note("bytes", int(s.in.bytes.Load()))
	note("unread", int(s.in.unread.Load()))
	table := 0
	s.in.each(func(*Context) { table++ })
	note("table", table)
	s.w.Lock()
	defer s.w.Unlock()
	note("open", s.out.Open())
	note("buffer", s.w.PendingLocked())
	note("bulk", s.w.Large.Len())
	note("bulk bytes", s.w.Large.Size())
	if !s.w.RestingLocked() {
		note("writer", 1)
	}
	return strings.Join(left, ", ")
}

// unary makes a method of a function on bytes.
func unary(name string, f func(ctx *Context, body []byte) ([]byte, *wire.Status)) *Method {
	return &Method{Name: name, Serve: func(r *Request) {
		if st := r.Open(); st != nil {
			r.Fail(st)
			return
		}
		reply, st := f(r.Ctx, r.Body)
		if st != nil {
			r.Fail(st)
			return
		}
		r.ReplyBytes(reply)
	}}
}

// fast makes a method run on the reader from its first call on.
func fast(m *Method) *Method {
	for range pace.Trial {
		m.pace.Observe(0, 1)
	}
	return m
}

// streaming makes a method of a function on a stream.
func streaming(name string, f func(ctx *Context, st *Stream) *wire.Status) *Method {
	return &Method{Name: name, Streaming: true, Serve: func(r *Request) {
		if st := f(r.Ctx, r.Ctx.Stream()); st != nil {
			r.Fail(st)
			return
		}
		r.ReplyBytes(nil)
	}}
}

// echo answers with what it gets.
func echo() *Method {
	return unary("Echo.Say", func(_ *Context, body []byte) ([]byte, *wire.Status) { return body, nil })
}

// chat sends every message of a stream back.
func chat() *Method {
	return streaming("Echo.Chat", func(_ *Context, st *Stream) *wire.Status {
		for {
			var b []byte
			more, status := st.Recv(&b)
			if !more {
				return status
			}
			if status := send(st, b); status != nil {
				return status
			}
		}
	})
}

// wait waits until its context ends, and returns that error.
func wait() *Method {
	return unary("Echo.Wait", func(ctx *Context, _ []byte) ([]byte, *wire.Status) {
		<-ctx.Done()
		return nil, ended(ctx)
	})
}

// ended is what a handler answers whose context has ended.
func ended(ctx context.Context) *wire.Status {
	st := &wire.Status{Code: wire.Canceled, Outcome: wire.Executed, Message: "canceled"}
	if ctx.Err() == context.DeadlineExceeded {
		st.Code, st.Message = wire.DeadlineExceeded, "deadline exceeded"
	}
	return st
}

// newCall makes a call of a method with a body, to be changed before it is started.
func newCall(method string, body []byte, reply *[]byte) *Call {
	c := NewCall()
	z := raw.New()
	c.Method, c.Codec, c.Args = method, z, body
	if reply != nil {
		c.Reply = reply
	}
	return c
}

// do makes a call and waits for its end.
func do(ctx context.Context, s *Session, c *Call) *wire.Status {
	if st := s.Start(ctx, c); st != nil {
		return st
	}
	s.Wait(ctx, c)
	s.Finish(c)
	return c.Status
}

// invoke makes a plain call.
func invoke(s *Session, method, body string) (string, *wire.Status) {
	var reply []byte
	c := newCall(method, []byte(body), &reply)
	c.Timeout = int64(20 * time.Second)
	st := do(context.Background(), s, c)
	return string(reply), st
}

// mustEcho fails the test when a simple call does not work.
func mustEcho(t testing.TB, s *Session, body string) {
	t.Helper()
	if got, st := invoke(s, "Echo.Say", body); st != nil || got != body {
		t.Fatalf("echo of %d bytes gave %d bytes, %+v", len(body), len(got), st)
	}
}

// openStream opens a stream.
func openStream(t testing.TB, ctx context.Context, s *Session, method string) *Stream {
	t.Helper()
	st, status := s.OpenStream(ctx, newCall(method, nil, nil))
	if status != nil {
		t.Fatalf("open %s: %+v", method, status)
	}
	return st
}

func send(st *Stream, b []byte) *wire.Status { return st.Send(b) }

// recv receives a message; nil at the end.
func recv(st *Stream) ([]byte, *wire.Status) {
	b := []byte{}
	more, status := st.Recv(&b)
	if !more {
		return nil, status
	}
	return b, nil
}

// within fails the test when f takes longer than d.
func within(t testing.TB, d time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("%s took longer than %v", what, d)
	}
}

// pattern is a body of n bytes.
func pattern(n int) []byte {
	const period = 1 << 16
	b := make([]byte, n)
	for i := range min(n, period) {
		b[i] = byte(i*7 + i>>8)
	}
	for at := period; at < n; {
		at += copy(b[at:], b[:period])
	}
	return b
}
