// Package listen has the servers of peers listen: by the server of a library, or by an accept loop of its own for peers that
// speak plain TCP.
package listen

import (
	"context"
	"net"
	"sync"
)

// Until listens on addr, calls ready with the address, and calls serve, which returns after stop. It calls stop when ctx
// ends; what serve returns then is no error.
func Until(ctx context.Context, addr string, ready func(addr string), serve func(net.Listener) error, stop func()) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, stop)()
	ready(listener.Addr().String())
	if err := serve(listener); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// Serve listens on addr, calls ready with the address, and runs handle in a
// goroutine for each connection until ctx ends. It closes each connection when
// its handle returns, and all of them at the end, and waits for the goroutines.
// What handle returns is dropped: the client sees a closed connection.
func Serve(ctx context.Context, addr string, ready func(addr string), handle func(net.Conn) error) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	conns := &open{conns: make(map[net.Conn]struct{})}
	stop := context.AfterFunc(ctx, func() {
		listener.Close()
		conns.closeAll()
	})
	defer stop()
	ready(listener.Addr().String())

	var handlers sync.WaitGroup
	for {
		conn, err := listener.Accept()
		if err != nil {
			listener.Close()
			conns.closeAll()
			handlers.Wait()
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if !conns.add(conn) {
			continue
		}
		handlers.Go(func() { // ends when the connection does
			_ = handle(conn)
			conns.remove(conn)
		})
	}
}

// open is the set of open connections.
type open struct {
	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// add reports whether conn may be used; if not it is closed.
func (o *open) add(conn net.Conn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		conn.Close()
		return false
	}
	o.conns[conn] = struct{}{}
	return true
}

func (o *open) remove(conn net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.conns, conn)
	conn.Close()
}

func (o *open) closeAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for conn := range o.conns {
		conn.Close()
	}
}
