package drain

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// One goroutine begins the drain and waits for the peer; the others wait until it is ready.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d State
		if d.Ack() || d.Expected() {
			t.Error("the peer agrees to a drain that has not begun")
		}
		if !d.Begin() || d.Begin() || !d.Expected() {
			t.Error("the drain does not begin once")
		}
		var agreed, ready atomic.Bool
		go func() {
			agreed.Store(d.AwaitAck(time.Hour, nil, nil))
			d.Ready()
		}()
		for range 3 {
			go func() { ready.Store(d.AwaitReady(nil, nil)) }()
		}
		synctest.Wait()
		if agreed.Load() || ready.Load() {
			t.Error("a wait has ended before the peer has agreed")
		}
		if !d.Ack() || d.Ack() {
			t.Error("the peer does not agree once")
		}
		synctest.Wait()
		if !agreed.Load() || !ready.Load() {
			t.Error("a wait goes on though the peer has agreed")
		}
	})
}

// A peer that does not agree is waited for in vain for a bounded time; stop and the end of the session end the wait.
func TestWaitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		close(closed)
		var d State
		from := time.Now()
		if !d.AwaitAck(time.Minute, nil, nil) || time.Since(from) != time.Minute {
			t.Errorf("the wait for the peer took %v", time.Since(from))
		}
		for _, end := range []bool{true, false} {
			var ended, stop chan struct{}
			if end {
				ended = closed
			} else {
				stop = closed
			}
			if d.AwaitAck(time.Minute, ended, stop) == end || d.AwaitReady(ended, stop) == end {
				t.Errorf("the end of the session is told wrongly when it is %v", end)
			}
			if d.Settle(func() bool { return false }, ended, stop) != end {
				t.Errorf("settled though calls are open and the end of the session is %v", end)
			}
		}
	})
}

// All goroutines that wait for the last call are woken.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d State
		d.Wake() // no goroutine waits
		var open, settled atomic.Int32
		open.Store(2)
		for range 5 {
			go func() {
				if d.Settle(func() bool { return open.Load() == 0 }, nil, nil) {
					settled.Add(1)
				}
			}()
		}
		for open.Load() > 0 {
			synctest.Wait()
			if n := settled.Load(); n != 0 {
				t.Errorf("%d goroutines see no open call while there are %d", n, open.Load())
			}
			open.Add(-1)
			d.Wake()
		}
		synctest.Wait()
		if n := settled.Load(); n != 5 {
			t.Errorf("%d goroutines were woken, want 5", n)
		}
	})
}

// The peer's drain is noted once.
func TestPeer(t *testing.T) {
	var d State
	if d.Peer() || !d.PeerBegan() || d.PeerBegan() || !d.Peer() || !d.Expected() {
		t.Error("the drain of the peer is not noted once")
	}
}
