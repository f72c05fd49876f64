package transfer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/weftrpc/weft"
)

// Client opens streams and transfers files, to servers of weft and of rpcx. It connects to the address that a server tells.
type Client struct {
	// Caller makes the calls: a *weft.Client with rpcx.Wire for a server of rpcx, a cluster.Client for several.
	Caller weft.Caller
	// TLS is for second connections to servers of weft that have TLS; nil: they have none, as rpcx's.
	TLS *tls.Config
	// Dial makes the second connections, TLS not included; nil: a net.Dialer does. A Dial of its own may refuse addresses.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// File is a file that a client sends.
type File struct {
	Name string // without a folder
	Size int64  // in bytes
	Meta map[string]string
}

// OpenStream opens a stream: a connection whose bytes are the program's. ctx bounds the opening alone.
func (c *Client) OpenStream(ctx context.Context, meta map[string]string) (net.Conn, error) {
	return c.connect(ctx, StreamMethod, &StreamArgs{meta})
}

// SendFile sends a file, whose content is the first Size bytes of src. It returns nil when the server has closed the connection without
// an error behind the whole file: the handler of a weft server has returned nil then, and that of an rpcx server may have failed.
// An error has the outcome NotSent or Refused where no byte of the file was sent. The end of ctx ends the transfer, but no Read of src.
func (c *Client) SendFile(ctx context.Context, f File, src io.Reader) error {
	if f.Size < 0 {
		return &weft.Error{Code: weft.InvalidArgument, Outcome: weft.NotSent, Method: UploadMethod, Message: fmt.Sprintf("the size of file %q is %d", f.Name, f.Size)}
	}
	conn, err := c.connect(ctx, UploadMethod, &UploadArgs{f.Name, f.Size, f.Meta})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(past()) })()
	if e := upload(conn, f, src); e != nil {
		reset(conn) // the server must not take what it has for the whole file
		return failed(ctx, UploadMethod, e)
	}
	conn.Close()
	return nil
}

// upload sends the content of a file and awaits the end of the connection.
func upload(conn net.Conn, f File, src io.Reader) *weft.Error {
	in := &reader{Reader: io.LimitReader(src, f.Size)}
	n, err := io.Copy(conn, in)
	switch {
	case in.err != nil:
		return weft.Errorf(weft.InvalidArgument, "read file %q: %w", f.Name, in.err)
	case err != nil:
		return weft.Errorf(weft.Unavailable, "%d of the %d bytes of file %q were sent: %w", n, f.Size, f.Name, err)
	case n < f.Size:
		return weft.Errorf(weft.InvalidArgument, "file %q has %d bytes, want %d: %w", f.Name, n, f.Size, io.ErrUnexpectedEOF)
	}
	if w, ok := conn.(interface{ CloseWrite() error }); ok {
		err = w.CloseWrite()
	}
	if err == nil {
		_, err = io.Copy(io.Discard, conn)
	}
	if err != nil {
		return weft.Errorf(weft.Unknown, "file %q was sent, and the server has not taken it: %w", f.Name, err)
	}
	return nil
}

// DownloadFile writes a file of the server to dst and returns how many bytes it has. A server of weft tells when the file is not
// whole; a server of rpcx does not.
func (c *Client) DownloadFile(ctx context.Context, name string, meta map[string]string, dst io.Writer) (int64, error) {
	conn, err := c.connect(ctx, DownloadMethod, &DownloadArgs{name, meta})
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(past()) })()
	in := &reader{Reader: conn}
	n, err := io.Copy(writer{dst}, in)
	switch {
	case in.err != nil:
		return n, failed(ctx, DownloadMethod, weft.Errorf(weft.DataLoss, "file %q ended after %d bytes: %w", name, n, in.err))
	case err != nil:
		return n, failed(ctx, DownloadMethod, weft.Errorf(weft.Internal, "write file %q: %w", name, err))
	}
	return n, nil
}

// reader keeps the error of its Reader, other than io.EOF.
type reader struct {
	io.Reader
	err error
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// writer is a Writer alone: its ReadFrom, if it has one, would not go through reader.
type writer struct{ io.Writer }

// failed completes the error of a transfer that has begun.
func failed(ctx context.Context, method string, e *weft.Error) error {
	if ctx.Err() != nil {
		e.Code = weft.CodeOf(ctx.Err())
	}
	e.Method, e.Outcome = method, weft.OutcomeUnknown
	return e
}

// connectWithin bounds the making of a second connection where the context does not.
const connectWithin = 10 * time.Second

// connect calls a method and makes the second connection.
func (c *Client) connect(ctx context.Context, method string, args any) (net.Conn, error) {
	called := ctx
	if c.TLS != nil {
		called = weft.WithMetadata(ctx, secure, "1")
	}
	r, err := weft.Invoke[Reply](called, c.Caller, method, args)
	if err != nil {
		return nil, err
	}
	conn, err := c.dial(ctx, r)
	if err != nil {
		e := weft.Errorf(weft.Unavailable, "second connection to %q: %w", r.Addr, err)
		if ctx.Err() != nil {
			e.Code = weft.CodeOf(ctx.Err())
		}
		e.Method, e.Outcome = method, weft.NotSent
		return nil, e
	}
	return conn, nil
}

// dial makes the connection of a reply and sends the token.
func (c *Client) dial(ctx context.Context, r *Reply) (net.Conn, error) {
	if len(r.Token) != tokenSize {
		return nil, fmt.Errorf("the server gave a token of %d bytes, want %d", len(r.Token), tokenSize)
	}
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	address, err := c.address(r.Addr)
	if err != nil {
		return nil, err
	}
	dial := c.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	plain, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { plain.SetDeadline(past()) })
	conn, err := c.begin(ctx, plain, address, r.Token)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		reset(plain)
		return nil, err
	}
	return conn, nil
}

// begin does the handshake of TLS, if there is to be one, and sends the token.
func (c *Client) begin(ctx context.Context, conn net.Conn, address string, token []byte) (net.Conn, error) {
	if c.TLS != nil {
		cfg := c.TLS.Clone()
		if cfg.ServerName == "" {
			cfg.ServerName, _, _ = net.SplitHostPort(address)
		}
		secured := tls.Client(conn, cfg)
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = secured
	}
	_, err := conn.Write(token)
	return conn, err
}

// address is where a second connection goes. An rpcx server that listens on all its addresses may tell one without a host:
// that is the host which was called, where that is known.
func (c *Client) address(told string) (string, error) {
	host, port, err := net.SplitHostPort(told)
	if err != nil {
		return "", err
	}
	if ip, err := netip.ParseAddr(host); host != "" && (err != nil || !ip.IsUnspecified()) {
		return told, nil
	}
	of, ok := c.Caller.(interface{ Peer() *weft.Peer })
	if !ok || of.Peer() == nil {
		return "", errors.New("the reply has no host in its address: set AdvertiseAddr of the rpcx server")
	}
	called, _, err := net.SplitHostPort(of.Peer().Addr().String())
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(called, port), nil
}
