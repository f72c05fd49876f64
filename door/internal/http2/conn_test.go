package http2

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/internal/session"
)

// TestEcho sends bodies of many sizes, several streams at once.
func TestEcho(t *testing.T) {
	_, r := pair(t, nil)
	r.greet().add(typeSettings, 0, 0, 0, settingWindow, 0, 0x20, 0, 0)
	r.buf = appendWindow(r.buf, 0, 1<<24)
	sizes := []int{0, 1, 100, maxFrame, maxFrame + 1, 60000}
	for i, n := range sizes {
		id := uint32(2*i + 1)
		r.get(id, "/", false)
		for n > maxFrame {
			r.add(typeData, 0, id, make([]byte, maxFrame)...)
			n -= maxFrame
		}
		r.add(typeData, flagEndStream, id, make([]byte, n)...)
	}
	r.send()
	got := make(map[uint32]int)
	for ended := 0; ended < len(sizes); {
		f, ok := r.next()
		if !ok {
			t.Fatal("the connection ended")
		}
		if f.typ == typeData {
			if got[f.id] += len(f.payload); f.flags&flagEndStream != 0 {
				ended++
			}
		}
	}
	for i, n := range sizes {
		if got[uint32(2*i+1)] != n {
			t.Errorf("%d bytes came back of %d", got[uint32(2*i+1)], n)
		}
	}
}

// TestStalledReader has a handler that does not return run on the goroutine that reads: other
// requests are answered meanwhile, and its own when it returns.
func TestStalledReader(t *testing.T) {
	e, r := pair(t, nil)
	r.greet().get(1, "/hold", true).send()
	for id := uint32(3); id < 40; id += 2 {
		r.answered(id)
	}
	close(e.hold)
	r.until(typeData, 1)
}

// TestDrain opens streams while the server drains: what the client sent before it knew is
// answered, and nothing later.
func TestDrain(t *testing.T) {
	e, r := pair(t, nil)
	r.greet().get(1, "/", false).send().until(typeSettings, 0)
	drained := e.conn.Drain()
	first := r.until(typeGoAway, 0)
	ping := r.until(typePing, 0)
	if last := number31(first.payload); last != maxID {
		t.Errorf("the first GOAWAY has the last stream %d", last)
	}
	r.get(3, "/", false).send() // the client has not read it
	r.add(typePing, flagAck, 0, ping.payload...).send()
	second := r.until(typeGoAway, 0)
	if last := number31(second.payload); last != 3 {
		t.Errorf("the second GOAWAY has the last stream %d, want 3", last)
	}
	r.get(5, "/", true).add(typeData, flagEndStream, 3).send().until(typeData, 3)
	select {
	case <-drained:
		t.Fatal("the drain ended before the last stream")
	default:
	}
	r.add(typeData, flagEndStream, 1).send().until(typeData, 1)
	select {
	case <-drained:
	case <-time.After(patience):
		t.Fatal("the drain did not end with the last stream")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.bodies) != 0 {
		t.Error("a stream was handled that is above the last one")
	}
}

// TestDrainSilent drains a connection whose client does not answer the PING.
func TestDrainSilent(t *testing.T) {
	e, r := pair(t, nil)
	r.greet().send().until(typeSettings, 0)
	select {
	case <-e.conn.Drain():
	case <-time.After(patience):
		t.Fatal("the drain did not end")
	}
	e.conn.Finish()
	r.until(typeGoAway, 0)
	r.until(typeGoAway, 0)
}

// open opens a stream of a client.
func (e *echo) open(ctx context.Context, st *Stream) error {
	e.conn.Lock()
	err := e.conn.NewStreamLocked(ctx, st)
	if err == nil {
		at := e.conn.StartHeadersLocked(st, true)
		e.conn.SetBufferLocked(e.conn.Enc.Static(e.conn.BufferLocked(), hpack.StaticPOST))
		e.conn.EndHeadersLocked(at)
		e.conn.SaidLocked(st)
	}
	e.conn.FlushSoonAndUnlock(false)
	return err
}

