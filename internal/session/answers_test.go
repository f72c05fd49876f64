package session

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/outbuf"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// strangeServer is a stranger that a real session has dialed.
func strangeServer(t *testing.T, hello *wire.Hello, changes ...func(*Config)) *stranger {
	t.Helper()
	leak.Check(t)
	client, server := mem.Pipe(nil)
	cfg := newConfig(NewExecutor(), []*Method{echo(), chat()})
	for _, change := range changes {
		change(cfg)
	}
	p := &stranger{t: t, conn: server, cfg: cfg, accepted: make(chan struct{})}
	go func() {
		defer close(p.accepted)
		if p.s, p.refused = Dial(context.Background(), client, cfg, ""); p.s != nil {
			go p.s.Run(nil, nil)
		}
	}()
	t.Cleanup(func() {
		p.conn.Close()
		<-p.accepted
		if p.s != nil {
			p.s.Close(closedHere())
		}
		cfg.Exec.Close()
	})
	if hello == nil {
		hello = strangerHello()
		hello.MaxCalls, hello.MaxBindings = 100, 100
	}
	p.greet(hello)
	return p
}

// serveOne reads a request and gives the header to answer it with.
func (p *stranger) serveOne() wire.Header {
	p.t.Helper()
	h, _ := p.expect(wire.TypeRequest)
	return wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: h.ID}
}

