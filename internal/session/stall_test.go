package session

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/wire"
)

// patience is how long a stalled handler may hold up others on its connection.
const patience = 50 * time.Millisecond

// moody is fast until its body is "block"; then it waits for release.
func moody(release chan struct{}) *Method {
	return unary("Be.Moody", func(_ *Context, b []byte) ([]byte, *wire.Status) {
		if string(b) == "block" {
			<-release
		}
		return b, nil
	})
}

// warm calls a method until it runs on the reader.
func warm(t *testing.T, s *Session, m *Method) {
	t.Helper()
	for range 1000 {
		if _, st := invoke(s, m.Name, "warm"); st != nil {
			t.Fatal(st)
		}
		if m.pace.tier() == inline {
			return
		}
	}
	t.Fatalf("the method is still not fast: mean %d ns, slow %d", m.pace.mean.Load(), m.pace.slow.Load())
}

// A handler that blocks on the reader holds up the other calls of the connection
// for a moment only, and when it goes on doing so its calls leave the reader.
func TestStallOnReader(t *testing.T) {
	release := make(chan struct{})
	m := moody(release)
	r := newRig(t, setup{}, m, echo())
	var blocked sync.WaitGroup
	for round := range 4 {
		if round < 3 {
			warm(t, r.client, m)
		}
		blocked.Go(func() {
			if _, st := invoke(r.client, "Be.Moody", "block"); st != nil {
				t.Errorf("the blocked call ended with %+v", st)
			}
		})
		time.Sleep(5 * time.Millisecond)
		for i := range 20 {
			from := time.Now()
			mustEcho(t, r.client, "me too")
			if took := time.Since(from); took > patience {
				t.Errorf("round %d: call %d behind a blocked handler took %v", round, i, took)
			}
		}
	}
	if tier := m.pace.tier(); tier != alone {
		t.Errorf("the method runs in tier %d after it has blocked four times, want %d", tier, alone)
	}
	close(release)
	blocked.Wait()
}

// Calls that came in one piece with one that blocks are answered all the same,
// those before it and those behind it.
func TestStallInChunk(t *testing.T) {
	for _, blocker := range []int{0, 3, 7} {
		for _, tier := range []string{"chunk", "reader"} {
			t.Run(fmt.Sprintf("%d,%s", blocker, tier), func(t *testing.T) {
				release := make(chan struct{})
				m := moody(release)
				if tier == "reader" {
					fast(m)
				}
				p := newStranger(t, nil, m)
				p.greet(nil)
				p.bind(0, "Be.Moody")
				p.pong()
				var batch []byte
				for i := range 8 {
					body := "quick"
					if i == blocker {
						body = "block"
					}
					batch = append(batch, p.bytes(wire.Header{Type: wire.TypeRequest, ID: uint32(i)}, []byte(body))...)
				}
				from := time.Now()
				p.write(batch)
				for range 7 {
					if h, payload := p.expect(wire.TypeReply); string(payload) != "quick" {
						t.Errorf("call %d was answered with %q", h.ID, payload)
					}
				}
				if took := time.Since(from); took > 2*patience {
					t.Errorf("the calls beside a blocked one took %v", took)
				}
				close(release)
				if h, payload := p.expect(wire.TypeReply); h.ID != uint32(blocker) || string(payload) != "block" {
					t.Errorf("call %d was answered with %q", h.ID, payload)
				}
				atRest(t, p.s)
			})
		}
	}
}

