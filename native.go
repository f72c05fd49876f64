package weft

import (
	"context"

	"github.com/weftrpc/weft/internal/reuse"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/slab"
	"github.com/weftrpc/weft/internal/turns"
	"github.com/weftrpc/weft/internal/wire"
)

// run answers one call that came by weft's own wire.
func (e *endpoint) run(r *session.Request) {
	err := error(Internal) // if the handler panics
	if r.Ctx.Gated() {
		from := e.begin(r)
		defer func() { e.over(r, from, err) }()
	}
	size := len(r.Body)
	defer func() {
		if e.m == nil {
			return
		}
		where, replied := r.Ctx.Session.Number(), r.Replied
		if stream := r.Ctx.Stream(); stream != nil {
			replied, size = session.StreamBytes(stream)
		}
		e.stats.Count(where, uint16(CodeOf(err)))
		e.stats.Bytes(where, size, replied)
		if r.Sampled && r.Ended != 0 {
			e.stats.Time(where, uint16(CodeOf(err)), r.Ended-r.Ctx.Received())
		} else if err != nil || e.m.kind != Unary { // a handler that panics was not answered yet
			e.stats.Time(where, uint16(CodeOf(err)), session.Nanos()-r.Ctx.Received())
		}
	}()
	err = e.answer(r)
}

// answer runs the call and answers it; the error is what the caller was told. A small unary call around which nothing runs takes the short way.
func (e *endpoint) answer(r *session.Request) error {
	r.Compress = e.h.compressor
	if !e.short || !e.h.taps.Empty() {
		return e.arrive(r)
	}
	if st := r.Open(); st != nil {
		return e.fail(r, st)
	}
	if e.m.raw != nil {
		return e.answerRaw(r)
	}
	if len(r.Body) > turns.Small {
		return e.arrive(r)
	}
	if e.m.reuse != nil && reuse.By(r.Codec) {
		return e.answerReuse(r)
	}
	req := e.m.newRequest()
	if err := session.Decode(r.Codec, r.Body, req); err != nil {
		return e.fail(r, &wire.Status{Code: wire.InvalidArgument, Outcome: wire.Refused, Reason: wire.ReasonDecode,
			Message: "decode the request with codec " + r.Codec.Name() + ": " + err.Error()})
	}
	reply, err := e.m.call(r.Ctx, req)
	if err != nil {
		return e.fail(r, toStatus(err))
	}
	r.Reply(reply)
	return nil
}

// answerRaw is answer for a method that takes bytes.
func (e *endpoint) answerRaw(r *session.Request) error {
	if r.Codec.Name() != "raw" {
		return e.arrive(r) // which refuses it
	}
	reply, err := e.m.raw(r.Ctx, r.Body, r.Scratched())
	if err != nil {
		return e.fail(r, toStatus(err))
	}
	r.ReplyBytes(reply)
	return nil
}

func (e *endpoint) fail(r *session.Request, st *wire.Status) error {
	if st.Outcome == wire.Refused {
		e.h.countRefused(Code(st.Code), st.Reason)
	}
	r.Fail(st)
	return Code(st.Code)
}

// arrive takes the call through the pipeline.
func (e *endpoint) arrive(r *session.Request) error {
	infos, ok := (*r.Kept()).(*slab.Slab[CallInfo])
	if !ok {
		infos = new(slab.Slab[CallInfo])
		*r.Kept() = infos
	}
	info := infos.Next(1, slabInfos)
	info.Method, info.Codec, info.Stream, info.Oneway = r.Ctx.Method.Name, r.Codec.Name(), r.Ctx.Stream() != nil, r.Oneway()
	info.Peer, info.in = peerOf(r.Ctx), e
	a := arrival{info: info, h: e.h, e: e, ctx: r.Ctx, in: native{r}, size: len(r.Body)}
	return a.serve()
}

// slabInfos is how many CallInfos a reader makes at once, when it has made some.
const slabInfos = 16

// native is the Inbound of weft's own wire.
type native struct{ r *session.Request }

func (n native) Decode(v any) error {
	if st := n.r.Open(); st != nil {
		return fromStatus(st, "", "")
	}
	h := n.r.Ctx.Method.Data.(*endpoint).h
	return h.inTurn(n.r.Ctx, len(n.r.Body), func() error { return session.Decode(n.r.Codec, n.r.Body, v) })
}

// inTurn runs f, which makes n bytes of a message or decodes them: if they are many, in a turn of the connection.
func (h *host) inTurn(ctx *session.Context, n int, f func() error) error {
	if n <= turns.Small {
		return f()
	}
	return h.turn(ctx, f)
}

// turn runs f, which restores or decodes a large message: few of a connection, and of all connections, at a time.
func (h *host) turn(ctx *session.Context, f func() error) error {
	if p := peerOf(ctx); p != nil {
		if err := h.decoding.Take(ctx, &p.decoding); err != nil {
			return Errorf(CodeOf(err), "%w before the message was decoded", err)
		}
		defer h.decoding.Give(&p.decoding)
	}
	return f()
}

// Reply cannot fail: a reply that cannot be encoded was answered with an error.
func (n native) Reply(v any, _ Metadata) error {
	if n.r.Ctx.Stream() != nil {
		n.r.ReplyBytes(nil)
	} else {
		n.r.Reply(v)
	}
	return nil
}

func (n native) Fail(e *Error, _ Metadata) { n.r.Fail(statusOf(e)) }

func (n native) Stream(ctx context.Context) RawStream {
	stream := n.r.Ctx.Stream()
	stream.SetCompress(n.r.Compress)
	return &rawStream{s: stream, ctx: ctx, method: n.r.Ctx.Method.Name, server: true}
}

// sessionRefused counts a call that a session refused before it reached a method.
func (h *host) sessionRefused(_ *session.Session, st *wire.Status) {
	h.countRefused(Code(st.Code), st.Reason)
}

// sessionPanicked logs a panic of a handler around which nothing runs.
func (h *host) sessionPanicked(r *session.Request, v any) {
	h.fence.Panicked("method", r.Ctx.Method.Name, r.Ctx.Session.Conn().RemoteAddr(), v)
}
