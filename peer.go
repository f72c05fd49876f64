package weft

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// Peer is the other side of a connection. A handler finds its caller's with
// PeerFrom; a server lists all with Peers. It may be kept and used by any goroutine
// until the connection ends: a server calls its client with it, and the other way round.
type Peer struct {
	s         *session.Session
	conn      net.Conn
	caller    *caller
	principal any
	oneway    chan struct{} // holds one for each one-way call under way
}

// PeerFrom returns, in a handler, the caller's side of the connection; nil when
// ctx is not that of a handler.
func PeerFrom(ctx context.Context) *Peer {
	if c := session.FromContext(ctx); c != nil {
		p, _ := c.Session.Owner.(*Peer)
		return p
	}
	return nil
}

// Addr is the address of the other side.
func (p *Peer) Addr() net.Addr { return p.conn.RemoteAddr() }

// LocalAddr is the address of this side.
func (p *Peer) LocalAddr() net.Addr { return p.conn.LocalAddr() }

// TLS is the state of the connection's TLS, with the certificates that the other
// side has shown and that were verified; nil for a plaintext connection.
func (p *Peer) TLS() *tls.ConnectionState {
	c, ok := p.conn.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return nil
	}
	state := c.ConnectionState()
	return &state
}

// Principal is what AuthenticateConn returned for the connection.
func (p *Peer) Principal() any { return p.principal }

// Software is what the other side says of itself, for example "weft-go/0.1". It
// is not verified.
func (p *Peer) Software() string { return p.s.Peer().Software }

// Done is closed when the connection has ended.
func (p *Peer) Done() <-chan struct{} { return p.s.Done() }

// Call makes a unary call to the other side; see Client.Call.
func (p *Peer) Call(ctx context.Context, method string, args, reply any, opts ...CallOption) error {
	o, err := p.caller.options(method, opts)
	if err != nil {
		return err
	}
	return p.caller.call(ctx, p.s, method, args, reply, &o)
}

// Notify makes a one-way call to the other side; see Client.Notify.
func (p *Peer) Notify(ctx context.Context, method string, args any, opts ...CallOption) error {
	return notify(ctx, p, method, args, opts)
}

// Close ends the connection at once. Open calls fail.
func (p *Peer) Close() { p.s.Close(closedStatus()) }

// OpenStream opens a streaming call of the other side; see Client.OpenStream.
func (p *Peer) OpenStream(ctx context.Context, method string, sample any, opts ...CallOption) (RawStream, error) {
	o, err := p.caller.options(method, opts)
	if err != nil {
		return nil, err
	}
	return p.caller.open(ctx, p.s, method, o, sample)
}

// tlsConfig readies a configuration for use on a connection.
func tlsConfig(c *tls.Config) *tls.Config {
	c = c.Clone()
	if len(c.NextProtos) == 0 {
		c.NextProtos = []string{"weft/1"}
	}
	return c
}

// plainHint explains a TLS handshake that failed because the other side does not
// speak TLS.
func plainHint(err error) error {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return fmt.Errorf("the other side does not speak TLS: %w", err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("the other side closed the connection; it may not speak TLS: %w", err)
	}
	return err
}

// refusePlain closes a connection whose TLS handshake failed. A client that spoke
// weft without TLS is told so.
func refusePlain(conn net.Conn, err error) {
	plain, ok := errors.AsType[tls.RecordHeaderError](err)
	if !ok || string(plain.RecordHeader[:]) != wire.Preface[:len(plain.RecordHeader)] {
		conn.Close()
		return
	}
	session.Refuse(conn, &wire.Status{Code: wire.FailedPrecondition, Message: "this server speaks TLS alone"})
}
