package http2

import (
	"context"
	"slices"
	"testing"

	"github.com/weftrpc/weft/internal/polltest"
)

// TestDroppedWhileWaiting has a peer that opens no window reset stream behind stream: those do not stay in the queue.
func TestDroppedWhileWaiting(t *testing.T) {
	e, r := pair(t, nil)
	r.greet().add(typeSettings, 0, 0, 0, settingWindow, 0, 0x20, 0, 0).get(1, "/", false)
	for range 5 {
		r.add(typeData, 0, 1, make([]byte, maxFrame)...)
	}
	r.add(typeData, flagEndStream, 1).send() // of its answer a part uses the window of the connection up
	const streams = 50
	last := uint32(1)
	for range 40 {
		for range streams {
			last += 2
			r.get(last, "/", false).add(typeData, flagEndStream, last, 'x')
		}
		for i := range uint32(streams) {
			r.add(typeReset, 0, last-2*i, 0, 0, 0, byte(Cancel))
		}
		r.send()
	}
	polltest.True(t, patience, "all streams were opened and reset", func() bool {
		e.conn.Lock()
		defer e.conn.Unlock()
		return e.conn.opened == last && e.conn.open.Len() == 1
	})
	e.conn.Lock()
	waits, dropped := len(e.conn.queue), e.conn.dropped
	e.conn.Unlock()
	if most := 2*minQueue + 2; waits > most || dropped != waits-1 {
		t.Errorf("%d streams are in the queue, %d of them dropped, want at most %d, and all but one", waits, dropped, most)
	}
	r.buf = appendWindow(r.buf, 0, 1<<20)
	r.get(last+2, "/", true).send()
	for got := 0; got < 5*maxFrame; {
		if f, ok := r.next(); !ok {
			t.Fatal("the connection has ended")
		} else if f.typ == typeData && f.id == 1 {
			got += len(f.payload)
		}
	}
	r.until(typeData, last+2)
}

// TestWindowsOpenAtOnce has a peer open windows for much more than may wait to be written: all is sent, and the peer is not taken for one that does
// not read.
func TestWindowsOpenAtOnce(t *testing.T) {
	e, r := pair(t, func(c *Config) { c.Client = true })
	r.server()
	<-e.conn.Settled()
	st := new(Stream)
	size := 2 * e.conn.flood()
	e.conn.Lock()
	if err := e.conn.NewStreamLocked(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	e.conn.EndHeadersLocked(e.conn.StartHeadersLocked(st, false))
	e.conn.QueueDataLocked(st, make([]byte, size), true, nil)
	e.conn.FlushAndUnlock(false)
	got := 0
	for got < defaultWin {
		got += len(r.until(typeData, 1).payload)
	}
	r.window(0, uint32(size)).window(1, uint32(size)).send()
	for got < size {
		got += len(r.until(typeData, 1).payload)
	}
	r.add(typePing, 0, 0, make([]byte, 8)...).send().until(typePing, 0)
	e.conn.Lock()
	defer e.conn.Unlock()
	if e.conn.queued != 0 || len(e.conn.queue) != 0 || st.queue != waitsNot {
		t.Errorf("%d bytes of %d streams wait, though all has come", e.conn.queued, len(e.conn.queue))
	}
}

// TestWindowOfReplies sends a client as much as the window of a stream allows, in frames of many lengths, and one byte more.
func TestWindowOfReplies(t *testing.T) {
	e, r := pair(t, func(c *Config) { c.Client = true })
	e.keeps = true
	r.server()
	<-e.conn.Settled()
	if err := e.open(t.Context(), new(Stream)); err != nil {
		t.Fatal(err)
	}
	r.until(typeHeaders, 1)
	r.add(typeHeaders, flagEndHeaders, 1, 0x88)
	for n, left := 1, 64<<10; left > 0; n *= 3 {
		n = min(n, left, maxFrame)
		r.add(typeData, 0, 1, make([]byte, n)...)
		left -= n
	}
	r.add(typePing, 0, 0, make([]byte, 8)...).send().until(typePing, 0)
	if n := e.conn.streamsOpen(); n != 1 {
		t.Fatalf("%d streams are open, want 1: no more came than the window allows", n)
	}
	r.add(typeData, 0, 1, 'x').send()
	if code := r.until(typeReset, 1).code(); code != FlowControlError {
		t.Errorf("the stream was reset with %v", code)
	}
}

// TestWaitersKeepTheirOrder ends two streams together: two of those that wait are let go, the others keep their places, and one whose
// caller gives up leaves its turn to the next.
func TestWaitersKeepTheirOrder(t *testing.T) {
	e, r := pair(t, func(c *Config) { c.Client = true })
	r.server(0, settingMaxStreams, 0, 0, 0, 3)
	<-e.conn.Settled()
	var first [3]Stream
	for i := range first {
		if err := e.open(t.Context(), &first[i]); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := func() []*Stream {
		e.conn.Lock()
		defer e.conn.Unlock()
		return slices.Clone(e.conn.waiters)
	}
	later, opened := make([]Stream, 6), make(chan error, 6)
	for i := range later {
		go func() { opened <- e.open(ctx, &later[i]) }() // each ends with ctx
		polltest.True(t, patience, "one more waits", func() bool { return len(waiting()) == i+1 })
	}
	e.conn.Lock()
	e.conn.ResetLocked(&first[0], Cancel)
	e.conn.ResetLocked(&first[1], Cancel)
	e.conn.Unlock()
	if all := waiting(); !slices.Equal(all, []*Stream{&later[2], &later[3], &later[4], &later[5]}) {
		t.Errorf("%d streams wait, want the last four of six, in order", len(all))
	}
	for range 2 {
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
	e.conn.Lock()
	if e.conn.open.Len() != 3 || e.conn.admitted != 0 {
		t.Errorf("%d streams are open, and %d may be", e.conn.open.Len(), e.conn.admitted)
	}
	e.conn.ResetLocked(&first[2], Cancel) // the turn of one that finds its caller gone
	cancel()
	e.conn.Unlock()
	for range 4 {
		<-opened
	}
	e.conn.Lock()
	defer e.conn.Unlock()
	if e.conn.admitted != 0 || len(e.conn.waiters) != 0 {
		t.Errorf("%d streams may be opened and %d wait, though none is left", e.conn.admitted, len(e.conn.waiters))
	}
}
