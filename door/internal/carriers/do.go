package carriers

import (
	"context"
	"io"
	nethttp "net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft"
)

// Do has a request answered. wrote, if it is not nil, is called when the request was written.
func (c *Conns) Do(ctx context.Context, r *nethttp.Request, wrote func()) (*nethttp.Response, error) {
	x, err := c.Take(ctx)
	if err != nil {
		return nil, err
	}
	return c.Send(ctx, x, r, wrote)
}

// Send is Do on a carrier that Take has found. The server may have closed that connection since, or be about to: as long
// as nothing of the request was written, another carrier takes its place.
func (c *Conns) Send(ctx context.Context, x *Carrier, r *nethttp.Request, wrote func()) (*nethttp.Response, error) {
	var begun atomic.Bool
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		WroteHeaderField: func(string, []string) { begun.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if wrote != nil {
				wrote()
			}
		},
	}))
	for tries := c.o.MaxConns; ; tries-- {
		err := x.Err()
		if err == nil {
			var res *nethttp.Response
			c.opened(x)
			res, err = x.RoundTrip(r)
			c.answered(x, res)
			if err == nil {
				return res, nil
			}
		} else {
			x.Release()
		}
		e := c.Lost(ctx, err)
		if begun.Load() {
			return nil, e
		}
		e.Outcome = weft.NotSent
		if x.Err() == nil || ctx.Err() != nil || tries <= 0 {
			return nil, e
		}
		if x, err = c.Take(ctx); err != nil {
			return nil, err
		}
	}
}

// Lost is the error of a call whose answer did not come.
func (c *Conns) Lost(ctx context.Context, err error) *weft.Error {
	var e *weft.Error
	switch {
	case ctx.Err() != nil:
		e = weft.Errorf(weft.CodeOf(ctx.Err()), "%w before the reply came", ctx.Err())
	case c.closed() != nil:
		e = c.closed()
	default:
		e = weft.Errorf(codeOfLoss(err), "connection lost: %w", err)
	}
	e.Outcome = weft.OutcomeUnknown
	if e.Code == weft.Unavailable && strings.Contains(err.Error(), "REFUSED_STREAM") {
		e.Outcome = weft.Refused // such a request was not given to the program
	}
	return e
}

// codeOfLoss is the code of an error of net/http, which tells the resets of HTTP/2 by their texts.
func codeOfLoss(err error) weft.Code {
	text := err.Error()
	if i := strings.Index(text, "stream error:"); i >= 0 || strings.Contains(text, "RST_STREAM") {
		switch {
		case strings.Contains(text, "REFUSED_STREAM"):
			return weft.Unavailable
		case strings.Contains(text, "CANCEL"):
			return weft.Canceled
		case strings.Contains(text, "ENHANCE_YOUR_CALM"):
			return weft.ResourceExhausted
		case strings.Contains(text, "INADEQUATE_SECURITY"):
			return weft.PermissionDenied
		}
		return weft.Internal
	}
	return weft.Unavailable
}

// closed is the error of a call that Close has ended; nil: it was not called.
func (c *Conns) closed() *weft.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut == nil {
		return nil
	}
	e := *c.shut
	return &e
}

// Oneway sends a request whose reply is thrown away. It returns when the request has been written.
func (c *Conns) Oneway(ctx context.Context, r *nethttp.Request) error {
	select {
	case c.oneway <- struct{}{}:
	case <-c.done:
		return Unsent(c.Err())
	case <-ctx.Done():
		return NotSent(weft.CodeOf(ctx.Err()), "", "%w: as many one-way calls are under way as may be", ctx.Err())
	}
	life, cancel := context.WithoutCancel(ctx), func() {}
	if d, ok := ctx.Deadline(); ok {
		life, cancel = context.WithDeadline(life, d)
	}
	written := make(chan error, 2)
	// It ends with the answer, the deadline or the connection.
	go func() {
		defer c.onewayEnded()
		defer cancel()
		res, err := c.Do(life, r.WithContext(life), sync.OnceFunc(func() { written <- nil }))
		if err != nil {
			written <- err
			return
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, int64(c.cfg.Limits.MaxMessage)))
		res.Body.Close()
	}()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return weft.Errorf(weft.CodeOf(ctx.Err()), "%w before the request was written", ctx.Err())
	}
}
