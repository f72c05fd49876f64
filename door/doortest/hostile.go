package doortest

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// testUnread has a client make calls and read no replies: its connection ends with
// Limits.WriteTimeout, and nothing of its calls is left.
func testUnread(t *testing.T, k Kit) {
	w := start(t, k, &weft.ServerConfig{Limits: weft.Limits{WriteTimeout: 200 * time.Millisecond, WriteBuffer: 64 << 10}})
	conn, err := net.Dial("tcp", w.addr)
	must(t, err)
	must(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	c, m := w.unreading(conn)
	if c == nil {
		return
	}
	var wg sync.WaitGroup
	if k.OneCall {
		c.Close()
		w.testUnreadRequests()
		return
	}
	for range 64 {
		async(&wg, c, "Test.Echo", &Message{Text: strings.Repeat("x", 512<<10)})
	}
	polltest.True(t, patience, "the connection is accepted", func() bool { return w.srv.Stats().Accepted == 1 })
	polltest.True(t, patience, "the connection ends", func() bool { return len(w.srv.Peers()) == 0 })
	m.Close()
	c.Close()
	wg.Wait()
	echo(t, w.dial(), Message{"afterwards", 1})
}

// unreading makes a client that reads nothing, once it is connected; nil: it gives up, since it cannot connect.
func (w *world) unreading(conn net.Conn) (Client, *muted) {
	w.t.Helper()
	m := newMuted(conn)
	w.t.Cleanup(func() { m.Close() })
	if !w.k.Handshake {
		m.mute()
	}
	c, err := w.k.Dial(m)
	if err != nil {
		return nil, m
	}
	m.mute()
	return c, m
}

// testUnreadRequests is testUnread for a client that sends requests without waiting for replies,
// which a client of a wire with one call at a time does not do.
func (w *world) testUnreadRequests() {
	t := w.t
	conn, err := net.Dial("tcp", w.addr)
	must(t, err)
	r := &recorded{Conn: conn}
	c := w.client(r)
	echo(t, c, Message{Text: strings.Repeat("x", 512<<10)})
	c.Close()
	polltest.True(t, patience, "the recorded connection ends", func() bool { return len(w.srv.Peers()) == 0 })
	conn, err = net.Dial("tcp", w.addr)
	must(t, err)
	defer conn.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		for err == nil {
			_, err = conn.Write(r.bytes)
		}
	})
	polltest.True(t, patience, "the connection is accepted", func() bool { return w.srv.Stats().Accepted == 2 })
	polltest.True(t, patience, "the connection ends", func() bool { return len(w.srv.Peers()) == 0 })
	conn.Close()
	wg.Wait()
	echo(t, w.dial(), Message{"afterwards", 1})
}

// testUnreadMemory makes many calls with large replies and reads none: few replies are encoded.
func testUnreadMemory(t *testing.T, k Kit) {
	if k.OneCall {
		return // one reply is encoded at a time
	}
	const calls, most = 300, 100 << 20
	// Calls are to be taken also on a busy machine, on which the protection would refuse some.
	w := start(t, k, &weft.ServerConfig{Limits: weft.Limits{WriteTimeout: 10 * patience}, Overload: weft.Overload{Off: true}})
	conn, err := net.Dial("tcp", w.addr)
	must(t, err)
	c, m := w.unreading(conn)
	if c == nil {
		return
	}
	var wg sync.WaitGroup
	for range calls {
		async(&wg, c, "Test.Big", &Message{})
	}
	before := HeapInUse()
	polltest.True(t, patience, "the calls have come, and as many handlers have run as may", func() bool {
		stats := w.srv.Stats()
		came := stats.InFlight
		for _, m := range stats.Methods {
			came += int(m.Calls)
		}
		return came >= calls && w.big.Load() > 0
	})
	for range 20 {
		if now := HeapInUse(); now > before+most {
			t.Errorf("%d MiB are held for %d replies that a client does not read", (now-before)>>20, calls)
			break
		}
		time.Sleep(10 * time.Millisecond) // the replies are being encoded
	}
	m.Close()
	c.Close()
	wg.Wait()
	polltest.True(t, patience, "no call is left", func() bool { return w.srv.Stats().InFlight == 0 })
}

// testLongName calls methods with long names, which are not held or sent back.
func testLongName(t *testing.T, k Kit) {
	w := start(t, k, nil)
	for _, n := range []int{256, 1000, 1 << 20} {
		err := w.dial().Call("Test."+strings.Repeat("x", n), &Message{}, new(Message))
		if err == nil || len(err.Error()) > 4<<10 {
			t.Errorf("a method whose name has %d bytes: an error of %d bytes", n, len(err.Error()))
		}
	}
	echo(t, w.dial(), Message{"afterwards", 1})
}

// testBusyDrain shuts down while clients go on calling: a call that runs is answered, and
// Shutdown ends.
func testBusyDrain(t *testing.T, k Kit) {
	w := start(t, k, nil)
	var wg sync.WaitGroup
	for range 4 {
		c := w.dial()
		for range 4 {
			wg.Go(func() {
				for {
					var back Message
					if err := c.Call("Test.Echo", &Message{"busy", 1}, &back); err != nil {
						return
					}
					if back.N != 1 {
						t.Errorf("came back as %+v", back)
					}
				}
			})
		}
	}
	polltest.True(t, patience, "calls are made", func() bool {
		m := w.srv.Stats().Methods
		return len(m) > 0 && m[0].Calls > 100
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must(t, w.srv.Shutdown(ctx))
	if s := w.srv.Stats(); s.InFlight != 0 || s.Connections != 0 {
		t.Errorf("after Shutdown: %+v", s)
	}
	wg.Wait()
}
