package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/grpc/internal/head"
	"github.com/weftrpc/weft/door/internal/carriers"
	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/door/internal/http2"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/socket"
)

// WireConfig configures a wire. The zero value, and a nil pointer to one, give safe defaults.
type WireConfig struct {
	// Scheme is that of the addresses; "": "grpc".
	Scheme string
	// KeepAlive is the silence after which a server is sent a ping while calls are open, and which ends the connection when the answer takes
	// longer than Limits.PingTimeout; 0: no pings. Other servers end connections with more than they allow: grpc-go allows one in 5 minutes.
	KeepAlive time.Duration
}

// Wire returns a wire to servers of gRPC, for addresses such as "grpc://127.0.0.1:50051". The connection has TLS if the client's configuration has.
func Wire(cfg *WireConfig) weft.Wire {
	w := &wire{tables: hpack.NewTables(vocabulary{})}
	if cfg != nil {
		w.cfg = *cfg
	}
	if w.cfg.Scheme == "" {
		w.cfg.Scheme = "grpc"
	}
	return w
}

// SecureWire is Wire for addresses such as "grpcs://api.example.org:443", to which connections always
// have TLS: that of the client's configuration, or else one with the certificates of the system.
func SecureWire(cfg *WireConfig) weft.Wire {
	w := Wire(cfg).(*wire)
	w.secure = true
	if cfg == nil || cfg.Scheme == "" {
		w.cfg.Scheme = "grpcs"
	}
	return w
}

// wire implements weft.Wire.
type wire struct {
	cfg    WireConfig
	tables *hpack.Tables
	secure bool
	pulse  socket.Pulse
}

func (w *wire) Scheme() string { return w.cfg.Scheme }

func (*wire) Protocols() []string { return []string{"h2"} }

// never is the interval of pings that are not sent.
const never = 100 * 365 * 24 * time.Hour

// Dial implements weft.Wire. It waits for the settings of the server: so a server of another protocol is noticed here.
func (w *wire) Dial(ctx context.Context, cfg weft.WireConfig) (weft.WireConn, error) {
	nc, err := cfg.Dial(ctx)
	if err == nil {
		nc, err = w.encrypted(ctx, nc, cfg.Address)
	}
	if err != nil {
		return nil, withoutCode(err)
	}
	c := newClientConn(w, nc, cfg)
	select {
	case <-c.conn.Settled():
		return c, nil
	case <-c.conn.Done():
		err = weft.Errorf(weft.Unavailable, "the server did not answer as one of HTTP/2: %w", c.conn.Err())
	case <-ctx.Done():
		err = weft.Errorf(weft.CodeOf(ctx.Err()), "%w before the settings of the server came", ctx.Err())
	}
	c.Close()
	return nil, withoutCode(err)
}

// encrypted gives a connection TLS, if it has none and the wire asks for it. In TLS the server must not have agreed to another protocol.
func (w *wire) encrypted(ctx context.Context, nc net.Conn, address string) (net.Conn, error) {
	t, ok := nc.(interface{ ConnectionState() tls.ConnectionState })
	switch {
	case !ok && w.secure:
		return carriers.WithTLS(ctx, socket.WithPulse(nc, &w.pulse), address, w.Protocols())
	case ok && !slices.Contains([]string{"", "h2"}, t.ConnectionState().NegotiatedProtocol):
		nc.Close()
		return nil, weft.Errorf(weft.Unavailable, "the server agreed in TLS to speak %q, want \"h2\": leave NextProtos of ClientConfig.TLS nil, or name it there",
			t.ConnectionState().NegotiatedProtocol)
	}
	return nc, nil
}

// clientConn is one connection of the wire.
type clientConn struct {
	conn    *http2.Conn
	limits  weft.Limits
	exec    *session.Executor
	restore []compress.Compressor
	with    compress.Compressor // requests are compressed
	cred    string              // the credential of the connection

	res   response // of the goroutine that reads
	near  near     // of the same
	spare spareExchanges

	fields *head.Fields // of requests, under the lock of conn

	done   chan struct{}
	over   sync.Once // closes done
	oneway chan struct{}
}

// maxOneway is how many one-way calls may be under way: no caller waits for their ends.
const maxOneway = 1024

