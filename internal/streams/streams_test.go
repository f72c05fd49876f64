package streams

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/buffer"
	"github.com/weftrpc/weft/internal/wire"
)

// owner counts what it is told.
type owner struct {
	counted atomic.Int64
	memory  atomic.Int64
	most    int64 // that may be counted
	lapses  atomic.Int32
}

func (o *owner) Count(n, memory int) bool {
	o.memory.Add(int64(memory))
	return o.counted.Add(int64(n)) <= o.most
}

func (o *owner) Lapsed() { o.lapses.Add(1) }

// newState returns a State whose owner may hold much.
func newState(window, credit int) (*State, *owner) {
	s, o := new(State), &owner{most: 1 << 40}
	s.Init(o, window, credit)
	return s, o
}

// awaitCredit and next are the methods with a context that does not end.
func awaitCredit(s *State) Outcome { return s.AwaitCredit(context.Background()) }

func next(s *State) (Message, int, Outcome) { return s.Next(context.Background()) }

// A message may be begun while there is credit, and costs its length and Cost.
func TestCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newState(0, 100)
		for i, size := range []int{0, 50, 1000} {
			if o := awaitCredit(s); o != Ready {
				t.Fatalf("message %d may not be begun: %d", i, o)
			}
			s.Sent(size, 1)
		}
		got := make(chan Outcome, 1)
		go func() { got <- awaitCredit(s) }()
		owed := uint32(50 + 1000 + 3*Cost - 100)
		for _, n := range []uint32{owed, 1} { // which lift it to 0 and above
			synctest.Wait()
			if len(got) > 0 {
				t.Fatal("a message may be begun without credit")
			}
			if err := s.Allow(n); err != nil {
				t.Fatal(err)
			}
		}
		if o := <-got; o != Ready {
			t.Errorf("the wait ended with %d", o)
		}
		if sent, _ := s.Bytes(); sent != 1050 {
			t.Errorf("%d bytes were sent, want 1050", sent)
		}
		if s.Allow(MaxCredit-1) != nil || s.Allow(1) == nil {
			t.Error("the bound of the credit is not MaxCredit")
		}
	})
}

// The peer gets back what was received, half a window at a time.
func TestCreditIsGivenBack(t *testing.T) {
	s, _ := newState(10*Cost, 0)
	back := 0
	for i := range 100 {
		if err := s.Put(nil, false, false); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		_, give, o := next(s)
		if o != Ready || give != 0 && give != 5*Cost {
			t.Fatalf("message %d: %d, with %d of credit", i, o, give)
		}
		back += give
	}
	if back != 100*Cost {
		t.Errorf("%d of credit were given back, want %d", back, 100*Cost)
	}
}

// A peer that has no credit may send nothing: neither before nor after the end of the call, or of its own messages.
func TestPutBeyondCredit(t *testing.T) {
	for name, end := range map[string]func(*State){
		"open":   func(*State) {},
		"closed": func(s *State) { s.CloseRecv() },
		"over":   func(s *State) { s.End(nil, "") },
	} {
		s, _ := newState(3*Cost+1, 0)
		if err := s.Put(nil, false, false); err != nil {
			t.Fatal(err)
		}
		end(s)
		for i := range 3 {
			if err := s.Put(nil, false, false); err != nil {
				t.Errorf("%s: message %d: %v", name, i, err)
			}
		}
		if err := s.Put(nil, false, false); err != ErrCredit {
			t.Errorf("%s: a message that was begun without credit: %v", name, err)
		}
		if _, give, o := next(s); o != Ready || name != "open" && give != 0 {
			t.Errorf("%s: the message before the end: %d, and %d of credit", name, o, give)
		}
	}
}

// What has come before the end is received before it.
func TestEndComesLast(t *testing.T) {
	s, _ := newState(1000, 1000)
	why := &wire.Status{Code: wire.Internal}
	s.Put([]byte("one"), true, true)
	s.Put([]byte("two"), false, false)
	s.End(why, "meta")
	s.End(nil, "other")
	s.Put([]byte("late"), false, false)
	for i, want := range []string{"one", "two"} {
		m, _, o := next(s)
		if o != Ready || string(m.Body) != want || m.Compressed != (i == 0) {
			t.Errorf("message %d: %d, %q", i, o, m.Body)
		}
		m.Release()
	}
	if _, _, o := next(s); o != Over {
		t.Errorf("at the end: %d", o)
	}
	if over, status := s.Ended(); !over || status != why || s.Meta() != "meta" {
		t.Errorf("the call ended with %v, %+v, %q", over, status, s.Meta())
	}
	if o := awaitCredit(s); o != Over || s.CloseSend() {
		t.Errorf("a message may be begun: %d", o)
	}
	if _, came := s.Bytes(); came != 6 {
		t.Errorf("%d bytes have come, want 6", came)
	}
}

