package connect

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	nethttp "net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/internal/carriers"
	"github.com/weftrpc/weft/door/internal/httpfield"
)

// outbox is the client's end of a streaming call. It implements weft.RawStream.
type outbox struct {
	carriers.StreamBytes
	c      *clientConn
	call   *weft.WireCall
	codec  codec.Codec
	kind   string // the content type
	ctx    context.Context
	cancel context.CancelFunc
	body   *io.PipeWriter

	ready   chan struct{} // closed when res or failed is set
	res     *nethttp.Response
	failed  error
	checked bool // the header of the answer
	restore compress.Compressor

	mu    sync.Mutex
	ended error // what Recv returns from now on
}

// OpenStream implements weft.WireStreamer.
func (c *clientConn) OpenStream(ctx context.Context, w *weft.WireCall) (weft.RawStream, error) {
	life, cancel := context.WithCancel(ctx)
	r, err := c.request(life, w)
	if err != nil {
		cancel()
		return nil, err
	}
	code, name := codecOf(c, w)
	pr, pw := io.Pipe()
	o := &outbox{c: c, call: w, codec: code, kind: "application/connect+" + name, ctx: ctx, cancel: cancel, body: pw, ready: make(chan struct{})}
	set(r.Header, "Content-Type", o.kind)
	if c.cfg.Compressor != nil {
		set(r.Header, headerEncoding, c.cfg.Compressor.Name())
	}
	if list := httpfield.Names(c.cfg.Compressors); list != "" {
		set(r.Header, headerAccept, list)
	}
	set(r.Header, "Accept-Encoding", "identity") // messages are compressed one by one
	r.Body, r.ContentLength = pr, -1
	x, err := c.Take(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	context.AfterFunc(life, func() { pw.CloseWithError(context.Canceled) })
	// It ends with the answer's header, or with life.
	go func() {
		defer close(o.ready)
		if o.res, o.failed = c.Send(ctx, x, r, nil); o.failed != nil {
			_ = pr.CloseWithError(io.ErrClosedPipe)
		}
	}()
	return o, nil
}

// Context implements weft.RawStream.
func (o *outbox) Context() context.Context { return o.ctx }

// Send implements weft.RawStream.
func (o *outbox) Send(msg any) error {
	limits := o.c.cfg.Limits
	b, err := appendEnvelope(nil, o.codec, msg, o.c.cfg.Compressor, limits.CompressAbove, theClient, limits.MaxMessage)
	if err != nil {
		_ = o.end(err) // the same error
		o.cancel()
		return err
	}
	if _, err := o.body.Write(b); err == nil {
		o.Sent(len(b) - prefixSize)
		return nil
	}
	o.mu.Lock()
	ended := o.ended
	o.mu.Unlock()
	switch {
	case ended != nil && ended != io.EOF:
		return ended
	case o.ctx.Err() != nil:
		return o.c.Lost(o.ctx, o.ctx.Err())
	}
	return io.EOF // Recv tells why
}

// CloseSend implements weft.RawStream.
func (o *outbox) CloseSend() error { return o.body.Close() }

// Recv implements weft.RawStream.
func (o *outbox) Recv(msg any) error {
	o.mu.Lock()
	ended := o.ended
	o.mu.Unlock()
	if ended != nil {
		return ended
	}
	select {
	case <-o.ready:
	case <-o.ctx.Done():
		return o.end(o.c.Lost(o.ctx, o.ctx.Err()))
	}
	if o.failed != nil {
		return o.end(o.failed)
	}
	if !o.checked {
		if err := o.check(); err != nil {
			return o.end(err)
		}
	}
	flags, b, err := readEnvelope(o.res.Body, theClient, o.c.cfg.Limits.MaxMessage)
	if err != nil {
		return o.end(o.readError(err))
	}
	if flags&flagEnd == 0 {
		o.Received(len(b))
	}
	if flags&flagCompressed != 0 && len(b) > 0 {
		if o.restore == nil {
			return o.end(&weft.Error{Code: weft.Internal, Reason: weft.ReasonDecompress, Outcome: weft.Executed, Message: "a message is compressed, and no header says how"})
		}
		if b, err = restored(o.restore, b, theClient, o.c.cfg.Limits.MaxMessage); err != nil {
			return o.end(executed(err))
		}
	}
	switch {
	case flags&flagEnd != 0:
		return o.finish(b)
	case flags > flagCompressed:
		return o.end(&weft.Error{Code: weft.Internal, Reason: weft.ReasonProtocol, Outcome: weft.Executed, Message: "a message begins with the flags " + strconv.Itoa(int(flags)) + ", want 0 to 3"})
	}
	if err := o.codec.Decode(b, msg); err != nil {
		e := weft.Errorf(weft.Internal, "decode a message: %w", err).WithReason(weft.ReasonDecode)
		e.Outcome = weft.Executed
		return o.end(e)
	}
	return nil
}

// check looks at the header of the answer.
func (o *outbox) check() error {
	if o.res.StatusCode != nethttp.StatusOK {
		return statusError(o.res)
	}
	if kind, _, _ := mime.ParseMediaType(o.res.Header.Get("Content-Type")); kind != o.kind {
		e := &weft.Error{Code: weft.Unknown, Message: "the answer has the Content-Type " + strconv.Quote(httpfield.Clip(kind)) + ", want " + o.kind}
		if strings.HasPrefix(kind, "application/connect+") {
			e.Code = weft.Internal
		}
		return e
	}
	var err error
	o.restore, err = o.c.restorer(o.res.Header.Get(headerEncoding))
	o.checked = err == nil
	return err
}

// readError is the error of an answer that cannot be read.
func (o *outbox) readError(err error) error {
	known, ok := errors.AsType[*weft.Error](err)
	switch {
	case ok:
		return executed(known)
	case errors.Is(err, errWithin):
		return &weft.Error{Code: weft.Internal, Reason: weft.ReasonProtocol, Message: "the answer ended within a message"}
	case err == io.EOF:
		return &weft.Error{Code: weft.Internal, Reason: weft.ReasonProtocol, Message: "the answer ended without the message that ends a stream"}
	}
	return o.c.Lost(o.ctx, err)
}

// finish reads what ends the stream.
func (o *outbox) finish(b []byte) error {
	var end ending
	if err := json.Unmarshal(b, &end); err != nil {
		return o.end(weft.Errorf(weft.Unknown, "the end of the stream cannot be read: %w", err))
	}
	o.call.ReplyMetadata = replyMetadata(o.res.Header, end.Metadata, false)
	if end.Error == nil {
		return o.end(io.EOF)
	}
	e := end.Error.readError(weft.Unknown, first(end.Metadata, headerOutcome))
	if reason := first(end.Metadata, headerReason); reason != "" {
		e.Reason = reason
	}
	return o.end(e)
}

func first(m map[string][]string, key string) string {
	if all := m[key]; len(all) > 0 {
		return all[0]
	}
	return ""
}

// end notes the end of the call.
func (o *outbox) end(err error) error {
	o.mu.Lock()
	if o.ended == nil {
		o.ended = err
	}
	err = o.ended
	o.mu.Unlock()
	if o.isReady() && o.res != nil {
		if err == io.EOF {
			// What stands behind the end keeps the connection from being used again.
			_ = o.body.CloseWithError(io.EOF)
			_, _ = io.Copy(io.Discard, io.LimitReader(o.res.Body, maxRest))
		}
		o.res.Body.Close()
	}
	o.cancel()
	return err
}

// maxRest is how many bytes behind the end of a stream are read.
const maxRest = 4 << 10

func (o *outbox) isReady() bool {
	select {
	case <-o.ready:
		return true
	default:
		return false
	}
}

// Close implements weft.RawStream.
func (o *outbox) Close() error {
	o.mu.Lock()
	if o.ended == nil {
		o.ended = &weft.Error{Code: weft.Canceled, Message: "the stream was closed by the caller"}
	}
	o.mu.Unlock()
	o.cancel()
	return nil
}
