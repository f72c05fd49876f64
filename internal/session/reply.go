package session

import (
	"errors"

	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/buffer"
	"github.com/weftrpc/weft/internal/wire"
)

// reply takes a REPLY or ERROR for a call of this side. body is the reader's;
// owned says that it may be kept.
func (o *outgoing) reply(c *Call, h wire.Header, body []byte, owned bool, at int64) {
	c.Ended = at
	if h.Flags&wire.FlagMeta != 0 {
		pairs, rest, err := wire.SplitMeta(body, o.cfg.Limits.MaxMetadata)
		if err != nil {
			if c.Status = o.cfg.replyStatus(err, c); h.Type == wire.TypeError {
				c.Status = errorStatus(h, nil)
			}
			o.complete(c)
			return
		}
		if c.KeepMeta {
			c.ReplyMeta = string(pairs)
		}
		body = rest
	}
	if h.Type == wire.TypeReply {
		c.ReplyBytes = uint32(len(body))
	}
	switch {
	case h.Type == wire.TypeError:
		c.Status = errorStatus(h, body)
	case len(body) > o.cfg.Limits.MaxMessage:
		c.Status = o.cfg.Limits.tooLong(wire.TypeReply)
	case c.Reply == nil || c.Oneway || !c.Plain && c.stream != nil:
	case c.sized && (c.Plain || !c.Late) && h.Flags&wire.FlagCompressed == 0 && !owned:
		if err := Decode(c.Codec, body, c.Reply); err != nil {
			c.Status = o.cfg.replyStatus(err, c)
		}
	default:
		c.kept.compressed = h.Flags&wire.FlagCompressed != 0
		if owned {
			c.kept.buf = &buffer.Buffer{B: body}
		} else {
			c.kept.buf = buffer.Take().Extend(body)
		}
		c.held = true
	}
	o.complete(c)
}

// complete tells the caller that its call has ended. Only the goroutine that
// swapped the call out of its slot may call it.
func (o *outgoing) complete(c *Call) {
	switch {
	case c.Plain || c.stream == nil && c.Async == nil:
		c.done <- signal{}
	case c.stream != nil:
		c.stream.state.End(c.Status, c.ReplyMeta)
	case !c.held:
		c.Async(c)
	default:
		o.cfg.Exec.Go(func() {
			o.cfg.finish(c)
			c.Async(c)
		})
	}
}

// finish decodes, on the caller's goroutine, a reply that was too large or too
// slow to be decoded by the reader. It must be called after Wait.
func (cfg *Config) finish(c *Call) {
	if !c.held {
		return
	}
	body, err := c.kept.buf.B, error(nil)
	if c.kept.compressed {
		body, err = cfg.decompress(body, cfg.Limits.MaxMessage)
	}
	if err == nil && c.Reply != nil {
		err = Decode(c.Codec, body, c.Reply)
	}
	if err != nil {
		c.Status = cfg.replyStatus(err, c)
	}
	c.Drop()
}

// Drop throws away a reply that was waited for and will not be decoded.
func (c *Call) Drop() {
	if !c.held {
		return
	}
	c.kept.buf.Release()
	c.held, c.kept.buf = false, nil
}

// replyStatus is the status of a call whose reply cannot be used.
func (cfg *Config) replyStatus(err error, c *Call) *wire.Status {
	switch {
	case errors.Is(err, compress.ErrTooLarge):
		return cfg.Limits.tooLong(wire.TypeReply)
	case errors.Is(err, wire.ErrTooLarge):
		return &wire.Status{Code: wire.ResourceExhausted, Outcome: wire.Executed, Reason: wire.ReasonMetadataTooLarge, Message: "reply: " + err.Error()}
	}
	return &wire.Status{Code: wire.Internal, Outcome: wire.Executed, Reason: wire.ReasonDecode,
		Message: "decode the reply with codec " + c.Codec.Name() + ": " + err.Error()}
}

// errorStatus reads an ERROR. If its body cannot be read the header alone counts.
func errorStatus(h wire.Header, body []byte) *wire.Status {
	head := wire.Status{Code: wire.Code(h.Code), Outcome: wire.Executed}
	if head.Code == wire.OK || head.Code > wire.Unauthenticated {
		head.Code = codeUnknown
	}
	if h.Flags&wire.FlagRefused != 0 {
		head.Outcome = wire.Refused
	}
	st := head
	if err := wire.ParseStatus(body, &st); err != nil {
		st = head
		st.Message = "unreadable error: " + err.Error()
	}
	return &st
}

// codeUnknown is the code of an error that has none of its own.
const codeUnknown wire.Code = 2
