package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// nap answers after a while.
func nap(d time.Duration) *Method {
	return unary("Take.Nap", func(ctx *Context, b []byte) ([]byte, *wire.Status) {
		select {
		case <-time.After(d):
			return b, nil
		case <-ctx.Done():
			return nil, ended(ctx)
		}
	})
}

// A drain lets every call end, in both directions, and takes no longer than they do.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{bubble: true}, nap(3*time.Second), echo(), chat())
		var wg sync.WaitGroup
		for _, s := range []*Session{r.client, r.server} {
			for range 20 {
				wg.Go(func() {
					if got, st := invoke(s, "Take.Nap", "zzz"); st != nil || got != "zzz" {
						t.Errorf("a call that was open gave %q, %+v", got, st)
					}
				})
			}
		}
		stream := openStream(t, context.Background(), r.client, "Echo.Chat")
		synctest.Wait()
		from := time.Now()
		drained := make(chan bool)
		go func() { drained <- r.server.Drain(nil, "going down") }()
		synctest.Wait()
		if r.client.Usable() {
			t.Error("the client takes the session for usable")
		}
		_, st := invoke(r.client, "Echo.Say", "x")
		if st == nil || st.Code != wire.Unavailable || st.Outcome != wire.NotSent || st.Reason != wire.ReasonDraining {
			t.Errorf("a call after the goaway: %+v, want Unavailable, NotSent, DRAINING", st)
		}
		// What is open goes on.
		stream.Send([]byte("still"))
		if b, status := recv(stream); string(b) != "still" {
			t.Errorf("the stream gave %q, %+v", b, status)
		}
		wg.Wait()
		time.Sleep(time.Second)
		stream.CloseSend()
		if b, status := recv(stream); b != nil || status != nil {
			t.Errorf("the stream ended with %d bytes, %+v", len(b), status)
		}
		if !<-drained {
			t.Error("the drain left calls open")
		}
		near(t, "the drain ended", time.Since(from), 4*time.Second, 50*time.Millisecond)
		r.server.Leave(time.Second)
		<-r.client.Done()
		near(t, "the session ended", time.Since(from), 4*time.Second, 50*time.Millisecond)
		if st := r.client.Err(); st.Reason != wire.ReasonDraining {
			t.Errorf("the client's session ended with %+v", st)
		}
	})
}

// Both sides may drain at once.
func TestDrainBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{bubble: true}, nap(time.Second))
		var wg sync.WaitGroup
		for _, s := range []*Session{r.client, r.server} {
			wg.Go(func() {
				if _, st := invoke(s, "Take.Nap", ""); st != nil {
					t.Errorf("a call that was open: %+v", st)
				}
			})
		}
		synctest.Wait()
		from := time.Now()
		for _, s := range []*Session{r.client, r.server} {
			for range 2 { // a second Drain gives the same result
				wg.Go(func() {
					if !s.Drain(nil, "bye") {
						t.Error("the drain left calls open")
					}
					s.Leave(time.Second)
				})
			}
		}
		wg.Wait()
		near(t, "both drains ended", time.Since(from), time.Second, 10*time.Millisecond)
	})
}

// A peer that does not acknowledge the goaway gets its calls refused after DrainWait.
func TestDrainWithoutAck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newStranger(t, func(c *Config) { c.Limits.DrainWait = 50 * time.Millisecond }, echo(), wait())
		p.greet(nil)
		p.bind(0, "Echo.Say")
		p.bind(1, "Echo.Wait")
		p.send(wire.Header{Type: wire.TypeRequest, Code: 1, ID: 7}, nil)
		p.pong()
		stop := make(chan struct{})
		drained := make(chan bool, 1)
		go func() { drained <- p.s.Drain(stop, "going down") }()
		p.expect(wire.TypeGoAway)
		p.request(0, 0, 0, "served")
		if _, payload := p.expect(wire.TypeReply); string(payload) != "served" {
			t.Errorf("a call before the ack gave %q", payload)
		}
		for gen := uint16(1); ; gen++ {
			p.request(0, gen, 0, "late")
			h, _, err := p.read()
			if err != nil {
				t.Fatal(err)
			}
			if h.Type == wire.TypeError {
				if wire.Code(h.Code) != wire.Unavailable || h.Flags&wire.FlagRefused == 0 {
					t.Errorf("a late call was answered with %+v, want Unavailable, REFUSED", h)
				}
				break
			}
			if gen > 500 {
				t.Fatal("late calls are served for ever")
			}
			time.Sleep(time.Millisecond)
		}
		close(stop)
		if <-drained {
			t.Error("the drain says that all calls have ended, one has not")
		}
		p.s.CancelIncoming(&wire.Status{Code: wire.Unavailable, Reason: "SHUTDOWN", Outcome: wire.Executed, Message: "time is up"})
		if h, _ := p.expect(wire.TypeError); wire.Code(h.Code) != wire.Unavailable || h.ID != 7 || h.Flags&wire.FlagRefused != 0 {
			t.Errorf("the call that was cut was answered with %+v, want Unavailable without REFUSED", h)
		}
	})
}

