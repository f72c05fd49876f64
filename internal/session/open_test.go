package session

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// opened is a session of Open whose server is the test.
type opened struct {
	*stranger
	ended atomic.Int32
}

func openTo(t *testing.T, change func(*Config)) *opened {
	t.Helper()
	cfg := newConfig(NewExecutor(), nil)
	cfg.Resolve = nil
	if change != nil {
		change(cfg)
	}
	client, server := mem.Pipe(nil)
	o := &opened{stranger: &stranger{t: t, conn: server, cfg: cfg, accepted: make(chan struct{}), ended: make(chan struct{})}}
	o.s = Open(client, cfg, "")
	o.s.Attend(nil, func() { o.ended.Add(1) })
	t.Cleanup(func() {
		o.s.Close(closedHere())
		server.Close()
		cfg.Exec.Close()
		synctest.Wait()
		if n := o.ended.Load(); n != 1 {
			t.Errorf("the end of the session was told %d times", n)
		}
	})
	return o
}

// greeting reads the client's preface and hello.
func (o *opened) greeting() {
	o.t.Helper()
	o.await(len(wire.Preface))
	if got := string(o.buf[:len(wire.Preface)]); got != wire.Preface {
		o.t.Fatalf("the client began with %q", got)
	}
	o.buf = o.buf[len(wire.Preface):]
	if h, _, err := o.read(); err != nil || h.Type != wire.TypeHello {
		o.t.Fatalf("the first frame is %+v, %v", h, err)
	}
}

// hello answers the client's.
func (o *opened) hello(change func(*wire.Hello)) {
	h := &wire.Hello{MaxMessage: 1 << 20, MaxMetadata: 16 << 10, MaxCalls: 100, MaxBindings: 100, StreamWindow: 1 << 16, Codecs: []string{"raw"}, Compressors: []string{"gzip"}}
	if change != nil {
		change(h)
	}
	o.write(wire.AppendFrame([]byte(wire.Preface), wire.Header{Type: wire.TypeHello}, wire.AppendHello(nil, h)))
}

// come reports what has come of the client by now.
func (o *opened) come() []byte {
	synctest.Wait()
	o.conn.SetReadDeadline(time.Now().Add(time.Nanosecond))
	var b [64 << 10]byte
	n, _ := o.conn.Read(b[:])
	o.buf = append(o.buf, b[:n]...)
	return o.buf
}

// call makes a call on a goroutine of its own.
func (o *opened) call(c *Call) chan *wire.Status {
	done := make(chan *wire.Status, 1)
	go func() { done <- do(context.Background(), o.s, c) }()
	return done
}

// The first call leaves together with the hello, and reads its reply itself.
func TestFirstFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openTo(t, nil)
		var reply []byte
		done := o.call(newCall("Echo.Say", []byte("early"), &reply))
		o.greeting()
		o.expect(wire.TypeBind)
		h, body := o.expect(wire.TypeRequest)
		if string(body) != "early" || len(o.buf) != 0 {
			t.Errorf("the request is %q, %d bytes follow", body, len(o.buf))
		}
		if o.s.Met() {
			t.Error("the server is known before it has said anything")
		}
		o.hello(nil)
		o.send(wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: h.ID}, []byte("late"))
		if st := <-done; st != nil || string(reply) != "late" {
			t.Errorf("the call ended with %+v, %q", st, reply)
		}
		if !o.s.Met() || !o.s.direct.unattended() {
			t.Errorf("known %v, unattended %v, want both", o.s.Met(), o.s.direct.unattended())
		}
		time.Sleep(3 * firstLook)
		if o.s.direct.unattended() {
			t.Error("nothing reads what the server says unasked")
		}
	})
}

// Without a call the hello leaves by itself, soon; a session that ends before says nothing.
func TestHelloWithoutCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openTo(t, nil)
		from := time.Now()
		o.greeting()
		near(t, "the hello came", time.Since(from), firstLook, 2*firstLook)
		o.hello(nil)
		synctest.Wait()
		if !o.s.Met() {
			t.Error("the server's hello was not read")
		}
		quiet := openTo(t, nil)
		quiet.s.Close(closedHere())
		if b := quiet.come(); len(b) > 0 {
			t.Errorf("%q was said", b)
		}
	})
}

