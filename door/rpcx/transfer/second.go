package transfer

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
)

// second is a second connection and the call that it is.
type second struct {
	conn    net.Conn
	ctx     context.Context // of the call, once its handler runs
	ticket  *ticket
	timeout time.Duration // of a write
	idle    time.Duration // of a read of an upload

	canceled chan struct{} // closed when the context has ended before the handler
	unwatch  func() bool   // the context; nil: it is not watched

	came, sent atomic.Int64

	mu     sync.Mutex
	over   bool // the context has ended before the handler: nothing is read or written any more
	ended  bool // the handler has returned
	failed bool // with an error, or has not sent all
	own    bool // the handler has set a write deadline
	closed bool // by the handler: nothing is read or written any more
}

var (
	_ weft.Inbound      = (*second)(nil)
	_ weft.InboundSizer = (*second)(nil)
)

// past is a deadline that ends reads and writes at once.
func past() time.Time { return time.Unix(1, 0) }

// interrupt ends the reads and writes of a call whose context has ended.
func (s *second) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.over = true
		s.conn.SetDeadline(past())
		close(s.canceled)
	}
}

// end notes that the call was answered. Its context ends then too.
func (s *second) end(failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.failed = true, s.failed || failed
	if s.unwatch != nil {
		s.unwatch()
	}
}

// spoiled reports whether the client must not take the end of the connection for one without an error.
func (s *second) spoiled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed || s.over
}

// spoil notes that the client does not get all.
func (s *second) spoil() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = true
}

// close ends reads and writes. The connection is left to Serve, which knows whether its end is to be a reset.
func (s *second) close() error {
	return s.deadlines(func() error {
		s.closed = true
		return s.conn.SetDeadline(past())
	})
}

// deadlines has f set deadlines, unless the call is not usable.
func (s *second) deadlines(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usableLocked(); err != nil {
		return err
	}
	return f()
}

// usable returns the error of reads and writes when the handler has closed the stream or the context of the call has ended.
func (s *second) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usableLocked()
}

func (s *second) usableLocked() error {
	switch {
	case s.over:
		return s.ctx.Err()
	case s.closed:
		return net.ErrClosed
	}
	return nil
}

// read reads once. idle bounds it in time; 0: the handler does, or nothing.
func (s *second) read(p []byte, idle time.Duration) (int, error) {
	err := s.deadlines(func() error {
		if idle > 0 {
			return s.conn.SetReadDeadline(time.Now().Add(idle))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	n, err := s.conn.Read(p)
	s.came.Add(int64(n))
	return n, s.because(err)
}

// largeWrite is the most that is written at once: it must go out in the time of a write.
const largeWrite = 256 << 10

// write writes p in pieces, each of which has a time unless the handler has set one.
func (s *second) write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		if err = s.deadlines(s.limitWriteLocked); err != nil {
			return n, err
		}
		var m int
		m, err = s.conn.Write(p[n:min(len(p), n+largeWrite)])
		n += m
		s.sent.Add(int64(m))
	}
	return n, s.because(err)
}

func (s *second) limitWriteLocked() error {
	if s.own {
		return nil
	}
	return s.conn.SetWriteDeadline(time.Now().Add(s.timeout))
}

// because is why a read or a write has failed: the end of the context interrupts them, and so does close.
func (s *second) because(err error) error {
	if err == nil {
		return nil
	}
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if e := s.usable(); e != nil {
		return e
	}
	return err
}

// lingerer is a connection whose close can be made a reset: a *net.TCPConn, or one that a listener has wrapped and that has its method.
type lingerer interface{ SetLinger(sec int) error }

// reset closes a connection. The peer of a connection of TCP gets a reset, that of one with TLS no closing message.
func reset(conn net.Conn) {
	resetOnClose(conn, true)
	underlying(conn).Close()
}

// resetOnClose says whether any close of a connection, that by the end of the process too, is a reset. It returns false where the
// connection has no SetLinger.
func resetOnClose(conn net.Conn, yes bool) bool {
	l, ok := underlying(conn).(lingerer)
	if !ok {
		return false
	}
	if yes {
		return l.SetLinger(0) == nil
	}
	return l.SetLinger(-1) == nil
}

// underlying is the connection below TLS and below bytes that were read ahead.
func underlying(conn net.Conn) net.Conn {
	for {
		switch c := conn.(type) {
		case lingerer:
			return conn
		case interface{ WritesTo() net.Conn }: // its first bytes were read ahead
			conn = c.WritesTo()
		case interface{ NetConn() net.Conn }: // TLS
			conn = c.NetConn()
		default:
			return conn
		}
	}
}

// Decode is never called: second connections are streams.
func (s *second) Decode(any) error { return errNoMessages() }

// Reply implements weft.Inbound.
func (s *second) Reply(any, weft.Metadata) error {
	s.end(false)
	return nil
}

// Fail implements weft.Inbound.
func (s *second) Fail(*weft.Error, weft.Metadata) { s.end(true) }

// Bytes implements weft.InboundSizer.
func (s *second) Bytes() (request, reply int) { return int(s.came.Load()), int(s.sent.Load()) }

// Stream implements weft.Inbound.
func (s *second) Stream(ctx context.Context) weft.RawStream {
	s.ctx = ctx
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unwatch = context.AfterFunc(ctx, s.interrupt)
	return noMessages{ctx}
}

// noMessages is the stream of a second connection, whose bytes are no messages.
type noMessages struct{ ctx context.Context }

var _ weft.RawStream = noMessages{}

func errNoMessages() error {
	return weft.Errorf(weft.Unimplemented, "a second connection of rpcx has bytes and no messages")
}

// Context implements weft.RawStream.
func (m noMessages) Context() context.Context { return m.ctx }

// Send implements weft.RawStream.
func (noMessages) Send(any) error { return errNoMessages() }

// Recv implements weft.RawStream.
func (noMessages) Recv(any) error { return errNoMessages() }

// CloseSend implements weft.RawStream.
func (noMessages) CloseSend() error { return nil }

// Close implements weft.RawStream.
func (noMessages) Close() error { return nil }
