package outbuf

import (
	"bytes"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/weftrpc/weft/internal/backlog"
	"github.com/weftrpc/weft/internal/buffer"
	"github.com/weftrpc/weft/internal/bulk"
	"github.com/weftrpc/weft/internal/held"
	"github.com/weftrpc/weft/internal/wire"
)

// What is appended while a write is under way leaves in the next one, whole and in order.
func TestFramesLeaveTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{gate: make(chan struct{})}
		w, _ := newWriter(c)
		put(w, 0, 10)
		go w.Flush()
		synctest.Wait()
		for i := range 100 {
			put(w, 1+i, i)
			w.Lock()
			w.FlushAndUnlock(true) // does not wait: there is a leader
		}
		close(c.gate)
		synctest.Wait()
		if n := c.count(); n != 2 {
			t.Errorf("%d writes, want 2", n)
		}
		heads, payloads := c.all(t)
		for i, h := range heads {
			if want := max(i-1, 0); h.ID != uint32(i) || i > 0 && len(payloads[i]) != want {
				t.Fatalf("frame %d is %+v", i, h)
			}
		}
		if len(heads) != 101 {
			t.Errorf("%d frames, want 101", len(heads))
		}
		resting(t, w)
	})
}

// A frame that is begun and not finished is not sent; frames have checksums when they are to.
func TestFrames(t *testing.T) {
	c := new(fakeConn)
	w, _ := newWriter(c)
	w.BeginWith([]byte("hello"))
	w.Lock()
	_ = append(w.StartLocked(), "dropped"...)
	if at := w.PositionLocked(); at != 5 {
		t.Errorf("the position is %d, want 5", at)
	}
	w.FinishLocked(append(w.StartLocked(), "kept"...), wire.Header{Type: wire.TypeData, ID: 1})
	w.ChecksumLocked(true)
	w.FrameLocked(wire.Header{Type: wire.TypeData, ID: 2}, []byte("summed"))
	at := w.PositionLocked()
	w.FlushAndUnlock(false)
	w.Lock()
	if w.PositionLocked() != at || at != 5+2*wire.HeaderSize+4+6+wire.ChecksumSize {
		t.Errorf("the position is %d before and %d after the write", at, w.PositionLocked())
	}
	w.Unlock()
	b := bytes.TrimPrefix(c.writes[0], []byte("hello"))
	sum := b[len(b)-wire.ChecksumSize:]
	heads, payloads := parse(t, b[:len(b)-wire.ChecksumSize])
	if len(heads) != 2 || string(payloads[0]) != "kept" || string(payloads[1]) != "summed" {
		t.Fatalf("the frames are %+v with %q", heads, payloads)
	}
	if frame := b[wire.HeaderSize+4 : len(b)-wire.ChecksumSize]; !wire.ChecksumOK(frame, sum) {
		t.Error("the checksum is wrong")
	}
}

// A goroutine that makes the batch large enough writes in place of one that has yielded.
func TestEagerBatch(t *testing.T) {
	c := new(fakeConn)
	w, _ := newWriter(c)
	w.mode = yielding // a leader lets others append
	put(w, 1, 10)
	w.Flush()
	if n := c.count(); n != 0 {
		t.Fatalf("%d writes while the leader yields", n)
	}
	for range eager / wire.MaxPayload {
		put(w, 2, wire.MaxPayload)
	}
	turn := w.turn
	w.Flush()
	if n := c.count(); n != 1 || w.turn == turn {
		t.Errorf("%d writes of a large batch, want 1; the leader that yielded finds turn %d, which was %d", n, w.turn, turn)
	}
	resting(t, w)
}

// A caller writes a bounded number of batches for others; a goroutine of its own goes on.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, later := new(fakeConn), make(chan struct{})
		w, _ := newWriter(c)
		c.during = func(n int) {
			if n > maxRounds {
				<-later
			}
			if n < 3*maxRounds {
				put(w, n, 10)
			}
		}
		put(w, 0, 10)
		w.Flush()
		synctest.Wait()
		if n := c.count(); n != maxRounds+1 {
			t.Errorf("%d writes have begun, want %d by the caller and one by another goroutine", n, maxRounds)
		}
		close(later)
		synctest.Wait()
		if heads, _ := c.all(t); len(heads) != 3*maxRounds {
			t.Errorf("%d frames, want %d", len(heads), 3*maxRounds)
		}
		resting(t, w)
	})
}

