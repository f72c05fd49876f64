package outbuf

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

func goAway() wire.Header { return wire.Header{Type: wire.TypeGoAway} }

// The last write waits for the one that is under way and carries what was appended: what it carries counts as
// handed to the connection.
func TestLastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{gate: make(chan struct{})}
		w, _ := newWriter(c)
		put(w, 0, 10)
		go w.Flush()
		synctest.Wait()
		put(w, 1, 10)
		said := make(chan bool)
		go func() { said <- w.WriteLast(goAway(), []byte("bye")) }()
		synctest.Wait()
		close(c.gate)
		if !<-said {
			t.Error("the last words were not written")
		}
		heads, payloads := c.frames(t, 1)
		if c.count() != 2 || len(heads) != 2 || heads[0].ID != 1 || heads[1].Type != wire.TypeGoAway || string(payloads[1]) != "bye" {
			t.Errorf("%d writes; the last has %+v", c.count(), heads)
		}
		put(w, 2, 10)
		w.Flush()
		if c.count() != 2 {
			t.Error("something was written behind the last words")
		}
		w.Lock()
		if sent := w.CloseLocked(); sent != 3*wire.HeaderSize+10+10+3 {
			t.Errorf("%d bytes count as handed to the connection", sent)
		}
		w.Unlock()
	})
}

// A write that goes on takes the last words, in time.
func TestLastWordsUnsaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{gate: make(chan struct{})}
		w, _ := newWriter(c)
		put(w, 0, 10)
		go w.Flush()
		synctest.Wait()
		from := time.Now()
		if w.WriteLast(goAway(), nil) || time.Since(from) != Goodbye {
			t.Errorf("the last words were given up after %v, want %v", time.Since(from), Goodbye)
		}
		go func() {
			time.Sleep(Goodbye / 2)
			w.Lock()
			w.CloseLocked()
			w.Unlock()
		}()
		from = time.Now()
		if w.WriteLast(goAway(), nil) || time.Since(from) != Goodbye/2 {
			t.Errorf("the last words were given up after %v, want the end after %v", time.Since(from), Goodbye/2)
		}
		close(c.gate)
		synctest.Wait()
		if c.count() != 1 {
			t.Errorf("%d writes, want 1", c.count())
		}
	})
}

// When reading ends during a write, the owner is told at its end, and not before.
func TestReadEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{gate: make(chan struct{})}
		w, o := newWriter(c)
		if later, refusing := w.ReadEnded(new(wire.Status)); later || refusing {
			t.Error("the end of reading waits for a write though there is none")
		}
		put(w, 0, 10)
		go w.Flush()
		synctest.Wait()
		st := &wire.Status{Code: wire.Unavailable}
		if later, refusing := w.ReadEnded(st); !later || refusing {
			t.Error("the end of reading does not wait for the write")
		}
		if f := o.failures(); len(f) != 0 {
			t.Errorf("the owner was told %+v before the write has ended", f)
		}
		close(c.gate)
		synctest.Wait()
		if f := o.failures(); len(f) != 1 || f[0].err != nil || f[0].ended != st {
			t.Errorf("the owner was told %+v", f)
		}
	})
}

// The end that the peer makes of a connection on which it was refused is known as such.
func TestReadEndedAfterLastWords(t *testing.T) {
	w, _ := newWriter(new(fakeConn))
	w.WriteLast(goAway(), nil)
	if _, refusing := w.ReadEnded(new(wire.Status)); !refusing {
		t.Error("the end of reading is not put down to the last words")
	}
}

// A Writer is sealed when everything has been written.
func TestSeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{gate: make(chan struct{})}
		w, _ := newWriter(c)
		put(w, 0, 10)
		if w.Seal() {
			t.Error("sealed before anything was written")
		}
		go w.Flush()
		synctest.Wait()
		if w.Seal() {
			t.Error("sealed during a write")
		}
		close(c.gate)
		synctest.Wait()
		if !w.Seal() {
			t.Error("not sealed though all is written")
		}
		put(w, 1, 10)
		w.Flush()
		if c.count() != 1 {
			t.Error("something was written behind the seal")
		}
	})
}

// A write without progress is seen by the second look, and large buffers that are not used are freed.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{gate: make(chan struct{})}
		w, _ := newWriter(c)
		look := func(at int64) int64 {
			w.Lock()
			defer w.Unlock()
			return w.LookLocked(at)
		}
		for range 4 {
			put(w, 0, keepIdle/2)
		}
		go w.Flush()
		synctest.Wait()
		for at, want := range []int64{0, 1, 1, 1} {
			if stuck := look(int64(at)); stuck != want {
				t.Errorf("look %d: stuck since %d, want %d", at, stuck, want)
			}
		}
		close(c.gate)
		synctest.Wait()
		if stuck := look(4); stuck != 0 {
			t.Errorf("stuck since %d after the write", stuck)
		}
		if cap(w.buf)+cap(w.spare) < keepIdle {
			t.Error("the buffers were freed though they were just used")
		}
		look(5)
		if n := cap(w.buf) + cap(w.spare); n > 2*keepIdle {
			t.Errorf("%d bytes are kept for nothing", n)
		}
	})
}

// Of a closed Writer nothing is waited for.
func TestLastWordsAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{gate: make(chan struct{})}
		w, _ := newWriter(c)
		put(w, 0, 10)
		go w.Flush()
		synctest.Wait()
		w.Lock()
		w.CloseLocked()
		w.Unlock()
		from := time.Now()
		if w.WriteLast(goAway(), nil) || time.Since(from) != 0 {
			t.Errorf("the last words were given up after %v", time.Since(from))
		}
		close(c.gate)
	})
}