// server reads what a client begins with and answers it.
func (r *raw) server(settings ...byte) {
	r.t.Helper()
	buf := make([]byte, len(Preface))
	_ = r.conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := r.conn.Read(buf); err != nil || string(buf) != Preface {
		r.t.Fatalf("%q, %v", buf, err)
	}
	r.until(typeSettings, 0)
	r.add(typeSettings, 0, 0, settings...).send()
}

// TestClientEnds has a server refuse a stream, leave others out by GOAWAY, and answer one.
func TestClientEnds(t *testing.T) {
	gone := make(chan struct{})
	e, r := pair(t, func(c *Config) { c.Client, c.GoAway = true, func() { close(gone) } })
	r.server()
	<-e.conn.Settled()
	var st [4]Stream
	for i := range st {
		if err := e.open(t.Context(), &st[i]); err != nil {
			t.Fatal(err)
		}
	}
	r.until(typeHeaders, 7)
	r.add(typeReset, 0, 1, 0, 0, 0, byte(RefusedStream)).add(typeReset, 0, 3, 0, 0, 0, byte(Cancel))
	r.add(typeGoAway, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0).add(typeHeaders, flagEndHeaders|flagEndStream, 5, 0x88).send()
	<-gone
	if b := <-e.headers; !b.End || !b.Status {
		t.Errorf("the answer is %+v", b)
	}
	e.mu.Lock()
	if len(e.closed) != 3 || !e.closed[0].Refused || e.closed[1].Refused || !e.closed[1].Reset || !e.closed[2].Refused {
		t.Errorf("the streams ended with %+v", e.closed)
	}
	e.mu.Unlock()
	err := e.open(t.Context(), new(Stream))
	if _, ok := errors.AsType[*GoneAway](err); !ok {
		t.Errorf("a stream behind a GOAWAY: %v", err)
	}
}

// TestMalformedLastHeaders has a server end streams whose requests have ended by HEADERS that are malformed: each is closed.
func TestMalformedLastHeaders(t *testing.T) {
	e, r := pair(t, func(c *Config) { c.Client = true })
	r.server()
	<-e.conn.Settled()
	for i, block := range [][]byte{{0x88, 0x88}, append(text("x", "y"), 0x88), append([]byte{0x88}, text("content-length", "nine")...)} {
		if err := e.open(t.Context(), new(Stream)); err != nil {
			t.Fatal(err)
		}
		id := uint32(2*i + 1)
		r.until(typeHeaders, id)
		r.add(typeHeaders, flagEndHeaders|flagEndStream, id, block...).send()
		polltest.True(t, patience, "the stream is closed", func() bool {
			e.mu.Lock()
			defer e.mu.Unlock()
			return len(e.closed) == i+1
		})
		if code := r.until(typeReset, id).code(); code != ProtocolError {
			t.Errorf("the stream was reset with %v", code)
		}
	}
	// A body that is shorter than its length, with the end in HEADERS.
	if err := e.open(t.Context(), new(Stream)); err != nil {
		t.Fatal(err)
	}
	r.until(typeHeaders, 7)
	r.add(typeHeaders, flagEndHeaders, 7, append([]byte{0x88}, text("content-length", "9")...)...).add(typeData, 0, 7, 'x')
	r.add(typeHeaders, flagEndHeaders|flagEndStream, 7, text("x", "y")...).send()
	polltest.True(t, patience, "the stream with the short body is closed", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.closed) == 4
	})
	if n := e.conn.streamsOpen(); n != 0 {
		t.Errorf("%d streams are open", n)
	}
}

// TestClientWaitsForTurn opens more streams than the server allows.
func TestClientWaitsForTurn(t *testing.T) {
	e, r := pair(t, func(c *Config) { c.Client = true })
	r.server(0, settingMaxStreams, 0, 0, 0, 2)
	<-e.conn.Settled()
	opened := make(chan error, 6)
	for range 5 {
		go func() { opened <- e.open(context.Background(), new(Stream)) }() // each ends when the server answers
	}
	for id := uint32(1); id <= 9; id += 2 {
		r.until(typeHeaders, id)
		if id > 1 { // two are open
			r.add(typeHeaders, flagEndHeaders|flagEndStream, id-2, 0x88).send()
		}
		if err := <-opened; err != nil {
			t.Fatal(err)
		}
	}
	if err := e.open(t.Context(), new(Stream)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := e.open(ctx, new(Stream)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a stream that waits for its turn: %v", err)
	}
}

// wait waits until a channel is closed.
func wait(t *testing.T, what string, closed <-chan struct{}) {
	t.Helper()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("not so after a while: " + what)
	}
}