// A large message is bound before its first frame, and small frames pass it.
func TestLargeMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{gate: make(chan struct{})}
		w, _ := newWriter(c)
		body := bytes.Repeat([]byte("weft"), 200<<10)
		add := func(id uint32) {
			w.Lock()
			w.Large.Add(&bulk.Message{Head: wire.Header{Type: wire.TypeRequest, ID: id}, Buf: &buffer.Buffer{B: append([]byte(nil), body...)}})
			w.Unlock()
		}
		add(7)
		go w.Flush()
		synctest.Wait()
		put(w, 1, 10)
		close(c.gate)
		synctest.Wait()
		heads, payloads := c.all(t)
		if heads[0].Type != wire.TypeBind || heads[1].Type != wire.TypeRequest || heads[1].Code != 3 {
			t.Errorf("the first frames are %+v, want a binding and the request with it", heads[:2])
		}
		var got []byte
		small := -1
		for i, h := range heads {
			switch h.ID {
			case 7:
				got = append(got, payloads[i]...)
			case 1:
				small = i
			}
		}
		if !bytes.Equal(got, body) || small < 0 || small == len(heads)-1 {
			t.Errorf("%d bytes of the message came, the small frame is %d of %d", len(got), small, len(heads))
		}
		resting(t, w)

		add(8)
		w.Lock()
		w.BeginLargeLocked(8)
		w.FrameLocked(wire.Header{Type: wire.TypeData, ID: 9}, nil)
		w.FlushAndUnlock(false)
		synctest.Wait()
		later, _ := c.all(t)
		if later = later[len(heads):]; later[0].ID != 8 || later[1].ID != 9 || later[2].ID != 8 {
			t.Errorf("the frames are of %d, %d and %d, want the begun message first", later[0].ID, later[1].ID, later[2].ID)
		}
	})
}

// The owner learns of a write that has failed, and no other write follows it.
func TestFailedWrite(t *testing.T) {
	c := &fakeConn{fails: errors.New("broken")}
	w, o := newWriter(c)
	put(w, 1, 10)
	w.Flush()
	if f := o.failures(); len(f) != 1 || f[0].err != c.fails || f[0].ended != nil {
		t.Errorf("the owner was told %+v", f)
	}
	put(w, 2, 10)
	w.Flush()
	if n := c.count(); n != 1 {
		t.Errorf("%d writes, want none after one that has failed", n)
	}
}

// An end of reading behind a write that has timed out is not the reason for which the session ends; behind another failure it may be.
func TestReadEndedAfterFailedWrite(t *testing.T) {
	for err, want := range map[error]bool{errors.New("broken"): false, syscall.ETIMEDOUT: true} {
		w, _ := newWriter(&fakeConn{fails: err})
		put(w, 1, 10)
		w.Flush()
		if later, _ := w.ReadEnded(new(wire.Status)); later != want {
			t.Errorf("behind a write that fails with %v the end of reading waits: %v, want %v", err, later, want)
		}
	}
}

// Replies that wait to be written are counted, and the backlog is told when they are too many and when they
// have left.
func TestReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := held.New(1 << 30)
		c := &fakeConn{gate: make(chan struct{})}
		w, o := new(Writer), new(fakeOwner)
		b := &backlog.Backlog{Account: m.Open(func() {})}
		w.Init(c, o, 1<<20, b)
		reply := func() {
			w.Lock()
			w.FrameLocked(wire.Header{Type: wire.TypeReply}, make([]byte, wire.MaxPayload))
			w.NoteReplyLocked()
			w.FlushAndUnlock(false)
		}
		go reply()
		synctest.Wait()
		for range 20 {
			reply()
		}
		if n := m.Held(); n < noteStep-64<<10 || b.Crowded() {
			t.Errorf("%d bytes are counted, crowded %v, while 320 KiB wait", n, b.Crowded())
		}
		for range 50 {
			reply()
		}
		if n := m.Held(); n < 3*noteStep || !b.Crowded() {
			t.Errorf("%d bytes are counted, crowded %v, while more than 1 MiB waits", n, b.Crowded())
		}
		close(c.gate)
		synctest.Wait()
		look := func() {
			w.Lock()
			defer w.Unlock()
			w.LookLocked(0)
		}
		if look(); b.Crowded() {
			t.Error("the backlog is crowded when all are written")
		}
		if look(); m.Held() != 0 { // the buffers were not used since the last look
			t.Errorf("%d bytes are counted, when all are written and the buffers are freed", m.Held())
		}
		resting(t, w)
	})
}

// What is counted is the memory that what was appended takes: the room of the buffer that is being written, that of the one which is appended
// to, and that of large messages until their last byte was appended.
func TestMemoryIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const free, size = 64 << 10, 1 << 20
		m := held.New(1 << 30)
		c := &fakeConn{gate: make(chan struct{})}
		w := new(Writer)
		w.Init(c, new(fakeOwner), size, &backlog.Backlog{Account: m.Open(func() {})})
		data := func() {
			w.Lock()
			w.FrameLocked(wire.Header{Type: wire.TypeData}, make([]byte, wire.MaxPayload))
			w.NoteLocked()
		}
		for range size / wire.MaxPayload {
			data()
			w.Unlock()
		}
		go w.Flush()
		synctest.Wait()
		for range size / wire.MaxPayload / 2 {
			data()
			w.Unlock()
		}
		data()
		w.Large.Add(&bulk.Message{Head: wire.Header{Type: wire.TypeReply}, Buf: &buffer.Buffer{B: make([]byte, size, 2*size)}})
		w.NoteLocked()
		w.Unlock()
		if n := m.Held(); n < size+size/2+2*size-noteStep-free {
			t.Errorf("%d bytes are counted of one buffer that is being written, one of half its size that waits, and a large message in one of twice its size", n)
		}
		close(c.gate)
		synctest.Wait()
		w.Lock()
		w.LookLocked(0)
		w.LookLocked(0)
		w.Unlock()
		if n := m.Held(); n != 0 {
			t.Errorf("%d bytes are counted when all was written", n)
		}
		resting(t, w)
	})
}
