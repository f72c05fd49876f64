package http

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	nethttp "net/http"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/carriers"
	"github.com/weftrpc/weft/door/internal/httpfield"
)

// outbox is the client's end of a streaming call. It implements weft.RawStream.
//
// The first message is held back until it is known whether there are more: one alone is the body of the request, as
// servers want it of a method that sends many messages; several are lines.
type outbox struct {
	carriers.StreamBytes
	c      *clientConn
	call   *weft.WireCall
	ctx    context.Context
	cancel context.CancelFunc
	r      *nethttp.Request
	on     *carriers.Carrier

	begun sync.Once     // the request is sent, or never will be
	ready chan struct{} // closed when res or failed is set
	res   *nethttp.Response
	fail  error

	kind  string // of the answer
	lines *bufio.Reader
	once  bool // the answer is one message, which was received

	mu    sync.Mutex
	first []byte // the message that is held back
	held  bool   // there is one
	pipe  *io.PipeWriter
	shut  bool  // CloseSend was called
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
	r.Header.Set("Accept", typeNDJSON+", "+typeSSE+";q=0.9, "+typeJSON+";q=0.8, "+problemType)
	r.Header.Del("Accept-Encoding") // a message must not wait for others to be compressed with
	on, err := c.Take(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	o := &outbox{c: c, call: w, ctx: ctx, cancel: cancel, r: r, on: on, ready: make(chan struct{})}
	context.AfterFunc(life, func() { o.begun.Do(on.Release) })
	return o, nil
}

// Context implements weft.RawStream.
func (o *outbox) Context() context.Context { return o.ctx }

// Send implements weft.RawStream.
func (o *outbox) Send(msg any) error {
	b, err := o.c.encode(msg)
	if err != nil {
		_ = o.end(err) // the same error
		return err
	}
	b = oneLine(b)
	o.mu.Lock()
	if o.shut {
		o.mu.Unlock()
		return afterCloseSend()
	}
	if o.pipe == nil && !o.held && o.ended == nil {
		o.first, o.held = b, true
		o.mu.Unlock()
		return nil
	}
	o.mu.Unlock()
	o.flow()
	return o.write(b)
}

// afterCloseSend is the error of a message behind the last one.
func afterCloseSend() error {
	return carriers.NotSent(weft.FailedPrecondition, "", "send on a stream whose sending side was closed")
}

// write sends one line.
func (o *outbox) write(b []byte) error {
	o.mu.Lock()
	pipe := o.pipe
	o.mu.Unlock()
	if pipe == nil { // CloseSend was called meanwhile
		return afterCloseSend()
	}
	if _, err := pipe.Write(append(bytes.Clone(b), '\n')); err == nil {
		o.Sent(len(b))
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

// flow begins a request whose body is lines, unless it has begun. The message that was held back is the first line, whichever goroutine
// writes the next.
func (o *outbox) flow() {
	o.mu.Lock()
	if o.pipe != nil || o.shut {
		o.mu.Unlock()
		return
	}
	pr, pw := io.Pipe()
	o.pipe = pw
	first, held := o.first, o.held
	o.first, o.held = nil, false
	o.mu.Unlock()
	lines := io.Reader(pr)
	if held {
		lines = io.MultiReader(bytes.NewReader(append(bytes.Clone(first), '\n')), pr)
		o.Sent(len(first))
	}
	o.r.Header.Set("Content-Type", typeNDJSON)
	o.r.Body, o.r.ContentLength = body{lines, pr}, -1
	context.AfterFunc(o.r.Context(), func() { pw.CloseWithError(context.Canceled) })
	o.begin(pr)
}

// body is the body of a request.
type body struct {
	io.Reader
	io.Closer
}

// begin sends the request.
func (o *outbox) begin(body *io.PipeReader) {
	o.begun.Do(func() {
		// It ends with the answer's header, or with the context of the request.
		go func() {
			defer close(o.ready)
			if o.res, o.fail = o.c.Conns.Send(o.ctx, o.on, o.r, nil); o.fail != nil {
				if body != nil {
					_ = body.CloseWithError(io.ErrClosedPipe)
				}
			}
		}()
	})
}

// CloseSend implements weft.RawStream.
func (o *outbox) CloseSend() error {
	o.mu.Lock()
	if o.shut {
		o.mu.Unlock()
		return nil
	}
	o.shut = true
	pipe, first, held := o.pipe, o.first, o.held
	o.first, o.held = nil, false
	o.mu.Unlock()
	if pipe != nil {
		return pipe.Close()
	}
	if held {
		o.c.setBody(o.r, first)
		o.Sent(int(o.r.ContentLength))
	} else {
		o.r.Header.Set("Content-Type", typeNDJSON)
		o.r.Body = nethttp.NoBody
	}
	o.begin(nil)
	return nil
}

// Recv implements weft.RawStream.
func (o *outbox) Recv(msg any) error {
	o.mu.Lock()
	ended := o.ended
	o.mu.Unlock()
	if ended != nil {
		return ended
	}
	o.flow()
	select {
	case <-o.ready:
	case <-o.r.Context().Done(): // also that of a stream that Close has ended before the request began
		return o.end(o.c.Lost(o.r.Context(), o.r.Context().Err()))
	}
	if o.fail != nil {
		return o.end(o.fail)
	}
	if o.lines == nil {
		if err := o.check(); err != nil {
			return o.end(err)
		}
	}
	body, size, err := o.next()
	if err != nil {
		return o.end(err)
	}
	o.Received(size)
	if err := o.c.decode(body, msg); err != nil {
		return o.end(err)
	}
	return nil
}

// check looks at the header of the answer.
func (o *outbox) check() error {
	if o.res.StatusCode != nethttp.StatusOK {
		return o.c.statusError(o.ctx, o.res)
	}
	o.call.ReplyMetadata = MetadataOf(o.res.Header)
	kind, _ := typeOf(o.res.Header.Get("Content-Type"))
	if kind == "application/jsonl" {
		kind = typeNDJSON
	}
	_, isJSON := jsonType(o.res)
	if kind != typeNDJSON && kind != typeSSE && !isJSON {
		return unrelated("the answer has the Content-Type %q, want %s or %s", httpfield.Clip(kind), typeNDJSON, typeSSE)
	}
	o.kind, o.lines = kind, bufio.NewReader(o.res.Body)
	return nil
}

// next reads the next message, of which size bytes came. io.EOF says that the call has ended well.
func (o *outbox) next() (body []byte, size int, err error) {
	switch o.kind {
	case typeNDJSON:
		body, err = o.nextLine()
	case typeSSE:
		body, err = o.nextEvent()
	default:
		if o.once {
			return nil, 0, io.EOF
		}
		o.once = true
		return o.c.body(o.ctx, o.res)
	}
	return body, len(body), err
}

// nextLine reads a message that is one line.
func (o *outbox) nextLine() ([]byte, error) {
	for {
		line, err := o.line()
		if err != nil {
			o.trailers()
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var of struct{ Result, Error json.RawMessage }
		if err := json.Unmarshal(line, &of); err != nil || of.Result == nil && of.Error == nil {
			return nil, unrelated(`a line is neither {"result":…} nor {"error":…}`)
		}
		if of.Error == nil {
			return of.Result, nil
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(o.lines, lineRoom)) // behind it are the trailers
		o.trailers()
		return nil, problemIn(of.Error)
	}
}

// trailers takes the metadata behind the messages.
func (o *outbox) trailers() {
	if m := MetadataOf(o.res.Trailer); m.Len() > 0 {
		o.call.ReplyMetadata = m
	}
}

// problemIn is the error that a message of an answer stands for.
func problemIn(b []byte) error {
	if e := readProblem(b, nethttp.StatusInternalServerError); e != nil {
		return e
	}
	return weft.Errorf(weft.Unknown, "the server ended the call with an error that is no problem of RFC 9457: %s", httpfield.Clip(string(b)))
}

// nextEvent reads a message that is an event.
func (o *outbox) nextEvent() ([]byte, error) {
	var data []byte
	name, some := "", false
	for {
		line, err := o.line()
		if err == io.EOF { // an event without its end is none
			err = o.c.Lost(o.ctx, errors.New("the answer ends without the event end"))
		}
		if err != nil {
			return nil, err
		}
		field, value, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "data":
			if some {
				data = append(data, '\n')
			}
			data, some = append(data, value...), true
			if len(data) > o.c.cfg.Limits.MaxMessage {
				return nil, replyTooLarge(o.c.cfg.Limits.MaxMessage)
			}
		case field == "event":
			name = value
		case field != "" || value != "": // an id, a time to wait, a comment
		case name == "end":
			return nil, io.EOF
		case name == "error":
			return nil, problemIn(data)
		case some:
			return data, nil
		default:
			name = ""
		}
	}
}

// lineRoom is what a line may have beside its message.
const lineRoom = 64

// line reads one line of the answer.
func (o *outbox) line() ([]byte, error) {
	limit := o.c.cfg.Limits.MaxMessage
	var line []byte
	for {
		part, err := o.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > limit+lineRoom:
			return nil, replyTooLarge(limit)
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && len(line) == 0:
			return nil, io.EOF
		case err == io.EOF:
			return line, nil
		default:
			return nil, o.c.Lost(o.ctx, err)
		}
	}
}

// end notes the end of the call.
func (o *outbox) end(err error) error {
	o.mu.Lock()
	if o.ended == nil {
		o.ended = err
	}
	err = o.ended
	pipe := o.pipe
	o.mu.Unlock()
	if pipe != nil {
		_ = pipe.CloseWithError(io.EOF)
	}
	select {
	case <-o.ready:
		if o.res != nil {
			if err == io.EOF {
				// What stands behind the end keeps the connection from being used again.
				_, _ = io.Copy(io.Discard, io.LimitReader(o.res.Body, lineRoom))
			}
			o.res.Body.Close()
		}
	default:
	}
	o.cancel()
	return err
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
