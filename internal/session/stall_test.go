package session

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/internal/backlog"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/outbuf"
	"github.com/weftrpc/weft/internal/pace"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/internal/stall"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

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
		if m.pace.Tier() == pace.Inline {
			return
		}
	}
	t.Fatalf("the method is still not fast: %v", &m.pace)
}

// A handler that blocks on the reader holds up the other calls of the connection
// until the monitor has looked twice, and when it goes on doing so its calls leave the reader.
func TestStallOnReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := moody(release)
		r := newRig(t, setup{bubble: true}, m, fast(echo()))
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
			synctest.Wait() // its handler blocks
			for i := range 20 {
				from := time.Now()
				mustEcho(t, r.client, "me too")
				if took := time.Since(from); took > stall.LookRarely+2*time.Millisecond {
					t.Errorf("round %d: call %d behind a blocked handler took %v", round, i, took)
				}
			}
		}
		if tier := m.pace.Tier(); tier != pace.Alone {
			t.Errorf("the method runs in tier %d after it has blocked four times, want %d", tier, pace.Alone)
		}
		close(release)
		blocked.Wait()
	})
}

// slowly is a codec that takes its time, as one does that encodes megabytes.
type slowly struct{ codec.Codec }

func (c slowly) Append(dst []byte, v any) ([]byte, error) {
	time.Sleep(2 * pace.ChunkMean)
	return c.Codec.Append(dst, v)
}