// A request whose time is over when the call before it has stalled is not run.
func TestDeadlineBehindStall(t *testing.T) {
	release := make(chan struct{})
	var ran atomic.Int32
	m := fast(moody(release))
	quick := fast(unary("Count.Up", func(*Context, []byte) ([]byte, *wire.Status) { ran.Add(1); return nil, nil }))
	p := newStranger(t, nil, m, quick)
	p.greet(nil)
	p.bind(0, "Be.Moody")
	p.bind(1, "Count.Up")
	p.pong()
	batch := p.bytes(wire.Header{Type: wire.TypeRequest}, []byte("block"))
	p.write(append(batch, p.bytes(wire.Header{Type: wire.TypeRequest, Code: 1, ID: 1, Arg: 500}, nil)...))
	if h, _ := p.expect(wire.TypeError); wire.Code(h.Code) != wire.DeadlineExceeded || h.Flags&wire.FlagRefused == 0 {
		t.Errorf("the answer is %+v, want DeadlineExceeded, REFUSED", h)
	}
	close(release)
	p.expect(wire.TypeReply)
	if ran.Load() != 0 {
		t.Error("a call whose time was over ran")
	}
}

// A side whose peer does not read goes on reading what the peer says.
func TestReadsWhileWriteStalls(t *testing.T) {
	var heard atomic.Int32
	count := fast(unary("Count.Up", func(*Context, []byte) ([]byte, *wire.Status) { heard.Add(1); return nil, nil }))
	large := fast(unary("Get.Large", func(*Context, []byte) ([]byte, *wire.Status) { return pattern(16_000), nil }))
	began, over := make(chan struct{}), make(chan struct{})
	hang := unary("Wait.Long", func(ctx *Context, _ []byte) ([]byte, *wire.Status) {
		close(began)
		<-ctx.Done()
		close(over)
		return nil, ended(ctx)
	})
	r := newRig(t, setup{}, count, large, hang)
	ctx, cancel := context.WithCancel(context.Background())
	start := func(ctx context.Context, method string) *Call {
		c := newCall(method, nil, nil)
		if st := r.client.Start(ctx, c); st != nil {
			t.Fatal(st)
		}
		return c
	}
	var calls []*Call
	waiting := start(ctx, "Wait.Long")
	<-began
	r.clientConn.In().Stall()
	for range 20 {
		calls = append(calls, start(context.Background(), "Get.Large"))
	}
	time.Sleep(30 * time.Millisecond)
	for range 50 {
		calls = append(calls, start(context.Background(), "Count.Up"))
	}
	within(t, 2*time.Second, "the calls behind a stalled write", func() {
		for heard.Load() < 50 {
			time.Sleep(time.Millisecond)
		}
	})
	cancel()
	r.client.Wait(ctx, waiting)
	within(t, 2*time.Second, "a cancel behind a stalled write", func() { <-over })
	r.clientConn.In().Resume()
	for _, c := range calls {
		r.client.Wait(context.Background(), c)
		if c.Status != nil {
			t.Errorf("a call ended with %+v", c.Status)
		}
	}
}

// A handler that panics costs its caller the call, and nobody else anything. The
// caller learns nothing of the stack or the arguments, the log does.
func TestPanics(t *testing.T) {
	for _, tier := range []string{"worker", "reader", "stream"} {
		t.Run(tier, func(t *testing.T) {
			m := unary("Be.Clumsy", func(_ *Context, b []byte) ([]byte, *wire.Status) { panic("secret " + string(b)) })
			if tier == "reader" {
				fast(m)
			}
			if tier == "stream" {
				m = streaming("Be.Clumsy", func(_ *Context, st *Stream) *wire.Status {
					b, _ := recv(st)
					panic("secret " + string(b))
				})
			}
			var log lockedBuilder
			r := newRig(t, setup{server: func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) }}, m, echo())
			for range 20 {
				var st *wire.Status
				if tier == "stream" {
					s := openStream(t, context.Background(), r.client, "Be.Clumsy")
					s.Send([]byte("password"))
					_, st = recv(s)
				} else {
					_, st = invoke(r.client, "Be.Clumsy", "password")
				}
				if st == nil || st.Code != wire.Internal || st.Outcome != wire.Executed || strings.Contains(fmt.Sprint(st), "secret") {
					t.Errorf("the call ended with %+v", st)
				}
				mustEcho(t, r.client, "next")
			}
			if got := log.String(); !strings.Contains(got, "secret password") || !strings.Contains(got, "stall_test.go") {
				t.Errorf("the log does not tell what and where: %.300s", got)
			}
		})
	}
}

