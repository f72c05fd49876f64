package weft

import (
	"context"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/due"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// callOptions are what the configuration, the options and the context of one call add up to. They are resolved once, before its interceptors run.
type callOptions struct {
	codec      codec.Codec
	compressor compress.Compressor
	timeout    time.Duration // not above zero: none
	bounded    bool          // the timeout is the call's own, not the configured one
	credential *Credential
	reply      *Metadata
	oneway     bool
	ordered    bool   // a one-way call that runs after the earlier ones of the same order
	order      string // of an ordered call
	attempt    int    // how many times the call was tried before
	received   any    // of a stream: a message as it will be received, for its type; nil: that is not known
	unproven   bool   // the function that gives the credential has failed

	// deadline is when the call ends at the latest, by its timeout and the deadline of ctx, on the clock of session.Nanos; 0 for never.
	deadline int64
	own      bool // the deadline, if there is one, is that of ctx
	ctx      context.Context
}

// CallOption changes one call. The options are WithCodec, WithCompressor, WithTimeout, WithCredential, WithReplyMetadata, WithOrder and WithAttempt.
type CallOption interface{ apply(o *callOptions) error }

type optionFunc func(o *callOptions) error

func (f optionFunc) apply(o *callOptions) error { return f(o) }

// WithCodec sets the codec of a call; nil chooses it as if there were no such option. The server must have it too.
func WithCodec(c codec.Codec) CallOption {
	return optionFunc(func(o *callOptions) error {
		if c != nil {
			if err := wire.CheckName(c.Name()); err != nil {
				return Errorf(InvalidArgument, "weft: codec of type %T has a %w", c, err)
			}
		}
		o.codec = c
		return nil
	})
}

// WithCompressor sets the compressor of a call's request; nil sends it as it is.
// Small requests, and requests to a server that cannot undo it, are sent as they are.
func WithCompressor(c compress.Compressor) CallOption {
	return optionFunc(func(o *callOptions) error { o.compressor = c; return nil })
}

// WithTimeout bounds a call in time, from the moment it is made, retries and interceptors included. The earlier of this and the context's deadline
// counts. A timeout below zero lets a unary call run as long as its context does; zero is an error.
func WithTimeout(d time.Duration) CallOption {
	return optionFunc(func(o *callOptions) error {
		if d == 0 {
			return Errorf(InvalidArgument, "weft: a timeout of zero leaves no time for the call")
		}
		o.timeout, o.bounded = min(d, mostTimeout), true
		return nil
	})
}

// WithCredential sets the credential of a call.
func WithCredential(cred Credential) CallOption {
	return optionFunc(func(o *callOptions) error { o.credential = &cred; return nil })
}

// WithReplyMetadata stores the metadata that comes back with the reply, or with the error, in m. Of a streaming call it is stored when Recv or Send
// has reported the end.
func WithReplyMetadata(m *Metadata) CallOption {
	return optionFunc(func(o *callOptions) error { o.reply = m; return nil })
}

// receiving tells of a stream which messages are received.
func receiving(msg any) CallOption {
	return optionFunc(func(o *callOptions) error { o.received = msg; return nil })
}

// CallSettings are what the options of a call say, for a Caller that makes calls through other Callers, as package cluster does.
type CallSettings struct {
	Timeout       time.Duration // below zero: none
	HasTimeout    bool          // an option gives Timeout
	OwnCredential bool          // an option gives a credential
	ReplyMetadata *Metadata     // where the reply's metadata is to be stored; nil: nowhere
	Codec         codec.Codec   // nil: no option gives one
}

// SettingsOf resolves the options of a call. The error is that of the first option that is wrong.
func SettingsOf(opts ...CallOption) (CallSettings, error) {
	var o callOptions
	if err := applyAll(&o, opts); err != nil {
		return CallSettings{}, err
	}
	return CallSettings{Timeout: o.timeout, HasTimeout: o.bounded, OwnCredential: o.credential != nil, ReplyMetadata: o.reply, Codec: o.codec}, nil
}

// applyAll applies options in order.
func applyAll(o *callOptions, opts []CallOption) error {
	for i, opt := range opts {
		if opt == nil {
			return Errorf(InvalidArgument, "weft: call option %d is nil", i)
		}
		if err := opt.apply(o); err != nil {
			return err
		}
	}
	return nil
}

// resolve is the one place where the options and the deadline of a call are found. The configured timeout does not concern a stream.
func (c *caller) resolve(ctx context.Context, o *callOptions, stream bool, opts []CallOption) error {
	o.ctx, o.compressor = ctx, c.compressor
	if !stream {
		o.timeout = c.timeout
	}
	if err := applyAll(o, opts); err != nil {
		return err
	}
	if o.ordered && !o.oneway {
		return Errorf(InvalidArgument, "weft: WithOrder is for one-way calls: use it with Notify")
	}
	o.deadline = deadlineOf(ctx)
	o.own = true
	if (o.bounded || o.deadline == 0) && o.timeout > 0 {
		until := session.Nanos() + int64(o.timeout)
		if o.deadline == 0 || until < o.deadline {
			o.deadline, o.own = until, false
		}
	}
	return nil
}

// deadlineOf is the deadline of a context on the clock of session.Nanos, 0 for none.
func deadlineOf(ctx context.Context) int64 {
	if until, ok := ctx.Deadline(); ok {
		return session.At(until)
	}
	return 0
}

// until is the deadline of a call that is made with ctx, which an interceptor may have replaced by one that ends earlier.
func (o *callOptions) until(ctx context.Context) int64 {
	if due.Same(ctx, o.ctx) {
		return o.deadline
	}
	at := deadlineOf(ctx)
	if at == 0 || o.deadline != 0 && o.deadline < at {
		return o.deadline
	}
	return at
}

// bounded returns ctx with a deadline on the clock of session.Nanos, for what waits.
func bounded(ctx context.Context, deadline int64) (context.Context, context.CancelFunc) {
	if deadline == 0 {
		return ctx, func() {}
	}
	return due.Within(ctx, time.Duration(deadline-session.Nanos()))
}