// Each direction closes once, and by itself.
func TestClose(t *testing.T) {
	s, _ := newState(1000, 1000)
	if !s.CloseSend() || s.CloseSend() {
		t.Error("CloseSend does not tell whether it was the first")
	}
	if o := awaitCredit(s); o != Closed {
		t.Errorf("a message may be begun: %d", o)
	}
	s.Put([]byte("one"), false, false)
	if !s.CloseRecv() || s.CloseRecv() {
		t.Error("CloseRecv does not tell whether it was the first")
	}
	if _, give, o := next(s); o != Ready || give != 0 {
		t.Errorf("the last message: %d, and %d of credit", o, give)
	}
	if _, _, o := next(s); o != Closed {
		t.Errorf("at the end: %d", o)
	}
}

// What ends a wait: the end of the call, of the peer's messages, of the context. A context that ends with the call does not
// hide how the call has ended.
func TestWaitsEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		end        func(s *State, cancel func())
		send, recv Outcome
	}{
		"call":    {func(s *State, _ func()) { s.End(nil, "") }, Over, Over},
		"context": {func(_ *State, cancel func()) { cancel() }, Left, Left},
		"both":    {func(s *State, cancel func()) { s.End(nil, ""); cancel() }, Over, Over},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := newState(1000, 0)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				send, recv := make(chan Outcome, 1), make(chan Outcome, 1)
				go func() { send <- s.AwaitCredit(ctx) }()
				go func() { _, _, o := s.Next(ctx); recv <- o }()
				synctest.Wait()
				tc.end(s, cancel)
				if o := <-send; o != tc.send {
					t.Errorf("the sender's wait ended with %d, want %d", o, tc.send)
				}
				if o := <-recv; o != tc.recv {
					t.Errorf("the receiver's wait ended with %d, want %d", o, tc.recv)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s, _ := newState(1000, 0)
		time.AfterFunc(time.Second, func() { s.CloseRecv() })
		if _, _, o := next(s); o != Closed {
			t.Errorf("the receiver's wait ended with %d", o)
		}
		time.AfterFunc(time.Second, func() { s.End(nil, "") })
		if s.AwaitEnd(); !s.Over() {
			t.Error("AwaitEnd returned before the end")
		}
	})
}

// What a receiver does not receive is counted for the connection, and no longer once the stream is given up.
func TestCount(t *testing.T) {
	s, o := newState(1<<20, 0)
	for range 100 {
		s.Put(make([]byte, 1000), false, false)
	}
	if n := o.counted.Load(); n < 100_000 || n > 100_000+2*countStep {
		t.Errorf("%d bytes are counted, want about 100,000", n)
	}
	for range 90 {
		next(s)
	}
	if n := o.counted.Load(); n < 10_000 || n > 10_000+3*countStep {
		t.Errorf("%d bytes are counted, want about 10,000", n)
	}
	s.Forget()
	if n := o.counted.Load(); n != 0 {
		t.Errorf("%d bytes are counted of a stream that was given up", n)
	}
	next(s)
	s.Put(make([]byte, 100_000), false, false)
	if n := o.counted.Load(); n != 0 {
		t.Errorf("%d bytes are counted of a stream that was given up", n)
	}
	s, o = newState(1<<20, 0)
	for range 4 { // put together in buffers of twice their size
		s.Put(make([]byte, 100_000, 200_000), true, false)
	}
	if n, memory := o.counted.Load(), o.memory.Load(); n > 400_000+2*countStep || memory < 800_000 || memory > 800_000+2*countStep {
		t.Errorf("%d bytes are counted, and memory of %d, want about 400,000, and twice that", n, memory)
	}
	next(s)
	if memory := o.memory.Load(); memory < 600_000 || memory > 600_000+3*countStep {
		t.Errorf("memory of %d bytes is counted, want about 600,000", memory)
	}
	s.Forget()
	next(s)
	if n, memory := o.counted.Load(), o.memory.Load(); n != 0 || memory != 0 {
		t.Errorf("%d bytes are counted of a stream that was given up, and memory of %d", n, memory)
	}
	s, o = newState(1<<20, 0)
	o.most = 0
	if err := s.Put(make([]byte, uncounted), false, false); err != ErrFull {
		t.Errorf("a message for which the connection has no room: %v", err)
	}
}

