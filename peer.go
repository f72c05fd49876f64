package weft

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/weftrpc/weft/internal/flights"
	"github.com/weftrpc/weft/internal/greeting"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/turns"
	"github.com/weftrpc/weft/internal/wire"
)

// Peer is the other end of a connection: a client of a server, or the server of a client. PeerFrom gives a handler the peer that called it;
// Server.Peers lists all. A Peer may be kept and used by any goroutine until the connection ends: a server calls its client with it, and a
// client its server.
type Peer struct {
	s         *session.Session // nil: the connection has a foreign wire
	w         WireConn         // makes calls on a foreign wire; nil: it has none to this peer
	wire      string           // the name of the foreign wire
	door      *DoorConn        // of a connection that a door serves
	conn      net.Conn
	caller    *caller
	principal any
	critical  bool            // its calls may be critical
	since     int64           // when the connection was made, on the clock of session.Nanos
	number    uint32          // spreads what counts the calls
	oneway    chan struct{}   // holds one for each one-way call under way, once it is sized
	flights   flights.Flights // calls under way on a foreign wire
	decoding  turns.Line      // of large messages; see host.decoding

	onewaySized sync.Once
}

var _ StreamCaller = (*Peer)(nil)

// newPeer makes the peer of a session.
func newPeer(s *session.Session, c *caller) *Peer {
	return &Peer{s: s, conn: s.Conn(), caller: c, since: session.Nanos(), number: s.Number()}
}

// PeerFrom returns, in a handler, the peer that made the call; nil when ctx is not that of a handler.
func PeerFrom(ctx context.Context) *Peer {
	if c := session.FromContext(ctx); c != nil {
		return peerOf(c)
	}
	return nil
}

func peerOf(c *session.Context) *Peer {
	p, _ := c.Owner().(*Peer)
	return p
}

// Addr is the address of the peer.
func (p *Peer) Addr() net.Addr { return p.conn.RemoteAddr() }

// LocalAddr is the local address of the connection.
func (p *Peer) LocalAddr() net.Addr { return p.conn.LocalAddr() }

// TLS is the state of the connection's TLS, with the certificates of the peer, if it has shown any; nil for a plaintext connection.
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

// The names of wires, as Peer.Wire returns them on a server: the schemes of the addresses at which clients
// reach them. Variants of a wire have schemes that begin so, such as "jsonrpc1", "grpcs" and "netrpc+http"; on a
// client Peer.Wire returns the scheme. That of weft's own wire is the scheme of a transport.
const (
	WireWeft    = "weft"
	WireNetRPC  = "netrpc"
	WireJSONRPC = "jsonrpc"
	WireHTTP    = "http" // HTTP/1.1, whatever calls come by it
	WireGRPC    = "grpc" // HTTP/2, whatever calls come by it
	WireThrift  = "thrift"
	WireRPCX    = "rpcx"
)

// Wire is the protocol of the connection: WireWeft, or on a server the name of a door, and on a client the scheme of a wire.
func (p *Peer) Wire() string {
	if p.s != nil {
		return WireWeft
	}
	return p.wire
}

// Software is what the peer says that it is made of, for example "weft-go/0.1"; empty where the wire has no place for it. It is not verified.
func (p *Peer) Software() string {
	_, software := helloOf(p)
	return software
}

// Name is the name that the peer gives itself, the ClientConfig.Name of a client; empty where it has
// none or the wire has no place for it. It is not verified.
func (p *Peer) Name() string {
	name, _ := helloOf(p)
	return name
}

// helloOf is what a peer says of itself: its name, if it has one, and its software behind the last space.
func helloOf(p *Peer) (name, software string) {
	if p.s == nil {
		return "", ""
	}
	all := p.s.Peer().Software
	if i := strings.LastIndexByte(all, ' '); i >= 0 {
		return all[:i], all[i+1:]
	}
	return "", all
}

// Opened is when the connection was made.
func (p *Peer) Opened() time.Time {
	return time.Now().Add(time.Duration(p.since - session.Nanos()))
}

// Done is closed when the connection has ended.
func (p *Peer) Done() <-chan struct{} {
	switch {
	case p.s != nil:
		return p.s.Done()
	case p.door != nil:
		return p.door.done
	default:
		return p.w.Done()
	}
}