// An acknowledged drain refuses at once what comes behind the ack.
func TestDrainAfterAck(t *testing.T) {
	p := newStranger(t, nil, echo(), wait())
	p.greet(nil)
	p.bind(0, "Echo.Wait")
	p.request(5, 0, 0, "")
	p.pong()
	go p.s.Drain(p.s.Done(), "going down")
	p.expect(wire.TypeGoAway)
	p.request(6, 0, 0, "")
	p.send(wire.Header{Type: wire.TypeGoAway, Flags: wire.FlagAck}, nil)
	for !p.s.in.turned.Load() {
		time.Sleep(time.Millisecond)
	}
	p.request(7, 0, 0, "")
	if h, _ := p.expect(wire.TypeError); h.ID != 7 || wire.Code(h.Code) != wire.Unavailable || h.Flags&wire.FlagRefused == 0 {
		t.Errorf("a call behind the ack was answered with %+v", h)
	}
	for _, slot := range []uint32{5, 6} {
		p.send(wire.Header{Type: wire.TypeCancel, Code: 1, ID: wire.ID(slot, 0)}, nil)
		if h, _ := p.expect(wire.TypeError); h.ID != slot || h.Flags&wire.FlagRefused != 0 {
			t.Errorf("a call before the ack was answered with %+v", h)
		}
	}
}

// A large request that is half sent when the goaway comes is finished; one of
// which nothing was sent is not begun.
func TestDrainLargeRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 8
		r := newRig(t, setup{bubble: true, pipe: &mem.PipeConfig{Buffer: 4 << 10}}, echo())
		r.serverConn.In().Stall()
		var begun, unsent atomic.Int32
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				var reply []byte
				c := newCall("Echo.Say", pattern(300_000), &reply)
				switch st := do(context.Background(), r.client, c); {
				case st == nil && len(reply) == 300_000:
					begun.Add(1)
				case st != nil && st.Outcome == wire.NotSent && st.Reason == wire.ReasonDraining:
					unsent.Add(1)
				default:
					t.Errorf("a large call gave %d bytes, %+v", len(reply), st)
				}
			})
		}
		synctest.Wait()
		drained := make(chan bool)
		go func() { drained <- r.server.Drain(nil, "going down") }()
		synctest.Wait()
		r.serverConn.In().Resume()
		if !<-drained {
			t.Error("the drain left calls open")
		}
		r.server.Leave(time.Second)
		wg.Wait()
		if begun.Load() == 0 || unsent.Load() == 0 {
			t.Errorf("%d calls were finished and %d not begun, want some of both", begun.Load(), unsent.Load())
		}
	})
}

// A call that runs on the reader, and is in no table, is waited for as well.
func TestDrainWaitsForReader(t *testing.T) {
	for range 10 {
		began := make(chan struct{})
		p := newStranger(t, func(c *Config) { c.Limits.DrainWait = time.Nanosecond }, fast(unary("Be.Brief", func(*Context, []byte) ([]byte, *wire.Status) {
			close(began)
			time.Sleep(2 * time.Millisecond)
			return []byte("done"), nil
		})))
		p.greet(nil)
		p.bind(0, "Be.Brief")
		p.request(0, 0, 0, "")
		<-began
		go func() {
			p.s.Drain(nil, "going down")
			p.s.Leave(time.Second)
		}()
		if _, payload := p.expect(wire.TypeReply); string(payload) != "done" {
			t.Errorf("the call gave %q", payload)
		}
		p.conn.Close()
		<-p.s.Done()
	}
}

// All goroutines that wait for a session to settle are woken.
func TestSettleTellsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{bubble: true}, nap(time.Second))
		go invoke(r.client, "Take.Nap", "")
		synctest.Wait()
		stop := make(chan struct{})
		time.AfterFunc(time.Hour, func() { close(stop) })
		from := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if !r.server.Settle(stop) {
					t.Error("the session has not settled")
				}
			})
		}
		wg.Wait()
		near(t, "all were told", time.Since(from), time.Second, 50*time.Millisecond)
	})
}

// Handlers that ignore the end of their context are cut off, and what they return
// later is thrown away.
func TestCutIncoming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stubborn := unary("Be.Stubborn", func(*Context, []byte) ([]byte, *wire.Status) {
			time.Sleep(time.Minute)
			return []byte("at last"), nil
		})
		r := newRig(t, setup{bubble: true}, stubborn)
		result := make(chan *wire.Status, 1)
		go func() {
			_, st := invoke(r.client, "Be.Stubborn", "")
			result <- st
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if r.server.Drain(ctx.Done(), "going down") {
			t.Error("the drain says that all calls have ended")
		}
		st := &wire.Status{Code: wire.Unavailable, Reason: "SHUTDOWN", Outcome: wire.Executed, Message: "time is up"}
		r.server.CancelIncoming(st)
		r.server.CutIncoming(st)
		r.server.Leave(time.Second)
		if got := <-result; got == nil || got.Reason != "SHUTDOWN" || got.Outcome != wire.Executed {
			t.Errorf("the call ended with %+v", got)
		}
		time.Sleep(time.Hour)
	})
}