// What a client makes of a server's answers that break a rule: the call ends with
// a clear error, and the connection too where it must.
func TestBadAnswers(t *testing.T) {
	type answer struct {
		name    string
		give    func(p *stranger, h wire.Header)
		code    wire.Code
		outcome wire.Outcome
		lives   bool
	}
	chunked := func(typ wire.Type, flags wire.Flags, total int) func(p *stranger, h wire.Header) {
		return func(p *stranger, h wire.Header) {
			h.Type, h.Flags, h.Code = typ, h.Flags|flags|wire.FlagMore, 7
			p.send(h, make([]byte, wire.MaxPayload))
			h.Type, h.Flags, h.Code = wire.TypeChunk, wire.FlagAnswer|wire.FlagMore, 0
			for total -= wire.MaxPayload; total > wire.MaxPayload; total -= wire.MaxPayload {
				p.send(h, make([]byte, wire.MaxPayload))
			}
			h.Flags &^= wire.FlagMore
			p.send(h, make([]byte, total))
		}
	}
	plain := func(change func(h *wire.Header), payload []byte) func(p *stranger, h wire.Header) {
		return func(p *stranger, h wire.Header) {
			change(&h)
			p.send(h, payload)
		}
	}
	for _, tc := range []answer{
		{"error without a code", plain(func(h *wire.Header) { h.Type = wire.TypeError }, wire.AppendStatus(nil, &wire.Status{})), codeUnknown, wire.Executed, true},
		{"error with a strange code", plain(func(h *wire.Header) { h.Type, h.Code = wire.TypeError, 4711 }, wire.AppendStatus(nil, &wire.Status{})), codeUnknown, wire.Executed, true},
		{"refused error that cannot be read", plain(func(h *wire.Header) {
			h.Type, h.Code, h.Flags = wire.TypeError, 14, h.Flags|wire.FlagRefused
		}, []byte{1}), wire.Unavailable, wire.Refused, true},
		{"refused error with metadata that cannot be read", plain(func(h *wire.Header) {
			h.Type, h.Code, h.Flags = wire.TypeError, 14, h.Flags|wire.FlagRefused|wire.FlagMeta
		}, []byte{200, 0}), wire.Unavailable, wire.Refused, true},
		{"reply with metadata that cannot be read", plain(func(h *wire.Header) { h.Flags |= wire.FlagMeta }, []byte{200, 0}), wire.Internal, wire.Executed, true},
		{"reply with too much metadata", plain(func(h *wire.Header) { h.Flags |= wire.FlagMeta }, binary.LittleEndian.AppendUint16(nil, 50_000)), wire.ResourceExhausted, wire.Executed, true},
		{"compressed reply without a number", plain(func(h *wire.Header) { h.Flags |= wire.FlagCompressed }, nil), wire.Internal, wire.Executed, true},
		{"compressed reply with a strange number", plain(func(h *wire.Header) { h.Flags |= wire.FlagCompressed }, []byte{77, 1, 2}), wire.Internal, wire.Executed, true},
		{"reply that is too long", chunked(wire.TypeReply, 0, 5<<20), wire.ResourceExhausted, wire.Executed, true},
		{"error that is too long", chunked(wire.TypeError, wire.FlagRefused, 100_000), 7, wire.Refused, true},
		{"second answer", func(p *stranger, h wire.Header) { p.send(h, nil); p.send(h, nil) }, wire.OK, 0, false},
		{"answer to another generation", plain(func(h *wire.Header) { h.ID += 1 << 16 }, nil), wire.Unavailable, wire.OutcomeUnknown, false},
		{"answer to another slot", plain(func(h *wire.Header) { h.ID += 5 }, nil), wire.Internal, wire.OutcomeUnknown, false},
		{"answer to a slot without end", plain(func(h *wire.Header) { h.ID = 60_000 }, nil), wire.Internal, wire.OutcomeUnknown, false},
		{"begin of an answer to nothing", plain(func(h *wire.Header) { h.ID++; h.Flags |= wire.FlagMore }, []byte("x")), wire.Internal, wire.OutcomeUnknown, false},
		{"answer without the flag", plain(func(h *wire.Header) { h.Flags = 0 }, nil), wire.Internal, wire.OutcomeUnknown, false},
		{"reply in a reply", func(p *stranger, h wire.Header) {
			h.Flags |= wire.FlagMore
			p.send(h, []byte("x"))
			p.send(h, []byte("x"))
		}, wire.Internal, wire.OutcomeUnknown, false},
		{"error in a reply", func(p *stranger, h wire.Header) {
			h.Flags |= wire.FlagMore
			p.send(h, []byte("x"))
			p.send(wire.Header{Type: wire.TypeError, Flags: wire.FlagAnswer, Code: 5, ID: h.ID}, wire.AppendStatus(nil, &wire.Status{Message: "no"}))
			p.send(wire.Header{Type: wire.TypeChunk, Flags: wire.FlagAnswer, ID: h.ID}, []byte("forgotten"))
		}, 5, wire.Executed, true},
		{"goaway with an error", func(p *stranger, h wire.Header) {
			p.send(wire.Header{Type: wire.TypeGoAway, Code: 9}, []byte("no more"))
		}, wire.FailedPrecondition, wire.OutcomeUnknown, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := strangeServer(t, nil)
			result := make(chan *wire.Status, 1)
			go func() {
				_, st := invoke(p.s, "Echo.Say", "hello")
				result <- st
			}()
			tc.give(p, p.serveOne())
			st := <-result
			if st == nil {
				st = &wire.Status{}
			}
			if st.Code != tc.code || st.Outcome != tc.outcome {
				t.Errorf("the call ended with %+v, want code %d, outcome %d", st, tc.code, tc.outcome)
			}
			if tc.code == wire.ResourceExhausted && !strings.Contains(st.Message, "Limits.Max") {
				t.Errorf("%q does not name the setting of the limit", st.Message)
			}
			if (tc.name == "reply with too much metadata") != (st.Reason == wire.ReasonMetadataTooLarge) {
				t.Errorf("the reason is %q", st.Reason)
			}
			if tc.lives {
				p.pong()
				atRest(t, p.s)
				return
			}
			within(t, 10*time.Second, "the end of the session", func() { <-p.s.Done() })
		})
	}
}