func newClientConn(w *wire, nc net.Conn, cfg weft.WireConfig) *clientConn {
	c := &clientConn{limits: cfg.Limits, exec: session.NewExecutor(), restore: cfg.Compressors, with: cfg.Compressor,
		done: make(chan struct{}), oneway: make(chan struct{}, maxOneway)}
	c.cred = strings.TrimSpace(cfg.Credential.Scheme + " " + cfg.Credential.Token)
	common := head.Config{Authority: cfg.Address, ContentType: typeOf}
	_, common.Secure = nc.(interface{ ConnectionState() tls.ConnectionState })
	if len(c.restore) > 0 {
		common.Accepts = namesOf(c.restore)
	}
	if c.with != nil {
		common.Encoding = c.with.Name()
	}
	c.conn = http2.New(nc, c, http2.Config{
		Client: true, Tables: w.tables, Vocabulary: vocabulary{}, StreamWindow: max(cfg.Limits.StreamWindow, minWindow),
		MaxHeader: cfg.Limits.MaxMetadata + headerSlack, WriteBuffer: cfg.Limits.WriteBuffer, WriteTimeout: cfg.Limits.WriteTimeout,
		PingInterval: w.cfg.KeepAlive, PingIdle: never, PingTimeout: max(cfg.Limits.PingTimeout, time.Second),
		Go: c.exec.Go, Guard: func(takeOver func()) http2.Guard { return c.exec.Guard(takeOver) }, Timer: &w.pulse, Batch: c.near.keep, GoAway: c.stop,
	})
	c.fields = head.New(&c.conn.Enc, common)
	c.exec.Go(func() {
		c.flush()
		c.conn.Run()
	})
	c.exec.Go(func() { // it ends with the connection
		<-c.conn.Done()
		c.stop()
		c.exec.Close()
	})
	return c
}

// stop says that no more calls can be opened.
func (c *clientConn) stop() { c.over.Do(func() { close(c.done) }) }

// Conn implements weft.WireConn.
func (c *clientConn) Conn() net.Conn { return c.conn.Conn() }

// Done implements weft.WireConn.
func (c *clientConn) Done() <-chan struct{} { return c.done }

// Err implements weft.WireConn.
func (c *clientConn) Err() error {
	err := c.conn.Err()
	if err == nil {
		return nil
	}
	return connError(err)
}

// connError is the error of a connection that has ended, for its calls.
func connError(err error) *weft.Error {
	if known, ok := errors.AsType[*weft.Error](err); ok {
		return known
	}
	if errors.Is(err, http2.ErrNoMore) {
		return weft.Errorf(weft.Unavailable, "%w", err)
	}
	if gone, ok := errors.AsType[*http2.GoneAway](err); ok {
		e := weft.Errorf(weft.Unavailable, "%w", err)
		if gone.Code == http2.NoError {
			e.Reason = weft.ReasonDraining
		}
		return e
	}
	return weft.Errorf(weft.Unavailable, "connection lost: %w", err)
}

// Close implements weft.WireConn.
func (c *clientConn) Close() error {
	c.conn.Close(&weft.Error{Code: weft.Canceled, Reason: weft.ReasonClosed, Message: "the connection was closed by this side"})
	c.stop()
	return nil
}

// Ping implements weft.WirePinger.
func (c *clientConn) Ping(ctx context.Context) error {
	err := c.conn.Ping(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return weft.Errorf(weft.CodeOf(ctx.Err()), "%w before the answer to a ping came", ctx.Err())
	}
	return connError(err)
}

// Drain implements weft.WireDrainer: the reply to a one-way call acknowledges it.
func (c *clientConn) Drain(done <-chan struct{}) {
	for range cap(c.oneway) { // all places are free then
		select {
		case c.oneway <- struct{}{}:
		case <-c.conn.Done():
			return
		case <-done:
			return
		}
	}
}

// headLocked appends the fields that begin a request.
func (c *clientConn) headLocked(w *weft.WireCall, timeout time.Duration) {
	e := &c.conn.Enc
	b := c.fields.Append(c.conn.BufferLocked(), w.Method, w.Codec.Name(), timeout)
	authorized := false
	for k, v := range w.Metadata.All() {
		switch k {
		case attemptKey:
			b = e.Literal(b, attemptsName, v)
			continue
		case priorityName:
			b = e.Literal(b, priorityName, v)
			continue
		}
		authorized = authorized || strings.EqualFold(k, "authorization")
		b = appendPair(e, b, k, v)
	}
	if c.cred != "" && !authorized {
		b = appendPair(e, b, "authorization", c.cred)
	}
	c.conn.SetBufferLocked(b)
}

// attemptKey is the key under which weft's metadata has the number of an attempt.
const attemptKey = "weft-attempt"

// sizerOf is the codec, if it tells sizes beforehand.
func sizerOf(c codec.Codec) codec.Sizer {
	z, _ := c.(codec.Sizer)
	return z
}
