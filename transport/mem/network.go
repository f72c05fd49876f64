// Package mem is a network inside one process, for tests and for services that
// share a program.
//
// A [Network] is a transport; [Pipe] is one connection without a network. Its
// connections behave like sockets: writes complete into a bounded buffer, the
// reader gets what was sent before a close, deadlines end waits. They start no
// goroutine and block on nothing but sync.Cond, channels and timers, so they work
// in a [testing/synctest] bubble.
//
// Every connection can be made to misbehave, exactly and repeatably: see
// [Direction].
package mem

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// backlog is how many dialed connections may wait for Accept, per listener. The
// next Dial waits.
const backlog = 128

// Addr is the name of a listener or of a dialing end.
type Addr string

// Network returns "mem".
func (a Addr) Network() string { return "mem" }

// String returns the name, in the form that Dial takes.
func (a Addr) String() string { return string(a) }

// Network is a set of listeners that find each other by name. It implements
// transport.Transport. All methods may be called from many goroutines.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	serial    int // numbers the names chosen for listeners and dialing ends
	intercept func(addr string, client, server *Conn) error
}

// New returns an empty network. A listener is found in its own network only.
func New() *Network {
	return &Network{listeners: make(map[string]*listener)}
}

// Scheme returns "mem".
func (n *Network) Scheme() string { return "mem" }

// Intercept has f called for every later Dial that found a listener, with both ends
// before any other code has them: the place to set faults. An error fails the Dial. A
// nil f ends it. f runs on the goroutine that dials.
func (n *Network) Intercept(f func(addr string, client, server *Conn) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.intercept = f
}

// Listen starts to listen under a name of any form. An empty name lets the network
// choose one. A name in use is an error that is [syscall.EADDRINUSE].
func (n *Network) Listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := n.listen(ctx, addr)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "mem", Addr: Addr(addr), Err: err}
	}
	return l, nil
}

func (n *Network) listen(ctx context.Context, addr string) (*listener, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for addr == "" {
		n.serial++
		if name := fmt.Sprintf("server-%d", n.serial); n.listeners[name] == nil {
			addr = name
		}
	}
	if n.listeners[addr] != nil {
		return nil, syscall.EADDRINUSE
	}
	l := &listener{
		network: n,
		addr:    Addr(addr),
		queue:   make(chan *Conn, backlog),
		done:    make(chan struct{}),
	}
	n.listeners[addr] = l
	return l, nil
}

// Dial connects to the listener called addr; it does not wait for Accept. Without
// such a listener the error is [syscall.ECONNREFUSED]. The connection is a *[Conn].
func (n *Network) Dial(ctx context.Context, addr string) (net.Conn, error) {
	c, err := n.dial(ctx, addr)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "mem", Addr: Addr(addr), Err: err}
	}
	return c, nil
}

func (n *Network) dial(ctx context.Context, addr string) (*Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	l, intercept := n.listeners[addr], n.intercept
	n.serial++
	from := Addr(fmt.Sprintf("client-%d", n.serial))
	n.mu.Unlock()
	if l == nil {
		return nil, syscall.ECONNREFUSED
	}
	client, server := pipe(from, l.addr, DefaultBuffer)
	if intercept != nil {
		if err := intercept(addr, client, server); err != nil {
			return nil, err
		}
	}
	select {
	case l.queue <- server:
	case <-l.done:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.closed() {
		// Close may have emptied the queue just before this connection went in.
		l.drain()
		client.Close()
		return nil, syscall.ECONNREFUSED
	}
	return client, nil
}

// listener hands over the connections that Dial put into its queue.
type listener struct {
	network *Network
	addr    Addr
	queue   chan *Conn
	done    chan struct{} // closed by Close
	once    sync.Once
}

// Accept waits for the next connection, a *[Conn].
func (l *listener) Accept() (net.Conn, error) {
	if !l.closed() {
		select {
		case c := <-l.queue:
			return c, nil
		case <-l.done:
		}
	}
	return nil, &net.OpError{Op: "accept", Net: "mem", Addr: l.addr, Err: net.ErrClosed}
}

// Close frees the name and closes the connections that were not accepted.
func (l *listener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		delete(l.network.listeners, string(l.addr))
		l.network.mu.Unlock()
		close(l.done)
		l.drain()
	})
	return nil
}

// Addr returns the listener's name.
func (l *listener) Addr() net.Addr { return l.addr }

func (l *listener) closed() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

func (l *listener) drain() {
	for {
		select {
		case c := <-l.queue:
			c.Close()
		default:
			return
		}
	}
}