// A method whose handler is fast and whose reply takes long to encode leaves the
// reader: it would hold up the other calls of the connection as a slow handler does.
func TestSlowReplyLeavesReader(t *testing.T) {
	m := fast(&Method{Name: "Be.Long", Serve: func(r *Request) {
		body := slices.Clone(r.Body)
		r.Codec, r.Sizer = slowly{r.Codec}, nil
		r.Reply(&body)
	}})
	r := newRig(t, setup{}, m)
	// One call in pace.SampleEvery counts on the reader, for a sixteenth of the mean each.
	for range 32 * pace.SampleEvery {
		if _, st := invoke(r.client, m.Name, "long"); st != nil {
			t.Fatal(st)
		}
	}
	if tier := m.pace.Tier(); tier != pace.Alone {
		t.Errorf("the method runs in tier %d, want %d: %v", tier, pace.Alone, &m.pace)
	}
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
				p.write(batch)
				for range 7 { // while the blocked call goes on
					if h, payload := p.expect(wire.TypeReply); string(payload) != "quick" {
						t.Errorf("call %d was answered with %q", h.ID, payload)
					}
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

// What the monitor has taken work from it forgets, as everything that is quiet.
func TestMonitorForgets(t *testing.T) {
	release := make(chan struct{})
	m := moody(release)
	r := newRig(t, setup{}, m, echo())
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if _, st := invoke(r.client, "Be.Moody", "block"); st != nil {
				t.Errorf("a call ended with %+v", st)
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	close(release)
	wg.Wait()
	polltest.True(t, time.Minute, "nothing is watched when nothing runs", func() bool { return r.execs[1].watch.Len() == 0 })
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

// A side whose peer does not read goes on reading what the peer sends.
func TestReadsWhileWriteStalls(t *testing.T) {
	var counted atomic.Int32
	count := fast(unary("Count.Up", func(*Context, []byte) ([]byte, *wire.Status) { counted.Add(1); return nil, nil }))
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
	within(t, 10*time.Second, "the calls behind a stalled write", func() {
		for counted.Load() < 50 {
			time.Sleep(time.Millisecond)
		}
	})
	cancel()
	r.client.Wait(ctx, waiting)
	within(t, 10*time.Second, "a cancel behind a stalled write", func() { <-over })
	r.clientConn.In().Resume()
	for _, c := range calls {
		r.client.Wait(context.Background(), c)
		if c.Status != nil {
			t.Errorf("a call ended with %+v", c.Status)
		}
	}
}

// A caller that writes for all, on a connection that takes nothing, is not held
// beyond its deadline; what it was writing is not torn.
func TestDeadlineWhileWriting(t *testing.T) {
	for name, wrap := range map[string]func(net.Conn) net.Conn{
		"plain":   func(c net.Conn) net.Conn { return c },
		"wrapped": func(c net.Conn) net.Conn { return struct{ net.Conn }{c} }, // as TLS does: no write goes on
	} {
		t.Run(name, func(t *testing.T) { deadlineWhileWriting(t, wrap) })
	}
}

func deadlineWhileWriting(t *testing.T, wrap func(net.Conn) net.Conn) {
	client, server, frozen := overSocket(t, wrap, echo())
	mustEcho(t, client, "warm")
	frozen.frozen.Store(true)
	defer frozen.thaw()
	within(t, time.Minute, "calls with a timeout of 2ms", func() {
		for range 300 { // more than the system holds
			c := newCall("Echo.Say", pattern(16_000), nil)
			c.Timeout = int64(2 * time.Millisecond)
			if st := do(context.Background(), client, c); st == nil || st.Code != wire.DeadlineExceeded {
				t.Errorf("a call ended with %+v", st)
				return
			}
		}
	})
	frozen.thaw()
	for range 10 {
		mustEcho(t, client, "thawed")
	}
	client.Close(closedHere())
	server.Close(closedHere())
}

// A sender on a stream that writes for all is not held beyond the end of its context either.
func TestStreamEndsWhileWriting(t *testing.T) {
	for name, wrap := range map[string]func(net.Conn) net.Conn{
		"plain":   func(c net.Conn) net.Conn { return c },
		"wrapped": func(c net.Conn) net.Conn { return struct{ net.Conn }{c} },
	} {
		t.Run(name, func(t *testing.T) {
			sink := streaming("Sink.All", func(_ *Context, st *Stream) *wire.Status {
				for {
					var b []byte
					if more, status := st.Recv(&b); !more {
						return status
					}
				}
			})
			client, server, frozen := overSocket(t, wrap, echo(), sink)
			mustEcho(t, client, "warm")
			frozen.frozen.Store(true)
			defer frozen.thaw()
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			st := openStream(t, ctx, client, "Sink.All")
			defer context.AfterFunc(ctx, st.ContextEnded)()
			within(t, time.Minute, "a sender on a stream with 50 ms to go", func() {
				for st.Send(pattern(16_000)) == nil { // more than the system holds
				}
			})
			frozen.thaw()
			mustEcho(t, client, "thawed")
			client.Close(closedHere())
			server.Close(closedHere())
		})
	}
}

// overSocket connects two sessions by a socket that holds little. The server stops reading when it is told to.
func overSocket(t *testing.T, wrap func(net.Conn) net.Conn, methods ...*Method) (client, server *Session, frozen *frozenConn) {
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
	frozen = &frozenConn{Conn: sc, thawed: make(chan struct{})}
	frozen.thaw = sync.OnceFunc(func() { close(frozen.thawed) })
	ccfg, scfg := newConfig(NewExecutor(), nil), newConfig(NewExecutor(), methods)
	scfg.Limits.StreamWindow = 4 << 20
	for _, c := range []*Config{ccfg, scfg} { // what is held up is so for as long as the server does not read
		c.Limits.PingInterval, c.Limits.WriteTimeout = 0, 0
	}
	t.Cleanup(ccfg.Exec.Close)
	t.Cleanup(scfg.Exec.Close)
	client, server, st1, st2 := connect(wrap(cc), frozen, ccfg, scfg)
	if st1 != nil || st2 != nil {
		t.Fatal(st1, st2)
	}
	return client, server, frozen
}

// frozenConn stops reading when it is told to.
type frozenConn struct {
	net.Conn
	frozen atomic.Bool
	thawed chan struct{}
	thaw   func() // closes thawed
}

func (c *frozenConn) Read(b []byte) (int, error) {
	if c.frozen.Load() {
		<-c.thawed
	}
	return c.Conn.Read(b)
}

// The end of a session is told when it has come, though a handler still holds up
// the goroutine that read.
func TestEndWhileStalled(t *testing.T) {
	release := make(chan struct{})
	began := make(chan struct{})
	p := newStranger(t, nil, fast(&Method{Name: "Hang.On", Serve: func(r *Request) {
		close(began)
		<-release
		r.ReplyBytes(nil)
	}}))
	defer close(release)
	p.greet(nil)
	p.bind(0, "Hang.On")
	p.request(0, 0, 0, "")
	<-began
	p.conn.Close()
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
		t.Error("ended was not called")
	}
}

// The same when a handler ends the goroutine.
func TestEndAfterExit(t *testing.T) {
	p := newStranger(t, nil, fast(&Method{Name: "Exit.Now", Serve: func(r *Request) {
		runtime.Goexit()
	}}))
	p.greet(nil)
	p.bind(0, "Exit.Now")
	p.request(0, 0, 0, "")
	p.pong()
	p.conn.Close()
	<-p.ended
}

// The end is told once, though a caller that reads for itself is held up in a write
// when the goroutine at the gate sees it, and another reader goes on for the caller.
func TestEndIsToldOnce(t *testing.T) {
	leak.Check(t)
	for range 5 {
		client, server := mem.Pipe(nil)
		conn := &lateConn{Conn: client, writing: make(chan struct{}), closed: make(chan struct{})}
		cfg := newConfig(NewExecutor(), nil)
		cfg.Resolve = nil
		p := &stranger{t: t, conn: server, cfg: cfg, accepted: make(chan struct{})}
		var ended atomic.Int32
		run := make(chan struct{})
		go func() {
			defer close(p.accepted)
			if p.s, p.refused = Dial(context.Background(), conn, cfg, ""); p.s != nil {
				go func() {
					defer close(run)
					p.s.Run(nil, func() { ended.Add(1) })
				}()
			}
		}()
		hello := strangerHello()
		hello.MaxCalls, hello.MaxBindings = 100, 100
		p.greet(hello)

		atGate := func(state uint32) bool {
			g := p.s.direct.gate.Load()
			return g != nil && g.state.Load() == state
		}
		var caller sync.WaitGroup
		caller.Go(func() {
			for i := 0; i < 2*loneReplies || !atGate(gateFree); i++ {
				invoke(p.s, "A.B", "")
			}
			invoke(p.s, "A.Last", "")
		})
		for {
			h, payload, err := p.read()
			if err != nil {
				t.Fatal(err)
			}
			if h.Type == wire.TypeBind && strings.HasSuffix(string(payload), "A.Last") {
				break
			}
			if h.Type == wire.TypeRequest {
				p.send(wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: h.ID}, nil)
			}
		}
		for !atGate(gateTaken) {
			time.Sleep(100 * time.Microsecond)
		}
		conn.late.Store(true)
		p.send(wire.Header{Type: wire.TypePing}, []byte("12345678")) // the answer is to be written
		<-conn.writing
		p.s.Close(closedHere())
		<-run
		caller.Wait()
		p.conn.Close()
		cfg.Exec.Close()
		if n := ended.Load(); n != 1 {
			t.Fatalf("the end was told %d times", n)
		}
	}
}

// lateConn has writes that end some time after the connection was closed, when it is
// told to: as on a machine that is busy.
type lateConn struct {
	net.Conn
	late            atomic.Bool
	writing, closed chan struct{}
	once            sync.Once
}

func (c *lateConn) Write(b []byte) (int, error) {
	if !c.late.Load() {
		return c.Conn.Write(b)
	}
	close(c.writing)
	<-c.closed
	time.Sleep(2 * stall.LookRarely)
	return 0, net.ErrClosed
}

func (c *lateConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// A peer that does not read has a server hold the replies that its limits allow, and no
// more, whatever the handlers return: few are encoded, and of the others only so many wait that
// they are bounded too, though their sizes are known only when they are encoded.
func TestSlowReaderHoldsLittle(t *testing.T) {
	// On a machine that stands still for backlog.Patience while the replies are read, more of them are dropped.
	for try := 1; ; try++ {
		got, want := repliesOfSlowReader(t)
		if got >= want {
			return
		}
		if try == 5 {
			t.Fatalf("%d replies were encoded and calls ended well, want at least %d", got, want)
		}
		t.Logf("%d replies were encoded and calls ended well, want at least %d; once more", got, want)
	}
}

// repliesOfSlowReader returns how many calls ended well whose replies were held up, and how many of the replies there is room for.
func repliesOfSlowReader(t *testing.T) (got, want int32) {
	t.Helper()
	const calls, size = 200, 1 << 20
	var encoded atomic.Int32
	release := make(chan struct{})
	answer := &Method{Name: "Get.Large", Serve: func(r *Request) {
		<-release // so that all have one to give at the same time
		r.Codec = countingCodec{r.Codec, &encoded}
		r.Sizer = nil
		r.Reply(make([]byte, size))
	}}
	r := newRig(t, smallBuffers(), answer, echo())
	r.clientConn.In().Stall()
	done := make(chan *wire.Status, calls)
	for range calls {
		c := newCall("Get.Large", nil, nil)
		go func() { done <- do(context.Background(), r.client, c) }()
	}
	polltest.True(t, time.Minute, "all handlers run", func() bool { return r.server.in.running.Load() == calls })
	close(release)
	const most = outbuf.MaxBulk/size + backlog.Turns + 4
	polltest.True(t, time.Minute, "replies are dropped, and others wait", func() bool {
		n := r.server.in.backlog.Waiting()
		return n > backlog.MaxWaiting/2 && n <= backlog.MaxWaiting
	})
	if n := encoded.Load(); n > most {
		t.Errorf("%d replies of 1 MiB are held, want at most %d", n, most)
	}
	r.clientConn.In().Resume()
	good := int32(0)
	for range calls {
		switch st := <-done; {
		case st == nil:
			good++
		case st.Code != wire.ResourceExhausted || st.Outcome != wire.Executed || st.Reason != wire.ReasonSlowReader:
			t.Fatalf("a call ended with %+v", st)
		}
	}
	if n := encoded.Load(); n != good {
		t.Errorf("%d replies were encoded and %d calls ended well, want the same", n, good)
	}
	mustEcho(t, r.client, "on")
	return good, outbuf.MaxBulk/size + backlog.MaxWaiting/size
}

// A peer that reads slowly gets all replies, and few handlers run meanwhile that begin when
// replies wait.
func TestCrowdedConnectionBeginsFew(t *testing.T) {
	const calls, size = 600, 100_000
	var running, peak atomic.Int32
	answer := unary("Get.Large", func(*Context, []byte) ([]byte, *wire.Status) {
		n := running.Add(1)
		defer running.Add(-1)
		for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
		}
		time.Sleep(5 * time.Millisecond)
		return make([]byte, size), nil
	})
	r := newRig(t, smallBuffers(), answer, echo())
	r.clientConn.In().Stall()
	done := make(chan *wire.Status, 2*calls)
	begin := func() {
		for range calls {
			c := newCall("Get.Large", nil, nil)
			go func() { done <- do(context.Background(), r.client, c) }()
		}
	}
	begin()
	polltest.True(t, time.Minute, "the connection is crowded", func() bool { return r.server.in.backlog.Crowded() && running.Load() == 0 })
	peak.Store(0)
	begin()
	polltest.True(t, time.Minute, "the calls have arrived", func() bool { return r.server.in.running.Load() >= 2*calls-outbuf.MaxBulk/size-1 })
	if n := peak.Load(); n != 0 {
		t.Errorf("%d handlers have begun while replies wait", n)
	}
	r.clientConn.In().Resume()
	for range 2 * calls {
		if st := <-done; st != nil {
			t.Fatalf("a call ended with %+v", st)
		}
	}
}

// A handler whose caller has given up does not wait until the peer reads.
func TestReplyOfEndedCallWaitsNotLonger(t *testing.T) {
	const calls = 100
	answer := unary("Get.Large", func(ctx *Context, _ []byte) ([]byte, *wire.Status) { return make([]byte, 1<<20), nil })
	r := newRig(t, smallBuffers(), answer, echo())
	r.clientConn.In().Stall()
	done := make(chan *wire.Status, calls)
	for range calls {
		c := newCall("Get.Large", nil, nil)
		c.Timeout = int64(300 * time.Millisecond)
		go func() { done <- do(context.Background(), r.client, c) }()
	}
	for range calls {
		if st := <-done; st == nil || st.Code != wire.DeadlineExceeded {
			t.Errorf("a call of a peer that does not read ended with %+v", st)
		}
	}
	polltest.True(t, time.Minute, "the handlers have ended that wait for a turn", func() bool {
		return r.server.in.backlog.Waiting() == 0
	})
	r.clientConn.In().Resume()
	mustEcho(t, r.client, "on")
}

// smallBuffers has few replies fill the server's buffer, and no side look for a dead connection.
func smallBuffers() setup {
	quiet := func(c *Config) { c.Limits.WriteBuffer, c.Limits.PingInterval, c.Limits.WriteTimeout = 64<<10, 0, 0 }
	return setup{client: quiet, server: quiet}
}

// countingCodec counts what it encodes.
type countingCodec struct {
	codec.Codec
	n *atomic.Int32
}

func (c countingCodec) Append(dst []byte, v any) ([]byte, error) {
	c.n.Add(1)
	return c.Codec.Append(dst, v)
}

// The monitor does not keep a session that has ended: a server to which clients connect for one call would hold thousands.
func TestEndedSessionsAreNotWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newStranger(t, nil, echo())
		p.greet(nil)
		if n := p.cfg.Exec.watch.Len(); n != 1 {
			t.Fatalf("%d sessions are watched, want 1", n)
		}
		p.conn.Close()
		time.Sleep(stall.LookRarely)
		if n := p.cfg.Exec.watch.Len(); n != 0 {
			t.Errorf("%d sessions are watched after the end of the only one", n)
		}
	})
}
