package keepalive

import (
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/backlog"
	"github.com/weftrpc/weft/internal/bulk"
	"github.com/weftrpc/weft/internal/outbuf"
	"github.com/weftrpc/weft/internal/wire"
)

// fakeConn keeps the numbers of the pings that are written to it.
type fakeConn struct {
	net.Conn // nil: nothing else is called
	gate     chan struct{}

	mu      sync.Mutex
	numbers []uint64
}

func (c *fakeConn) Write(b []byte) (int, error) {
	if c.gate != nil {
		<-c.gate
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for rest := b; len(rest) >= wire.HeaderSize+PingSize; rest = rest[wire.HeaderSize+PingSize:] {
		c.numbers = append(c.numbers, binary.LittleEndian.Uint64(rest[wire.HeaderSize:]))
	}
	return len(b), nil
}

// pings are the numbers of the pings that were sent.
func (c *fakeConn) pings() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.numbers
}

// fakeOwner is the session of a Writer and its Keeper.
type fakeOwner struct {
	epoch  time.Time
	roused atomic.Int32
}

func (o *fakeOwner) OpenLocked() int                 { return 0 }
func (o *fakeOwner) BindLocked(*bulk.Message)        {}
func (o *fakeOwner) WriteFailed(error, *wire.Status) {}
func (o *fakeOwner) Go(f func())                     { go f() } // the goroutine ends with f
func (o *fakeOwner) Now() int64                      { return int64(time.Since(o.epoch)) + 1 }
func (o *fakeOwner) Rouse()                          { o.roused.Add(1) }
func pong8(number uint64) []byte                     { return binary.LittleEndian.AppendUint64(nil, number) }

// newKeeper returns a Keeper with pings every second, every ten seconds without calls, that are answered within three.
func newKeeper(c *fakeConn) (*Keeper, *outbuf.Writer, *fakeOwner) {
	w, k, o := new(outbuf.Writer), new(Keeper), &fakeOwner{epoch: time.Now()}
	w.Init(c, o, 1<<20, new(backlog.Backlog))
	k.Init(w, o, Limits{Interval: time.Second, Idle: 10 * time.Second, Timeout: 3 * time.Second, WritesEnd: true})
	k.Read(o.Now())
	return k, w, o
}

// A ping is sent after silence, sooner while calls are open, and the peer is gone when nothing comes back.
func TestSilence(t *testing.T) {
	for _, busy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := new(fakeConn)
			k, _, o := newKeeper(c)
			silence := 10 * time.Second
			if busy {
				silence = time.Second
			}
			from := time.Now()
			run := func(until func() bool) time.Duration {
				for !until() {
					if !k.Look(o.Now(), busy) {
						break
					}
					synctest.Wait()
					if !until() {
						time.Sleep(max(k.Next(o.Now(), busy), time.Millisecond))
					}
				}
				return time.Since(from)
			}
			sent := func(n int) func() bool { return func() bool { return len(c.pings()) >= n } }
			if took := run(sent(1)); took != silence || o.roused.Load() != 1 {
				t.Errorf("busy %v: the first ping was sent after %v, want %v", busy, took, silence)
			}
			time.Sleep(time.Second)
			k.Pong(pong8(0))
			k.Read(o.Now())
			from = time.Now()
			if took := run(sent(2)); took != silence {
				t.Errorf("busy %v: the second ping was sent after %v, want %v", busy, took, silence)
			}
			from = time.Now()
			if took := run(func() bool { return false }); took != 3*time.Second {
				t.Errorf("busy %v: the peer was gone after %v, want 3s", busy, took)
			}
		})
	}
}

// Whatever comes after a ping shows that the peer is there.
func TestReadIsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, _, o := newKeeper(new(fakeConn))
		for range 20 {
			time.Sleep(time.Second)
			if !k.Look(o.Now(), true) {
				t.Fatal("the peer is gone though bytes come")
			}
			synctest.Wait()
			time.Sleep(time.Millisecond)
			k.Read(o.Now())
		}
	})
}

// The time in which the process is stopped does not count as silence of the peer, but a peer that stays silent is gone.
func TestStoppedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(fakeConn)
		k, _, o := newKeeper(c)
		for len(c.pings()) == 0 {
			time.Sleep(k.Next(o.Now(), true))
			k.Look(o.Now(), true)
			synctest.Wait()
		}
		for range 2 { // the process is stopped twice within the time of an answer
			time.Sleep(k.Next(o.Now(), true) + 10*time.Second)
			if !k.Look(o.Now(), true) {
				t.Fatal("the peer is gone, though its answer may not have been read yet")
			}
		}
		from := time.Now()
		for {
			time.Sleep(k.Next(o.Now(), true))
			if !k.Look(o.Now(), true) {
				break
			}
		}
		if took := time.Since(from); took > 3*time.Second {
			t.Errorf("the peer was gone after %v, want at most 3s", took)
		}
	})
}

// While a write is under way, which has a limit of its own, no ping is sent.
func TestNoPingBehindWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeConn{gate: make(chan struct{})}
		k, w, o := newKeeper(c)
		w.Lock()
		w.FrameLocked(wire.Header{Type: wire.TypeData}, nil)
		w.Unlock()
		go w.Flush()
		for range 20 {
			time.Sleep(time.Second)
			if !k.Look(o.Now(), true) {
				t.Fatal("the peer is gone though no ping was sent")
			}
			if d := k.Next(o.Now(), true); d <= 0 || d > time.Second {
				t.Fatalf("the next look is in %v", d)
			}
		}
		close(c.gate)
		synctest.Wait()
		if n := len(c.pings()); n != 0 {
			t.Errorf("%d pings were sent", n)
		}
	})
}

// Callers that come while a ping is on the wire share the next one, which is not sent too soon.
func TestSharedPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(fakeConn)
		k, w, _ := newKeeper(c)
		answered := func(p <-chan struct{}) bool {
			select {
			case <-p:
				return true
			default:
				return false
			}
		}
		first := k.Ping()
		synctest.Wait()
		var later []<-chan struct{}
		for range 100 {
			later = append(later, k.Ping())
		}
		k.Pong(pong8(77)) // of nothing
		k.Pong(pong8(1))
		if !answered(first) || answered(later[0]) {
			t.Error("the answer to the first ping is not that of its caller alone")
		}
		synctest.Wait()
		if n := len(c.pings()); n != 1 {
			t.Errorf("%d pings were sent at once, want 1", n)
		}
		time.Sleep(Space)
		synctest.Wait()
		if n := c.pings(); len(n) != 2 || n[1] != 2 {
			t.Errorf("the pings %v were sent, want two", n)
		}
		w.Lock()
		if !k.AwaitedLocked() {
			t.Error("no caller waits for the second ping")
		}
		w.Unlock()
		k.Pong(pong8(2))
		for i, p := range later {
			if !answered(p) {
				t.Fatalf("caller %d was not told of the answer", i)
			}
		}
		w.Lock()
		if k.AwaitedLocked() {
			t.Error("a caller waits though all were told")
		}
		w.Unlock()
	})
}