// Calls sent to a server that then refuses the connection end as not sent, with its reason.
func TestFirstFlightRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		answer  []byte
		code    wire.Code
		outcome wire.Outcome
	}{
		"credential":    {wire.AppendFrame([]byte(wire.Preface), wire.Header{Type: wire.TypeGoAway, Code: 16}, []byte("no")), wire.Unauthenticated, wire.NotSent},
		"another kind":  {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), wire.Unavailable, wire.NotSent},
		"another major": {[]byte("\xf7weft\r\n\x02" + string(make([]byte, 100))), wire.Unavailable, wire.NotSent},
		"broken hello":  {wire.AppendFrame([]byte(wire.Preface), wire.Header{Type: wire.TypeHello}, []byte("x")), wire.Unavailable, wire.OutcomeUnknown},
		"silence":       {nil, wire.Unavailable, wire.OutcomeUnknown},
	} {
		bubble(t, name, func(t *testing.T) {
			o := openTo(t, nil)
			c := newCall("Echo.Say", []byte("early"), nil)
			done := o.call(c)
			o.greeting()
			o.expect(wire.TypeRequest)
			o.write(tt.answer)
			if st := <-done; st == nil || st.Code != tt.code || st.Outcome != tt.outcome {
				t.Errorf("the call ended with %+v, want code %d, outcome %d", st, tt.code, tt.outcome)
			}
			if o.s.Met() || o.s.Usable() {
				t.Error("the session goes on")
			}
		})
	}
	bubble(t, "hung up", func(t *testing.T) {
		o := openTo(t, nil)
		done := o.call(newCall("Echo.Say", []byte("early"), nil))
		o.greeting()
		o.expect(wire.TypeRequest)
		o.conn.Close()
		if st := <-done; st == nil || st.Code != wire.Unavailable || st.Outcome != wire.OutcomeUnknown {
			t.Errorf("the call ended with %+v", st)
		}
	})
}

// A server that refuses a connection runs none of the calls that came with the hello.
func TestRefusedConnectionRunsNothing(t *testing.T) {
	leak.Check(t)
	var ran atomic.Int32
	p := quietStranger(t, func(c *Config) {
		c.Accept = func(*Session, string) *wire.Status { return &wire.Status{Code: wire.Unauthenticated, Message: "no"} }
	}, fast(unary("Count.Up", func(*Context, []byte) ([]byte, *wire.Status) {
		ran.Add(1)
		return nil, nil
	})))
	b := wire.AppendFrame([]byte(wire.Preface), wire.Header{Type: wire.TypeHello}, wire.AppendHello(nil, strangerHello()))
	b = wire.AppendFrame(b, wire.Header{Type: wire.TypeBind}, wire.AppendBind(nil, "raw", "Count.Up"))
	p.write(wire.AppendFrame(b, wire.Header{Type: wire.TypeRequest}, nil))
	p.await(len(wire.Preface))
	p.buf = p.buf[len(wire.Preface):]
	p.expectGoAway(wire.Unauthenticated)
	if ran.Load() != 0 {
		t.Error("a call of a refused connection ran")
	}
}

// Beyond what any server takes calls wait for the hello, within their time.
func TestFirstFlightIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openTo(t, nil)
		var results []chan *wire.Status
		for range wire.InitialCalls {
			results = append(results, o.call(newCall("Echo.Say", []byte("early"), nil)))
			synctest.Wait()
		}
		o.greeting()
		var ids []uint32
		for range wire.InitialCalls {
			h, _ := o.expect(wire.TypeRequest)
			ids = append(ids, h.ID)
		}
		late := newCall("Echo.Say", []byte("one more"), nil)
		late.Timeout = int64(time.Second)
		from := time.Now()
		if st := <-o.call(late); st == nil || st.Code != wire.DeadlineExceeded || st.Outcome != wire.NotSent {
			t.Errorf("a call beyond the slots ended with %+v", st)
		}
		near(t, "it ended", time.Since(from), time.Second, 0)
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		if st := do(ctx, o.s, newCall("Echo.Say", pattern(wire.InitialMessage+1), nil)); st == nil || st.Code != wire.Canceled || st.Outcome != wire.NotSent {
			t.Errorf("a large call that was canceled ended with %+v", st)
		}
		waiting := o.call(newCall("Echo.Say", []byte("waits"), nil))
		if b := o.come(); len(b) > 0 {
			t.Errorf("%q came before the hello", b)
		}
		// The server takes fewer calls than were opened: their slots are not used again.
		o.hello(func(h *wire.Hello) { h.MaxCalls = 4 })
		for _, id := range ids {
			o.send(wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: id}, nil)
		}
		for _, r := range results {
			if st := <-r; st != nil {
				t.Errorf("an early call ended with %+v", st)
			}
		}
		synctest.Wait()
		select {
		case st := <-waiting: // it was woken by the hello before the slots were free
			if st == nil || st.Reason != wire.ReasonTooManyCalls || st.Outcome != wire.NotSent {
				t.Errorf("the call that waited ended with %+v", st)
			}
			waiting = o.call(newCall("Echo.Say", []byte("waits"), nil))
		default:
		}
		h, body := o.expect(wire.TypeRequest)
		if string(body) != "waits" || wire.Slot(h.ID) >= 4 {
			t.Errorf("slot %d, %q", wire.Slot(h.ID), body)
		}
		o.send(wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: h.ID}, nil)
		if st := <-waiting; st != nil {
			t.Errorf("the call that waited ended with %+v", st)
		}
		for range 4 {
			results = append(results, o.call(newCall("Echo.Say", nil, nil)))
			if h, _ := o.expect(wire.TypeRequest); wire.Slot(h.ID) >= 4 {
				t.Errorf("slot %d was used where there are 4", wire.Slot(h.ID))
			}
		}
		if st := <-o.call(newCall("Echo.Say", nil, nil)); st == nil || st.Reason != "TOO_MANY_CALLS" {
			t.Errorf("a fifth call ended with %+v", st)
		}
	})
}