// Leave does not discard the last replies to a peer that is still writing and reads
// late.
func TestLeaveKeepsReplies(t *testing.T) {
	leak.Check(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 20 {
		leaveOnce(t, l)
	}
}

func leaveOnce(t *testing.T, l net.Listener) {
	const calls = 200
	var served atomic.Int32
	cfg := newConfig(NewExecutor(), []*Method{unary("Count.Up", func(*Context, []byte) ([]byte, *wire.Status) {
		served.Add(1)
		return pattern(2000), nil
	})})
	defer cfg.Exec.Close()
	cfg.Limits.DrainWait = time.Millisecond
	left := make(chan struct{})
	go func() {
		defer close(left)
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		s, st := Accept(context.Background(), conn, cfg, nil)
		if st != nil {
			t.Error(st)
			return
		}
		go s.Run(nil, nil)
		for served.Load() < calls {
			time.Sleep(100 * time.Microsecond)
		}
		s.Drain(nil, "going down")
		s.Leave(time.Minute) // it ends with the connection, which the client closes
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	b := append([]byte(wire.Preface), wire.AppendFrame(nil, wire.Header{Type: wire.TypeHello}, wire.AppendHello(nil, strangerHello()))...)
	b = wire.AppendFrame(b, wire.Header{Type: wire.TypeBind}, wire.AppendBind(nil, "raw", "Count.Up"))
	for i := range calls {
		b = wire.AppendFrame(b, wire.Header{Type: wire.TypeRequest, ID: uint32(i)}, nil)
	}
	conn.Write(b)
	// It writes on, and never acknowledges the goaway.
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				conn.Write(wire.AppendFrame(nil, wire.Header{Type: wire.TypePing}, []byte("12345678")))
				time.Sleep(2 * time.Millisecond)
			}
		}
	})
	time.Sleep(15 * time.Millisecond)
	replies, err := countReplies(conn)
	close(stop)
	wg.Wait()
	conn.Close()
	<-left
	if replies != calls || !errors.Is(err, io.EOF) {
		t.Errorf("%d replies of %d came, then %v", replies, calls, err)
	}
}

// The reason why a connection was closed is not lost to a reset, though the peer was
// still sending and reads late.
func TestGoAwayArrives(t *testing.T) {
	leak.Check(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := newConfig(NewExecutor(), nil)
	defer cfg.Exec.Close()
	for range 10 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			conn, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			if s, st := Accept(context.Background(), conn, cfg, nil); st == nil {
				s.Run(nil, nil)
			}
		}()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		b := append([]byte(wire.Preface), wire.AppendFrame(nil, wire.Header{Type: wire.TypeHello}, wire.AppendHello(nil, strangerHello()))...)
		b = wire.AppendFrame(b, wire.Header{Type: wire.TypeRequest}, nil) // on a binding that was not made
		conn.Write(append(b, make([]byte, 300_000)...))
		time.Sleep(10 * time.Millisecond)
		conn.(*net.TCPConn).CloseWrite()
		conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		got, err := io.ReadAll(conn)
		if err != nil || !bytes.Contains(got, []byte("binding 0")) {
			t.Errorf("%q came, then %v", got, err)
		}
		conn.Close()
		<-ended
	}
}

// countReplies reads to the end of the connection.
func countReplies(conn net.Conn) (n int, err error) {
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	b, err := io.ReadAll(conn)
	if err == nil {
		err = io.EOF
	}
	for b = b[min(len(b), len(wire.Preface)):]; len(b) >= wire.HeaderSize; {
		h := wire.ParseHeader(b)
		size := wire.HeaderSize + int(binary.LittleEndian.Uint32(b))
		if size > len(b) {
			break
		}
		if h.Type == wire.TypeReply {
			n++
		}
		b = b[size:]
	}
	return n, err
}

// A second concurrent Drain also waits for the calls that are on their way here.
func TestDrainTogether(t *testing.T) {
	p := newStranger(t, nil, echo())
	p.greet(nil)
	p.bind(0, "Echo.Say")
	p.pong()
	drained := make(chan bool, 2)
	go func() { drained <- p.s.Drain(p.s.Done(), "going down") }()
	p.expect(wire.TypeGoAway)
	go func() { drained <- p.s.Drain(p.s.Done(), "going down") }()
	select {
	case <-drained:
		t.Fatal("a drain ended before the peer had agreed")
	case <-time.After(50 * time.Millisecond):
	}
	p.request(5, 0, 0, "x")
	p.send(wire.Header{Type: wire.TypeGoAway, Flags: wire.FlagAck}, nil)
	p.expect(wire.TypeReply)
	for range 2 {
		if !<-drained {
			t.Error("a call was left")
		}
	}
}
