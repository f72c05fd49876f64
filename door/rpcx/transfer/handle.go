package transfer

import (
	"context"
	"net"

	"github.com/weftrpc/weft"
)

// The services and methods of rpcx.
const (
	StreamMethod   = "_streamservice.Stream"
	UploadMethod   = "_filetransfer.TransferFile"
	DownloadMethod = "_filetransfer.DownloadFile"

	onSecond = "Conn" // behind the name of a method: that of the calls which second connections are
)

// HandleStream registers the handler of streams, for the server that has the door in its configuration. The stream ends when the handler
// returns nil. Any other end resets the connection, since rpcx has no place for an error; where a listener wraps its connections, they need
// the method SetLinger of net.TCPConn for that, and TLS needs nothing. That the client has gone is seen by reading and writing, and does not
// end the context. The options are those of both methods, Stream and StreamConn: by MethodAuthenticate, or by an interceptor, streams are
// refused before the client gets a token.
func (d *Door) HandleStream(r weft.Registrar, fn func(ctx context.Context, s *Stream) error, opts ...weft.MethodOption) error {
	if fn == nil {
		return missing(StreamMethod)
	}
	return register(d, r, StreamMethod, (*StreamArgs).check, func(ctx context.Context, s *second, a *StreamArgs) error {
		return fn(ctx, &Stream{Meta: a.Meta, s: s})
	}, opts)
}

// HandleUpload registers the handler of files that clients send; see HandleStream. A client of weft learns whether the handler
// has returned an error, a client of rpcx does not.
func (d *Door) HandleUpload(r weft.Registrar, fn func(ctx context.Context, f *Upload) error, opts ...weft.MethodOption) error {
	if fn == nil {
		return missing(UploadMethod)
	}
	return register(d, r, UploadMethod, (*UploadArgs).check, func(ctx context.Context, s *second, a *UploadArgs) error {
		return fn(ctx, &Upload{Name: a.FileName, Size: a.FileSize, Meta: a.Meta, s: s, left: a.FileSize})
	}, opts)
}

// HandleDownload registers the handler of files that clients ask for; see HandleStream. The file ends when the handler returns
// nil; with an error the client gets one too, and no end of the file.
func (d *Door) HandleDownload(r weft.Registrar, fn func(ctx context.Context, f *Download) error, opts ...weft.MethodOption) error {
	if fn == nil {
		return missing(DownloadMethod)
	}
	return register(d, r, DownloadMethod, (*DownloadArgs).check, func(ctx context.Context, s *second, a *DownloadArgs) error {
		return fn(ctx, &Download{Name: a.FileName, Meta: a.Meta, s: s})
	}, opts)
}

func missing(method string) error {
	return weft.Errorf(weft.InvalidArgument, "transfer: the handler of %s is nil", method)
}

// register registers a method that gives tokens, and the one of which second connections are calls.
func register[A any](d *Door, r weft.Registrar, method string, check func(*A) error, fn func(context.Context, *second, *A) error, opts []weft.MethodOption) error {
	serve := func(ctx context.Context, _ *weft.Stream[[]byte, []byte]) error {
		s := d.of(weft.PeerFrom(ctx))
		if s == nil || s.ticket.method != method+onSecond {
			return weft.Errorf(weft.FailedPrecondition, "%s is called by a second connection alone: call %s, which says where to make it", method+onSecond, method)
		}
		return fn(ctx, s, s.ticket.args.(*A))
	}
	if err := weft.HandleStream(r, method+onSecond, serve, opts...); err != nil {
		return err
	}
	return weft.Handle(r, method, func(ctx context.Context, a *A) (*Reply, error) {
		if err := check(a); err != nil {
			return nil, err
		}
		if err := admissible(ctx); err != nil {
			return nil, err
		}
		addr, err := d.address(ctx)
		if err != nil {
			return nil, err
		}
		t, err := d.tickets.issue(&ticket{method: method + onSecond, meta: weft.MetadataFrom(ctx), args: a, peer: weft.PeerFrom(ctx)})
		if err != nil {
			return nil, err
		}
		return &Reply{Token: t[:], Addr: addr}, nil
	}, opts...)
}

// secure is a key of metadata with which a Client says that its second connection will have TLS.
const secure = "transfer-tls"

// address is where the client of a call makes its second connection.
func (d *Door) address(ctx context.Context) (string, error) {
	if !d.served.Load() { // a client of rpcx would send its file in vain
		return "", weft.Errorf(weft.FailedPrecondition, "no server takes second connections: put the door of package transfer into ServerConfig.Doors")
	}
	if d.cfg.Address != "" {
		return d.cfg.Address, nil
	}
	p := weft.PeerFrom(ctx)
	if p == nil {
		return "", weft.Errorf(weft.FailedPrecondition, "the call did not come by a connection: set Config.Address of package transfer")
	}
	a, ok := p.LocalAddr().(*net.TCPAddr)
	switch {
	case !ok:
		return "", weft.Errorf(weft.FailedPrecondition, "the call came by %s, and a second connection is made by TCP: set Config.Address of package transfer", p.LocalAddr().Network())
	case p.TLS() != nil && weft.MetadataFrom(ctx).Get(secure) == "":
		return "", weft.Errorf(weft.FailedPrecondition, "the second connections of rpcx have no TLS, and this server has: set Config.Address of package transfer to where they are taken without it")
	}
	return a.String(), nil
}