// A reply that comes after its caller has given up frees the slot, and
// reaches no other call.
func TestLateAnswer(t *testing.T) {
	p := strangeServer(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan *wire.Status)
	go func() { result <- do(ctx, p.s, newCall("Echo.Say", nil, nil)) }()
	late := p.serveOne()
	cancel()
	if st := <-result; st == nil || st.Code != wire.Canceled {
		t.Errorf("the call ended with %+v", st)
	}
	p.expect(wire.TypeCancel)
	replies := make(chan string)
	for range 3 {
		go func() {
			got, _ := invoke(p.s, "Echo.Say", "x")
			replies <- got
		}()
		h := p.serveOne()
		if wire.Slot(h.ID) == wire.Slot(late.ID) {
			t.Error("the slot was used again before the final frame had come")
		}
		p.send(h, []byte("mine"))
		if got := <-replies; got != "mine" {
			t.Errorf("the call gave %q", got)
		}
	}
	p.send(late, []byte("too late"))
	p.pong()
	atRest(t, p.s)
}

// A server that refuses tells why.
func TestRefusedConnection(t *testing.T) {
	leak.Check(t)
	client, server := mem.Pipe(nil)
	cfg := newConfig(NewExecutor(), nil)
	cfg.Accept = func(_ *Session, credential string) *wire.Status {
		if credential != "token right" {
			return &wire.Status{Code: wire.Unauthenticated, Message: "unknown token"}
		}
		return nil
	}
	go Accept(context.Background(), server, cfg, nil)
	if _, st := Dial(context.Background(), client, cfg, "token wrong"); st == nil || st.Code != wire.Unauthenticated || st.Outcome != wire.NotSent || st.Message != "unknown token" {
		t.Errorf("dial ended with %+v", st)
	}
	r := newRig(t, setup{server: func(c *Config) {
		c.Accept = func(s *Session, credential string) *wire.Status {
			if s.Peer().Software != "weft-test" || credential != "" {
				return &wire.Status{Code: wire.Internal, Message: "the hello did not arrive"}
			}
			return nil
		}
	}}, echo())
	mustEcho(t, r.client, "let in")
}

// A client that is answered by something else says so.
func TestDialGarbage(t *testing.T) {
	leak.Check(t)
	for _, answer := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "\xf7weft\r\n\x02" + strings.Repeat("\x00", 100), wire.Preface + strings.Repeat("\xff", 16), ""} {
		client, server := mem.Pipe(nil)
		go func() {
			io.ReadFull(server, make([]byte, len(wire.Preface)))
			io.WriteString(server, answer)
			server.Close()
		}()
		s, st := Dial(context.Background(), client, newConfig(NewExecutor(), nil), "")
		if s != nil || st == nil || st.Outcome != wire.NotSent || st.Code != wire.Unavailable {
			t.Errorf("after %q dial ended with %+v, want Unavailable, NotSent", answer, st)
		}
	}
}

// A request that goes out together with the last words of a session may have been
// run: its caller is not told that it was not sent.
func TestLastWordsCarryRequests(t *testing.T) {
	p := strangeServer(t, nil)
	s := p.s
	c := newCall("Echo.Say", []byte("on its way"), nil)
	s.w.Lock() // as Session.open does, without a flush
	code, st := s.out.bindLocked("raw", "Echo.Say")
	if st != nil {
		t.Fatal(st)
	}
	id, sl := s.out.Take(0, 1)
	c.id, sl.At = id, s.w.PositionLocked()
	s.w.FrameLocked(wire.Header{Type: wire.TypeRequest, Code: code, ID: c.id}, []byte("on its way"))
	sl.Call.Store(c)
	s.w.Unlock()
	p.send(wire.Header{Type: wire.TypeHello}, nil)
	if _, payload := p.expect(wire.TypeRequest); string(payload) != "on its way" {
		t.Errorf("the request has the body %q", payload)
	}
	p.expect(wire.TypeGoAway)
	p.conn.CloseWrite()
	s.Wait(context.Background(), c)
	if c.Status == nil || c.Status.Outcome != wire.OutcomeUnknown {
		t.Errorf("the call ended with %+v, want Unknown", c.Status)
	}
}