// A message that is unfinished when the call ends lapses, once, also when it begins just then.
func TestUnfinishedMessageLapses(t *testing.T) {
	s, o := newState(1000, 0)
	s.Began()
	s.Finished()
	if s.End(nil, ""); o.lapses.Load() != 0 {
		t.Error("a message lapsed that had come whole")
	}
	if s.Began(); o.lapses.Load() != 1 {
		t.Errorf("%d messages lapsed, want the one that began after the end", o.lapses.Load())
	}
	s, o = newState(1000, 0)
	s.Began()
	s.End(nil, "")
	if s.End(nil, ""); o.lapses.Load() != 1 {
		t.Errorf("%d messages lapsed, want 1", o.lapses.Load())
	}
}

// Messages that wait hold about the memory that they were given credit for.
func TestQueuedMessagesHoldLittle(t *testing.T) {
	s, _ := newState(1<<20, 0)
	for i := range 3000 {
		s.Put(make([]byte, i%3), false, false)
	}
	held := 0
	for _, m := range s.in.queue {
		held += cap(m.buf.B)
	}
	if len(s.in.queue) != 3000 || held > 2*buffer.Small {
		t.Errorf("%d messages of at most two bytes hold %d", len(s.in.queue), held)
	}
	// The pool has large buffers, and the only message of a stream may wait for long.
	for range 100 {
		(&buffer.Buffer{B: make([]byte, 0, buffer.Small)}).Release()
		s, _ := newState(1<<20, 0)
		if s.Put([]byte("x"), false, false); cap(s.in.queue[0].buf.B) > uncounted {
			t.Fatalf("a message of one byte holds %d", cap(s.in.queue[0].buf.B))
		}
	}
}

// What has lapsed is told once.
func TestLapsed(t *testing.T) {
	var l Lapsed
	told := map[lapse]int{}
	take := func() { l.Take(func(id uint32, answer bool) { told[lapse{id, answer}]++ }) }
	take()
	l.Add(1, true)
	l.Add(2, false)
	take()
	take()
	if want := map[lapse]int{{1, true}: 1, {2, false}: 1}; !maps.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

// Two ends that give each other all messages and all credit never wait for each other, and the receiver holds no more than its window
// and one message.
func TestTwoEnds(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { twoEnds(t, seed) })
	}
}

func twoEnds(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	const count, longest = 500, 3000
	window := 1 + random.IntN(4*longest)
	from, _ := newState(0, window)
	to, counted := newState(window, 0)
	sizes := make([]int, count)
	for i := range sizes {
		sizes[i] = random.IntN(longest)
	}
	body := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, sizes[i]) }
	credit := make(chan int, count)
	go func() {
		for n := range credit {
			if err := from.Allow(uint32(n)); err != nil {
				t.Error(err)
			}
		}
	}()
	go func() {
		for i := range count {
			if o := awaitCredit(from); o != Ready {
				t.Errorf("message %d may not be begun: %d", i, o)
			}
			from.Sent(sizes[i], int64(i))
			if err := to.Put(body(i), i%2 == 0, false); err != nil {
				t.Errorf("message %d: %v", i, err)
			}
			to.mu.Lock()
			if held := to.in.held; held > window+longest+Cost {
				t.Errorf("%d bytes wait with a window of %d", held, window)
			}
			to.mu.Unlock()
		}
		to.CloseRecv()
	}()
	for i := range count {
		m, give, o := next(to)
		if o != Ready || !bytes.Equal(m.Body, body(i)) {
			t.Fatalf("seed %d, message %d: %d, %d bytes", seed, i, o, len(m.Body))
		}
		m.Release()
		if give > 0 {
			credit <- give
		}
	}
	close(credit)
	if _, _, o := next(to); o != Closed || counted.counted.Load() != 0 {
		t.Errorf("at the end: %d, %d bytes are counted", o, counted.counted.Load())
	}
}