// A handler that ends its goroutine is answered for.
func TestGoexit(t *testing.T) {
	for _, inlined := range []bool{false, true} {
		m := unary("Go.Exit", func(*Context, []byte) ([]byte, *wire.Status) {
			runtime.Goexit()
			return nil, nil
		})
		if inlined {
			fast(m)
		}
		r := newRig(t, setup{}, m, echo())
		for range 3 {
			if _, st := invoke(r.client, "Go.Exit", ""); st == nil || st.Code != wire.Internal || st.Outcome != wire.Executed {
				t.Errorf("inline %v: the call ended with %+v", inlined, st)
			}
			mustEcho(t, r.client, "next")
		}
		r.end()
	}
}

// lockedBuilder is a strings.Builder for several goroutines.
type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A context that a handler keeps is over for ever, and never another call's.
func TestKeptContext(t *testing.T) {
	var mu sync.Mutex
	kept := make(map[string]*Context)
	keep := func(ctx *Context, b []byte) ([]byte, *wire.Status) {
		if len(b) > 0 {
			mu.Lock()
			kept[string(b)] = ctx
			mu.Unlock()
			ctx.Done()
		}
		return b, nil
	}
	for _, m := range []*Method{unary("Keep.It", keep), fast(unary("Keep.It", keep))} {
		r := newRig(t, setup{}, m)
		call := func(body string, deadline int64) {
			c := newCall("Keep.It", []byte(body), nil)
			c.Meta, c.Deadline = string(wire.AppendPair(nil, "me", body)), deadline
			if st := do(context.Background(), r.client, c); st != nil {
				t.Fatal(st)
			}
		}
		for i := range 50 {
			call(fmt.Sprint("call", i), now()+int64(time.Minute)*int64(i+1))
			for range 20 {
				call("", 0)
			}
		}
		for body, ctx := range kept {
			select {
			case <-ctx.Done():
			default:
				t.Errorf("the context of %s is not done", body)
			}
			if ctx.Err() != context.Canceled {
				t.Errorf("the context of %s says %v", body, ctx.Err())
			}
			if want := string(wire.AppendPair(nil, "me", body)); ctx.Meta() != want {
				t.Errorf("the context of %s has the metadata %q", body, ctx.Meta())
			}
			due, ok := ctx.Deadline()
			var i int
			fmt.Sscanf(body, "call%d", &i)
			if left := time.Until(due); !ok || left < time.Duration(i)*time.Minute || left > time.Duration(i+1)*time.Minute+time.Second {
				t.Errorf("the context of %s has a deadline in %v", body, left)
			}
		}
		r.end()
	}
}

// What descends from a handler's context ends with the call, by itself.
func TestContextChildren(t *testing.T) {
	leak.Check(t)
	var after atomic.Int32
	children := make(chan context.Context, 100)
	r := newRig(t, setup{noLeakCheck: true}, unary("Make.Children", func(ctx *Context, b []byte) ([]byte, *wire.Status) {
		type mine struct{}
		child, cancel := context.WithCancel(context.WithValue(ctx, mine{}, 1))
		timed, stop := context.WithTimeout(child, time.Hour)
		if FromContext(timed) != ctx {
			t.Error("the call is not found in a context that descends from its own")
		}
		context.AfterFunc(timed, func() { after.Add(1) })
		unused := context.AfterFunc(ctx, func() { t.Error("a function that was taken back ran") })
		if !unused() || unused() {
			t.Error("taking a function back did not work")
		}
		children <- child
		children <- timed
		_, _ = cancel, stop // kept by nobody
		return b, nil
	}))
	for range 20 {
		if _, st := invoke(r.client, "Make.Children", ""); st != nil {
			t.Fatal(st)
		}
	}
	within(t, 5*time.Second, "the end of all children", func() {
		for range 40 {
			<-(<-children).Done()
		}
		for after.Load() < 20 {
			time.Sleep(time.Millisecond)
		}
	})
}