// A large call, and what a stream sends, wait for the hello and then obey it. What leaves
// before it is not compressed.
func TestFirstFlightLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openTo(t, nil)
		compressed := func(size int) *Call {
			c := newCall("Echo.Say", pattern(size), nil)
			c.Compress = o.cfg.Compressors[0]
			return c
		}
		o.call(compressed(8000))
		o.greeting()
		if h, body := o.expect(wire.TypeRequest); h.Flags != 0 || !bytes.Equal(body, pattern(8000)) {
			t.Errorf("the first request has flags %#x, %d bytes", h.Flags, len(body))
		}
		o.call(compressed(60_000))
		st := openStream(t, t.Context(), o.s, "Echo.Chat")
		go st.Send([]byte("message"))
		if h, _ := o.expect(wire.TypeRequest); h.Flags&wire.FlagStream == 0 {
			t.Errorf("the second request is %+v, want the stream's", h)
		}
		if b := o.come(); len(b) > 0 {
			t.Errorf("%.100q came before the hello", b)
		}
		o.hello(nil)
		seen := map[wire.Type]wire.Header{}
		for len(seen) < 2 {
			h, _, err := o.read()
			if err != nil {
				t.Fatal(err)
			}
			seen[h.Type] = h
		}
		if h := seen[wire.TypeRequest]; h.Flags&wire.FlagCompressed == 0 {
			t.Errorf("the large request is %+v, want it compressed", h)
		}
		if h := seen[wire.TypeData]; h.Length != 7 {
			t.Errorf("the stream's message is %+v", h)
		}
	})
}

// A client that offers a feature sends nothing but its hello before it has the server's.
func TestFeaturesWaitForHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openTo(t, func(c *Config) { c.Checksum = true })
		done := o.call(newCall("Echo.Say", []byte("x"), nil))
		go o.s.Ping(t.Context())
		o.greeting()
		if b := o.come(); len(b) > 0 {
			t.Errorf("%q came before the hello", b)
		}
		o.hello(func(h *wire.Hello) { h.Features = wire.FeatureChecksum })
		o.sum = true
		h, _ := o.expect(wire.TypeRequest)
		o.send(wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: h.ID}, nil)
		if st := <-done; st != nil {
			t.Errorf("the call ended with %+v", st)
		}
	})
}

