//go:build unix

package adversary

import (
	"net"
	"sync"
	"testing"
	"time"
)

// proxy forwards connections to an address, until it is told not to.
type proxy struct {
	to       string
	listener net.Listener
	work     sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	hole   chan struct{} // closed when bytes pass again; nil: they pass
	closed bool
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{to: to, listener: l, conns: make(map[net.Conn]struct{})}
	p.work.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.to)
		if err != nil {
			in.Close()
			continue
		}
		if !p.keep(in, out) {
			return
		}
		p.work.Go(func() { p.copy(out, in) })
		p.work.Go(func() { p.copy(in, out) })
	}
}

func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = struct{}{}
		if p.closed {
			c.Close()
		}
	}
	return !p.closed
}

// copy forwards one direction. In a black hole neither bytes nor the end of a connection pass.
func (p *proxy) copy(to, from net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		p.mu.Lock()
		hole := p.hole
		p.mu.Unlock()
		if hole != nil {
			<-hole
		}
		if err == nil {
			_, err = to.Write(b[:n])
		}
		if err != nil {
			to.Close()
			from.Close()
			p.mu.Lock()
			delete(p.conns, to)
			delete(p.conns, from)
			p.mu.Unlock()
			return
		}
	}
}

// swallow has everything vanish for a while.
func (p *proxy) swallow(d time.Duration) {
	p.mu.Lock()
	p.hole = make(chan struct{})
	p.mu.Unlock()
	time.Sleep(d)
	p.mu.Lock()
	close(p.hole)
	p.hole = nil
	p.mu.Unlock()
}

// reset resets every connection.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
}