// A call that is read when the session has just ended is over at once, and so is
// one that is read when the handlers were just told to stop.
func TestCallAfterTheEnd(t *testing.T) {
	for _, stop := range []func(s *Session){
		func(s *Session) { s.Close(closedHere()) },
		func(s *Session) { s.CancelIncoming(&wire.Status{Code: wire.Unavailable, Message: "stop"}) },
	} {
		r := newRig(t, setup{}, echo())
		r.broken = true
		stop(r.server)
		c := &Context{Session: r.server, Method: echo(), id: 5}
		if err := r.server.in.put(c); err != nil {
			t.Fatal(err)
		}
		if c.Err() != context.Canceled {
			t.Error("the context of a call that came too late goes on")
		}
		r.end()
	}
}

// The end of a connection ends the contexts and streams of all its calls, also of
// those that were read in the same moment.
func TestLostConnection(t *testing.T) {
	for i := range 40 {
		var running atomic.Int32
		hang := unary("Wait.On", func(ctx *Context, _ []byte) ([]byte, *wire.Status) {
			running.Add(1)
			defer running.Add(-1)
			<-ctx.Done()
			return nil, ended(ctx)
		})
		if i%2 == 0 {
			fast(hang)
		}
		hangStream := streaming("Recv.On", func(ctx *Context, st *Stream) *wire.Status {
			running.Add(1)
			defer running.Add(-1)
			_, status := recv(st)
			return status
		})
		p := quietStranger(t, nil, hang, hangStream)
		p.greet(nil)
		p.bind(0, "Wait.On")
		p.bind(1, "Recv.On")
		var batch []byte
		for slot := range uint32(100) {
			h := wire.Header{Type: wire.TypeRequest, ID: slot}
			if slot%2 == 0 {
				h.Code, h.Flags = 1, wire.FlagStream
			}
			batch = append(batch, p.bytes(h, nil)...)
		}
		go p.s.Close(closedHere())
		p.write(batch)
		p.conn.Close()
		<-p.s.Done()
		within(t, 5*time.Second, "the end of all handlers", func() {
			for range 3 {
				time.Sleep(2 * time.Millisecond)
				for running.Load() > 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
}

// A caller that writes for all, on a connection that takes nothing, is not held
// beyond its deadline; what it was writing is not torn.
func TestDeadlineWhileWriting(t *testing.T) {
	leak.Check(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	sc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	cc.(*net.TCPConn).SetWriteBuffer(64 << 10)
	sc.(*net.TCPConn).SetReadBuffer(64 << 10)
	frozen := &frozenConn{Conn: sc, thawed: make(chan struct{})}
	ccfg, scfg := newConfig(NewExecutor(), nil), newConfig(NewExecutor(), []*Method{echo()})
	defer ccfg.Exec.Close()
	defer scfg.Exec.Close()
	client, server, st1, st2 := connect(cc, frozen, ccfg, scfg)
	if st1 != nil || st2 != nil {
		t.Fatal(st1, st2)
	}
	mustEcho(t, client, "warm")
	frozen.frozen.Store(true)
	var slowest time.Duration
	for range 300 { // more than the system holds
		c := newCall("Echo.Say", pattern(16_000), nil)
		c.Timeout = int64(2 * time.Millisecond)
		from := time.Now()
		if st := do(context.Background(), client, c); st == nil || st.Code != wire.DeadlineExceeded {
			t.Fatalf("a call ended with %+v", st)
		}
		slowest = max(slowest, time.Since(from))
	}
	if slowest > 500*time.Millisecond {
		t.Errorf("a call with a timeout of 2ms took %v", slowest)
	}
	close(frozen.thawed)
	for range 10 {
		mustEcho(t, client, "thawed")
	}
	client.Close(closedHere())
	server.Close(closedHere())
}

// frozenConn stops reading when it is told to.
type frozenConn struct {
	net.Conn
	frozen atomic.Bool
	thawed chan struct{}
}

func (c *frozenConn) Read(b []byte) (int, error) {
	if c.frozen.Load() {
		<-c.thawed
	}
	return c.Conn.Read(b)
}