// Call makes a unary call to the peer; see Client.Call. A peer whose wire has no calls in this direction gives an error with Unimplemented and ReasonNoCallback.
func (p *Peer) Call(ctx context.Context, method string, args, reply any, opts ...CallOption) error {
	return p.caller.invoke(ctx, p, method, args, reply, opts)
}

// Notify makes a one-way call to the peer; see Client.Notify.
func (p *Peer) Notify(ctx context.Context, method string, args any, opts ...CallOption) error {
	return p.caller.invoke(ctx, p, method, args, nil, asOneway(opts))
}

// OpenStream opens a streaming call of the peer; see Client.OpenStream.
func (p *Peer) OpenStream(ctx context.Context, method string, sample any, opts ...CallOption) (RawStream, error) {
	return p.caller.open(ctx, p, method, sample, opts)
}

// Close ends the connection at once. Open calls fail.
func (p *Peer) Close() { p.end() }

func (p *Peer) attempt(ctx context.Context, x *outgoing, args any) error {
	return p.caller.call(ctx, p, x, args)
}

func (p *Peer) openOnce(ctx context.Context, x *outgoing) (RawStream, error) {
	return p.caller.openOn(ctx, p, x)
}

// ping sends a ping and waits for its answer.
func (p *Peer) ping(ctx context.Context) error {
	if p.s == nil {
		return p.pingForeign(ctx)
	}
	if st := p.s.Ping(ctx); st != nil {
		return fromStatus(st, "", p.Addr().String())
	}
	return nil
}

// usable reports whether a call could be opened now, as far as is known.
func (p *Peer) usable() bool {
	if p.s != nil {
		return p.s.Usable()
	}
	select {
	case <-p.Done():
		return false
	default:
		return p.w != nil
	}
}

// load is about how many calls to the peer are open.
func (p *Peer) load() int {
	if p.s != nil {
		return p.s.Load()
	}
	return p.flights.Count()
}

// incoming is how many calls of the peer wait or run.
func (p *Peer) incoming() int {
	switch {
	case p.s != nil:
		return p.s.Incoming()
	case p.door != nil:
		return p.door.flights.Count()
	}
	return 0
}

// run is the connection of a client from its handshake to its end; see session.Run.
func (p *Peer) run(gone, ended func()) {
	if p.s != nil {
		p.s.Run(gone, ended)
		return
	}
	<-p.w.Done()
	gone()
	<-p.flights.Close()
	p.w.Close()
	ended()
}

// end closes the connection at once.
func (p *Peer) end() {
	switch {
	case p.s != nil:
		p.s.Close(closedStatus())
	case p.door != nil:
		p.door.cutOff()
	default:
		p.w.Close()
		// A stream that the program has abandoned must not hold up the end of the client.
		p.flights.End()
	}
}

// ended is why the connection has ended.
func (p *Peer) ended() *Error {
	switch {
	case p.s != nil:
		return fromStatus(p.s.Err(), "", p.Addr().String())
	case p.door != nil:
		return p.door.why()
	}
	e := Errorf(Unavailable, "the connection has ended")
	if err := p.w.Err(); err != nil {
		asWeft(lost(err, "", p), &e)
	}
	return e
}

// drain lets the calls of a client's connection end, in both directions. It returns false when done was closed first.
func (p *Peer) drain(done <-chan struct{}) bool {
	if p.s != nil {
		ok := p.s.Drain(done, "the client is shutting down")
		p.s.Leave(lingering)
		return ok
	}
	select {
	case <-p.flights.Close():
		if w, ok := p.w.(WireDrainer); ok {
			w.Drain(done)
		}
		p.w.Close()
		return true
	case <-done:
		return false
	}
}

// alpn is the name of weft's own wire in the negotiation of protocols by TLS.
const alpn = "weft/1"

// refusePlain closes a connection whose TLS handshake failed. A client that spoke weft without TLS is told so.
func refusePlain(conn net.Conn, err error) {
	plain, ok := errors.AsType[tls.RecordHeaderError](err)
	if !ok || string(plain.RecordHeader[:]) != wire.Preface[:len(plain.RecordHeader)] {
		conn.Close()
		return
	}
	greeting.Refuse(conn, &wire.Status{Code: wire.FailedPrecondition, Message: "this server speaks TLS alone"})
}