// The reason that a peer gives for closing the connection arrives, though it closes
// while a large request is being written to it and does not read.
func TestReasonBeforeBrokenPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := strangeServer(t, nil)
		for range 2 * loneReplies {
			go func() { p.send(p.serveOne(), nil) }()
			if _, st := invoke(p.s, "Echo.Say", "x"); st != nil {
				t.Fatal(st)
			}
		}
		go func() {
			p.expect(wire.TypeRequest)
			p.conn.Out().Stall() // the write fails before the reason is read
			p.send(wire.Header{Type: wire.TypeGoAway, Code: 9}, []byte("no more"))
			p.conn.Close()
			time.Sleep(outbuf.Goodbye / 2)
			p.conn.Out().Resume()
		}()
		_, st := invoke(p.s, "Echo.Say", strings.Repeat("x", 1<<20))
		if st == nil || st.Code != wire.FailedPrecondition || st.Outcome != wire.OutcomeUnknown {
			t.Errorf("the call ended with %+v, want what the server said", st)
		}
	})
}

// A connection that takes nothing any more, and on which nothing comes, ends soon.
func TestBrokenWrite(t *testing.T) {
	leak.Check(t)
	cfg := newConfig(NewExecutor(), []*Method{echo()})
	defer cfg.Exec.Close()
	cc, sc := mem.Pipe(nil)
	conn := &halfBroken{Conn: cc}
	client, server, st1, st2 := connect(conn, sc, cfg, cfg)
	if st1 != nil || st2 != nil {
		t.Fatal(st1, st2)
	}
	defer server.Close(closedHere())
	conn.broken.Store(true)
	within(t, 10*time.Second, "the call", func() {
		if _, st := invoke(client, "Echo.Say", "x"); st == nil || st.Code != wire.Unavailable || !strings.Contains(st.Message, "write: ") {
			t.Errorf("the call ended with %+v, want the error of the write", st)
		}
	})
}

// halfBroken is a connection whose writes fail once it is broken.
type halfBroken struct {
	net.Conn
	broken atomic.Bool
}

func (c *halfBroken) Write(b []byte) (int, error) {
	if c.broken.Load() {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(b)
}

// An answer to a call that is not open yet ends the connection, and touches no call that
// takes the slot meanwhile: none waits longer than its time.
func TestAnswerAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := mem.Pipe(nil)
		started := make(chan *Call, 1)
		open := fast(unary("Open.Call", func(ctx *Context, _ []byte) ([]byte, *wire.Status) {
			c := newCall("Echo.Say", []byte("held"), nil)
			c.Timeout = int64(time.Second)
			if st := ctx.Session.Start(context.Background(), c); st != nil {
				t.Errorf("start: %+v", st)
			}
			started <- c
			return nil, nil
		}))
		cfg := newConfig(NewExecutor(), []*Method{open})
		defer cfg.Exec.Close()
		p := &stranger{t: t, conn: server, cfg: cfg, accepted: make(chan struct{})}
		go func() {
			defer close(p.accepted)
			if p.s, p.refused = Dial(context.Background(), client, cfg, ""); p.s != nil {
				go p.s.Run(nil, nil)
			}
		}()
		hello := strangerHello()
		hello.MaxCalls, hello.MaxBindings = 100, 100
		p.greet(hello)
		defer p.s.Close(closedHere())

		// The first call uses slot 0 and gives it back.
		done := make(chan *wire.Status, 1)
		go func() {
			_, st := invoke(p.s, "Echo.Say", "x")
			done <- st
		}()
		first := p.serveOne()
		p.send(first, nil)
		if st := <-done; st != nil {
			t.Fatal(st)
		}
		synctest.Wait()
		// In one read: the answer to the next call in that slot, and a request whose
		// handler opens it.
		next := wire.ID(wire.Slot(first.ID), uint16(first.ID>>16)+1)
		b := p.bytes(wire.Header{Type: wire.TypeBind}, wire.AppendBind(nil, "raw", "Open.Call"))
		b = append(b, p.bytes(wire.Header{Type: wire.TypeRequest, ID: wire.ID(0, 0)}, nil)...)
		ahead := p.bytes(wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: next}, []byte("forged"))
		p.write(append(ahead, b...))
		synctest.Wait()
		select {
		case c := <-started:
			// It must end, by an answer, its deadline or the end of the connection.
			other := newCall("Echo.Say", []byte("other"), nil)
			other.Timeout = int64(time.Second)
			p.s.Start(context.Background(), other)
			from := time.Now()
			p.s.Wait(context.Background(), c)
			if took := time.Since(from); took > time.Second {
				t.Errorf("the call ended after %v", took)
			}
		default:
		}
		time.Sleep(time.Second)
		if p.s.Err() == nil {
			t.Error("a session goes on whose peer answers calls that were not made")
		}
	})
}