// TestNumbersUsedUp opens streams until there is no number for another one: the user of the connection is told, those that wait for their
// turns get an error, and what is open goes on.
func TestNumbersUsedUp(t *testing.T) {
	ended := make(chan struct{})
	e, r := pair(t, func(c *Config) {
		c.Client = true
		c.GoAway = func() { close(ended) }
	})
	r.server(0, settingMaxStreams, 0, 0, 0, 1)
	<-e.conn.Settled()
	e.conn.Lock()
	e.conn.opened = maxID - 4
	e.conn.Unlock()
	if err := e.open(t.Context(), new(Stream)); err != nil {
		t.Fatal(err)
	}
	if err := e.conn.Err(); err != nil {
		t.Errorf("there is a number left: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	opened := make(chan error, 2)
	for range 2 {
		go func() { opened <- e.open(ctx, new(Stream)) }() // each ends when the stream before it does
	}
	polltest.True(t, patience, "both wait", func() bool {
		e.conn.mu.Lock()
		defer e.conn.mu.Unlock()
		return len(e.conn.waiters) == 2
	})
	r.add(typeHeaders, flagEndHeaders|flagEndStream, maxID-2, 0x88).send()
	wait(t, "the user is told", ended)
	one, other := <-opened, <-opened
	if one == nil {
		one, other = other, nil
	}
	if !errors.Is(one, ErrNoMore) || other != nil || !errors.Is(e.conn.Err(), ErrNoMore) {
		t.Errorf("the last two streams: %v, %v; the connection: %v", one, other, e.conn.Err())
	}
	r.until(typeHeaders, maxID)
	<-e.headers
	r.add(typeHeaders, flagEndHeaders|flagEndStream, maxID, 0x88).send()
	select {
	case <-e.headers:
	case <-e.conn.Done():
		t.Error("the last stream was not answered")
	}
}

// TestEndedStreamIsForgotten: nothing refers to a stream that a GOAWAY or a fault of the server has ended.
func TestEndedStreamIsForgotten(t *testing.T) {
	for name, end := range map[string]func(r *raw){
		"GOAWAY": func(r *raw) { r.add(typeGoAway, 0, 0, make([]byte, 8)...) },
		"fault":  func(r *raw) { r.add(typeData, 0, 1, make([]byte, 1)...) }, // beyond what content-length has promised
	} {
		t.Run(name, func(t *testing.T) {
			e, r := pair(t, func(c *Config) { c.Client = true })
			r.server()
			<-e.conn.Settled()
			if err := e.open(t.Context(), new(Stream)); err != nil {
				t.Fatal(err)
			}
			r.until(typeHeaders, 1)
			r.add(typeHeaders, flagEndHeaders, 1, append([]byte{0x88}, text("content-length", "0")...)...)
			end(r)
			r.add(typePing, 0, 0, make([]byte, 8)...).send().until(typePing, 0)
			e.conn.Lock()
			defer e.conn.Unlock()
			if st := e.conn.in.last; st != nil {
				t.Errorf("stream %d has ended, and is kept", st.id)
			}
		})
	}
}

// TestEndlessWriteTimeout: a write that may take as long as a time.Duration can be is made.
func TestEndlessWriteTimeout(t *testing.T) {
	_, r := pair(t, func(c *Config) { c.WriteTimeout = math.MaxInt64 })
	r.greet().get(1, "/", true).send().until(typeData, 1)
}

// TestFailedWrite lets a write fail: no more streams can be opened, before the connection has ended.
func TestFailedWrite(t *testing.T) {
	ended := make(chan struct{})
	e, r := pair(t, func(c *Config) {
		c.Client, c.WriteTimeout = true, time.Hour
		c.GoAway = func() { close(ended) }
	})
	r.server()
	<-e.conn.Settled()
	polltest.True(t, patience, "nothing is being written", func() bool {
		e.conn.mu.Lock()
		defer e.conn.mu.Unlock()
		return !e.conn.busy && len(e.conn.buf) == 0
	})
	if err := e.conn.nc.SetWriteDeadline(time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	e.conn.Lock()
	e.conn.until = session.Nanos() + int64(3*e.conn.cfg.WriteTimeout/2) // the deadline is not set again
	e.conn.buf = appendWindow(e.conn.buf, 0, 1)
	e.conn.FlushAndUnlock(false)
	wait(t, "the user is told", ended)
	if err := e.open(t.Context(), new(Stream)); err == nil {
		t.Error("a stream was opened")
	}
	wait(t, "the connection has ended", e.conn.Done())
}

// TestPing measures a round trip, and the end of the connection ends a ping.
func TestPing(t *testing.T) {
	e, r := pair(t, func(c *Config) { c.Client = true })
	r.server()
	done := make(chan error, 1)
	go func() { done <- e.conn.Ping(context.Background()) }() // it ends with the answer
	f := r.until(typePing, 0)
	r.add(typePing, flagAck, 0, f.payload...).send()
	if err := <-done; err != nil {
		t.Error(err)
	}
	go func() { done <- e.conn.Ping(context.Background()) }() // it ends with the connection
	r.until(typePing, 0)
	r.conn.Close()
	if err := <-done; err == nil {
		t.Error("a ping on a lost connection went well")
	}
}

// TestKeepAlive ends a connection whose peer is silent, and no other.
func TestKeepAlive(t *testing.T) {
	within := func(timeout time.Duration) func(*Config) {
		return func(c *Config) {
			c.PingInterval, c.PingIdle, c.PingTimeout = 20*time.Millisecond, 20*time.Millisecond, timeout
		}
	}
	_, r := pair(t, within(patience)) // a busy machine may take its time for an answer
	r.greet().send()
	for range 5 {
		f := r.until(typePing, 0)
		r.add(typePing, flagAck, 0, f.payload...).send()
	}
	e, r := pair(t, within(200*time.Millisecond))
	r.greet().send()
	select {
	case <-e.conn.Done():
	case <-time.After(patience):
		t.Fatal("the connection goes on")
	}
}

// TestKeepAliveOfStoppedProcess does not end a connection whose peer had no chance to be heard: the process was stopped
// behind its ping, and runs again.
func TestKeepAliveOfStoppedProcess(t *testing.T) {
	e, r := pair(t, func(c *Config) {
		c.PingInterval, c.PingIdle, c.PingTimeout = 20*time.Millisecond, 20*time.Millisecond, patience
	})
	r.greet().send()
	r.until(typePing, 0)
	e.conn.mu.Lock()
	e.conn.pinged -= int64(10 * patience)
	e.conn.looked -= int64(10 * patience)
	e.conn.mu.Unlock()
	e.conn.keep()
	if err := e.conn.Err(); err != nil {
		t.Errorf("the connection has ended: %v", err)
	}
}

// FuzzConn gives a server what a client may send: the connection ends when the client does.
func FuzzConn(f *testing.F) {
	r := &raw{}
	f.Add(r.greet().get(1, "/", false).add(typeData, flagEndStream, 1, 1, 2, 3).get(3, "/", true).buf)
	r = &raw{}
	f.Add(r.greet().add(typeSettings, 0, 0, 0, 4, 0, 0, 0, 9).add(typePing, 0, 0, make([]byte, 8)...).get(1, "/", true).add(typeWindow, 0, 1, 0, 0, 0, 9).buf)
	r = &raw{}
	f.Add(r.greet().add(typeHeaders, 0, 1, 0x83, 0x84).add(typeContinuation, flagEndHeaders, 1, 0x86).add(typeReset, 0, 1, 0, 0, 0, 8).add(typeGoAway, 0, 0, make([]byte, 8)...).buf)
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 64<<10 {
			return
		}
		e, r := pair(t, nil)
		r.buf = input
		r.send()
		if c, ok := r.conn.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite()
		}
		r.goAway()
		<-e.conn.Done()
		if n := e.conn.streamsOpen(); n != 0 {
			t.Errorf("%d streams are left", n)
		}
	})
}