// A server with smaller limits than a first flight may use refuses single calls.
func TestServerTakesFirstFlight(t *testing.T) {
	p := newStranger(t, func(c *Config) { c.Limits.MaxCalls, c.Limits.MaxBindings = 2, 1 }, wait(), echo())
	b := wire.AppendFrame([]byte(wire.Preface), wire.Header{Type: wire.TypeHello}, wire.AppendHello(nil, strangerHello()))
	for i := range uint16(wire.InitialBindings) {
		b = wire.AppendFrame(b, wire.Header{Type: wire.TypeBind, Code: i}, wire.AppendBind(nil, "raw", fmt.Sprint("Echo.Say#", i)))
	}
	for i := range uint32(wire.InitialCalls) {
		b = wire.AppendFrame(b, wire.Header{Type: wire.TypeRequest, ID: i, Code: uint16(i)}, []byte("x"))
	}
	p.write(b)
	p.await(len(wire.Preface))
	p.buf = p.buf[len(wire.Preface):]
	replies, refused := 0, 0
	for replies+refused < wire.InitialCalls {
		h, _, err := p.read()
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case h.Type == wire.TypeReply:
			replies++
		case h.Type == wire.TypeError && h.Flags&wire.FlagRefused != 0 && wire.Code(h.Code) == wire.ResourceExhausted:
			refused++
		case h.Type != wire.TypeHello:
			t.Fatalf("frame %+v came", h)
		}
	}
	if replies != 2 {
		t.Errorf("%d calls ran, want 2", replies)
	}
	p.pong()
}

// Whatever callers do on a session without a goroutine, it ends once and holds nothing.
func TestUnattendedEnds(t *testing.T) {
	leak.Check(t)
	scfg := newConfig(NewExecutor(), []*Method{echo(), wait()})
	defer scfg.Exec.Close()
	ccfg := newConfig(NewExecutor(), nil)
	ccfg.Resolve = nil
	defer ccfg.Exec.Close()
	for i := range 200 {
		cc, sc := mem.Pipe(nil)
		go func() {
			if s, _ := Accept(context.Background(), sc, scfg, nil); s != nil {
				s.Run(nil, nil)
			}
		}()
		var ended atomic.Int32
		s := Open(cc, ccfg, "")
		s.Attend(nil, func() { ended.Add(1) })
		var wg sync.WaitGroup
		for n := range i % 4 {
			wg.Go(func() {
				switch (i + n) % 3 {
				case 0:
					invoke(s, "Echo.Say", "x")
				case 1:
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*time.Microsecond)
					defer cancel()
					do(ctx, s, newCall("Echo.Wait", nil, nil))
				case 2:
					s.Ping(context.Background())
				}
			})
		}
		if i%2 == 0 {
			wg.Wait()
		}
		if i%5 == 0 {
			sc.Close()
		}
		s.Close(closedHere())
		wg.Wait()
		for limit := time.Now().Add(time.Minute); ended.Load() == 0 && time.Now().Before(limit); {
			time.Sleep(time.Millisecond)
		}
		if n := ended.Load(); n != 1 {
			t.Fatalf("round %d: the end was told %d times", i, n)
		}
		sc.Close()
	}
}

// Whatever a server says to a client whose calls came with the hello, nothing hangs.
func FuzzOpen(f *testing.F) {
	hello := wire.AppendFrame([]byte(wire.Preface), wire.Header{Type: wire.TypeHello}, wire.AppendHello(nil,
		&wire.Hello{MaxMessage: 1 << 20, MaxMetadata: 1 << 10, MaxCalls: 2, MaxBindings: 1, StreamWindow: 100, Codecs: []string{"raw"}}))
	reply := wire.AppendFrame(hello, wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: 1 << 16}, []byte("x"))
	f.Add(reply, uint8(0))
	f.Add(reply[:len(reply)-1], uint8(1))
	f.Add(wire.AppendFrame([]byte(wire.Preface), wire.Header{Type: wire.TypeGoAway, Code: 16}, []byte("no")), uint8(2))
	f.Add(append(reply, reply...), uint8(3))
	f.Add([]byte("HTTP/1.1 400 Bad Request"), uint8(0))
	f.Add(wire.AppendFrame(hello, wire.Header{Type: wire.TypeGoAway, Code: 14}, nil), uint8(4))
	f.Fuzz(func(t *testing.T, data []byte, how uint8) {
		if len(data) > 64<<10 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			o := openTo(t, func(c *Config) { c.Checksum = how&8 != 0 })
			var results []chan *wire.Status
			for range how%4 + 1 {
				c := newCall("Echo.Say", pattern(int(how)*200), nil)
				c.Timeout = int64(20 * time.Second)
				results = append(results, o.call(c))
			}
			if how&4 != 0 {
				st, _ := o.s.OpenStream(t.Context(), newCall("Echo.Chat", nil, nil))
				if st != nil {
					go recv(st)
				}
			}
			go drainConn(o.conn)
			go o.write(data)
			from := time.Now()
			for _, r := range results {
				<-r
			}
			if took := time.Since(from); took > 21*time.Second {
				t.Errorf("the calls took %v", took)
			}
		})
	})
}
