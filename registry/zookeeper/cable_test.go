package zookeeper

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
)

// cable is the network between a driver and a server.
type cable struct {
	address string // what the driver connects to
	target  string

	mu      sync.Mutex
	stalled chan struct{} // closed when it is not
	conns   map[net.Conn]struct{}
	closed  bool
}

// newCable lays a cable to a server; with a TLS configuration the driver's end is
// encrypted.
func newCable(t *testing.T, target string, config *tls.Config) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{address: l.Addr().String(), target: target, conns: make(map[net.Conn]struct{}), stalled: make(chan struct{})}
	close(c.stalled)
	if config != nil {
		l = tls.NewListener(l, config)
	}
	var wg sync.WaitGroup
	// It ends when the listener is closed.
	wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { c.carry(near) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		c.flow()
		c.cut()
		wg.Wait()
	})
	return c
}

// carry carries one connection to its end.
func (c *cable) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", c.target)
	if err != nil {
		return
	}
	defer far.Close()
	c.mu.Lock()
	c.conns[near], c.conns[far] = struct{}{}, struct{}{}
	if c.closed {
		near.Close()
	}
	c.mu.Unlock()
	var wg sync.WaitGroup
	// Both end when either side is closed.
	wg.Go(func() { c.pump(far, near) })
	wg.Go(func() { c.pump(near, far) })
	wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, near)
	delete(c.conns, far)
}

func (c *cable) pump(to, from net.Conn) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		c.mu.Lock()
		stalled := c.stalled
		c.mu.Unlock()
		<-stalled
		if _, e := to.Write(buf[:n]); e != nil || err != nil {
			break
		}
	}
	if err := to.Close(); err == nil {
		_, _ = io.Copy(io.Discard, from)
	}
}

// stall keeps everything back that is sent from now on, in both directions.
func (c *cable) stall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if isClosed(c.stalled) {
		c.stalled = make(chan struct{})
	}
}

// flow lets everything through again.
func (c *cable) flow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !isClosed(c.stalled) {
		close(c.stalled)
	}
}

// cut ends all connections; new ones can be made.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.conns {
		conn.Close()
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