// A peer that answers calls before it has got them shares no memory with their callers.
func TestAnswersWithoutRequests(t *testing.T) {
	leak.Check(t)
	for range 20 {
		client, server := mem.Pipe(nil)
		cfg := newConfig(NewExecutor(), nil)
		hello := strangerHello()
		hello.MaxCalls, hello.MaxBindings = 100, 100
		b := wire.AppendFrame([]byte(wire.Preface), wire.Header{Type: wire.TypeHello}, wire.AppendHello(nil, hello))
		go drainConn(server)
		go func() {
			server.Write(b)
			for gen := range uint16(20) {
				for slot := range uint32(2) {
					server.Write(wire.AppendFrame(nil, wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: wire.ID(slot, gen+1)}, nil))
				}
			}
		}()
		if s, _ := Dial(context.Background(), client, cfg, ""); s != nil {
			ended := make(chan struct{})
			go s.Run(nil, func() { close(ended) })
			var wg sync.WaitGroup
			for range 50 {
				c := newCall("Echo.Say", []byte("x"), nil)
				c.Oneway, c.Timeout = true, int64(time.Second)
				wg.Add(1)
				c.Async = func(c *Call) {
					c.Reset() // as its owner does, to use it again
					wg.Done()
				}
				if st := s.Start(context.Background(), c); st != nil {
					wg.Done()
				}
			}
			within(t, 10*time.Second, "the calls", wg.Wait)
			s.Close(closedHere())
			<-ended
		}
		client.Close()
		server.Close()
		cfg.Exec.Close()
	}
}

// A connection that the peer closes is not called lost; a limit is called by its setting,
// and the side's whose it is.
func TestWordsOfLimitsAndEnds(t *testing.T) {
	p := strangeServer(t, nil)
	p.conn.Close()
	<-p.s.Done()
	if st := p.s.Err(); st.Message != "connection closed by the peer" {
		t.Errorf("a closed connection ended with %q", st.Message)
	}
	large := unary("Get.Large", func(*Context, []byte) ([]byte, *wire.Status) { return pattern(2000), nil })
	r := newRig(t, setup{noLeakCheck: true, client: func(c *Config) { c.Limits.MaxMessage = 1000 }, server: func(c *Config) { c.Limits.MaxMessage = 3000 }}, large, echo())
	if _, st := invoke(r.client, "Echo.Say", string(pattern(4000))); st == nil || !strings.Contains(st.Message, "its receiver takes (Limits.MaxMessage of the receiver)") {
		t.Errorf("a request beyond the server's limit ended with %+v", st)
	}
	if _, st := invoke(r.client, "Get.Large", ""); st == nil || !strings.Contains(st.Message, "Limits.MaxMessage of the receiver") {
		t.Errorf("a reply beyond the client's limit ended with %+v", st)
	}
}
