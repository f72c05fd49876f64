// Package accesslog writes one record of log/slog for a call: its caller and its method, how it ended
// and how long it took. Calls that failed or were slow are written, of the others a sample. Config.PerSecond
// bounds all together, and leaves a part to calls that failed or were slow. Bodies and credentials are
// never written.
//
//	p, err := accesslog.New(&accesslog.Config{OneIn: 100, Slow: 200 * time.Millisecond})
//	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{p}})
//
// The attributes are: call ("answered" or "made"), wire, method, code, duration; of a failure outcome,
// reason and error; peer, principal, trace_id, attempt, deadline_left where they are known; of a stream
// sent and received; metadata that Config names. The duration of a call that was answered begins when
// its request has been read: the time that it waits for its turn is a part of it.
//
// The outcome of a call that was answered is "Executed", as its caller is told: also when an
// interceptor has failed it. Calls that are refused before their interceptors run are not written;
// weft.ServerStats counts them.
package accesslog

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/plugin/internal/ended"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// The defaults of a Config.
const (
	DefaultPerSecond = 1000
	// MaxValue is how many bytes of a value are written.
	MaxValue = 256
)

// Config configures the log. The zero value, and a nil pointer to one, give the defaults.
type Config struct {
	// Logger gets the records: those of calls that went well with level Info, the others with
	// Warn. nil: slog.Default().
	Logger *slog.Logger
	// OneIn is of how many calls that went well and were not slow one is written. 0: 1, which
	// is each; below zero: none.
	OneIn int
	// FailuresOneIn is the same of calls that failed.
	FailuresOneIn int
	// Slow is from when on a call is slow. 0: none is.
	Slow time.Duration
	// PerSecond is how many records are written in a second; the next record says how many
	// were dropped. A tenth of it, rounded down, is left to calls that failed or were slow, whatever the
	// others are. 0: DefaultPerSecond; below zero: all.
	PerSecond int
	// Methods are those whose calls are written: "Arith.Mul", "Arith.*", "*". nil: all.
	Methods []string
	// Metadata are the keys of the request's metadata that are written. It must not name keys
	// that carry secrets; those of credentials, such as "authorization" and "cookie", are an error. nil: none.
	Metadata []string
	// Principal is the name of a principal. It is not called for a call without one. nil: that of a string or of a fmt.Stringer.
	Principal func(principal any) string
	// Redact returns what is written in place of a value: of the attribute "error", and of
	// metadata by key. nil: the value.
	Redact func(attribute, value string) string
}

// New returns the plugin, for servers and clients. On a cluster.Client it is for Config.Plugins,
// where it writes whole calls, or for Client.Plugins, where it writes each attempt.
func New(cfg *Config) (weft.Plugin, error) {
	l := &accessLog{}
	if cfg != nil {
		l.cfg = *cfg
	}
	c := &l.cfg
	l.methods, c.Metadata = slices.Clone(c.Methods), slices.Clone(c.Metadata)
	if err := l.methods.Check(); err != nil {
		return weft.Plugin{}, weft.Errorf(weft.InvalidArgument, "accesslog: Config.Methods: %w", err)
	}
	for _, key := range c.Metadata {
		if match.Credential(key) {
			return weft.Plugin{}, weft.Errorf(weft.InvalidArgument, "accesslog: Config.Metadata names %q, which carries credentials", key)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.PerSecond == 0 {
		c.PerSecond = DefaultPerSecond
	}
	if c.Principal == nil {
		c.Principal = func(p any) string {
			name, _ := match.Principal(p)
			return name
		}
	}
	return weft.Plugin{Name: "accesslog", Server: l.answered, ServerStream: l.answeredStream, Client: l.made, ClientStream: l.opened}, nil
}

// accessLog is the log of one plugin.
type accessLog struct {
	cfg     Config
	methods match.Methods
	second  atomic.Int64 // of which written is
	written atomic.Int64 // records of that second
	good    atomic.Int64 // of these, those of calls that neither failed nor were slow
	dropped atomic.Int64
}

// The directions of calls.
const (
	answered = "answered"
	made     = "made"
)

// record is what is known of a call.
type record struct {
	direction      string
	info           *weft.CallInfo
	took           time.Duration
	err            error
	sent, received int64
}

func (l *accessLog) answered(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	reply, err := next(ctx, info, req)
	if sampled := l.sampled(err); sampled || l.cfg.Slow > 0 {
		l.unary(ctx, answered, info, received(ctx), sampled, err)
	}
	return reply, err
}

func (l *accessLog) made(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	began := session.Nanos() // which costs less than the time of day
	reply, err := next(ctx, info, req)
	if sampled := l.sampled(err); sampled || l.cfg.Slow > 0 {
		l.unary(ctx, made, info, began, sampled, err)
	}
	return reply, err
}

// received is when the request of a call was read, on the clock of session.Nanos.
func received(ctx context.Context) int64 {
	if c := session.FromContext(ctx); c != nil {
		return c.Received()
	}
	return session.Nanos()
}

// unary writes the record of a unary call that has ended, if it was sampled or slow. Of most calls neither is so: for
// those that cannot be slow it is not called, and the clock is not read.
func (l *accessLog) unary(ctx context.Context, direction string, info *weft.CallInfo, began int64, sampled bool, err error) {
	took := time.Duration(session.Nanos() - began)
	if (sampled || l.slow(took)) && l.methods.Has(info.Method) {
		l.write(ctx, record{direction: direction, info: info, took: took, err: err})
	}
}

func (l *accessLog) answeredStream(ctx context.Context, info *weft.CallInfo, stream weft.RawStream, next weft.StreamFunc) error {
	began, counted := received(ctx), &counted{RawStream: stream}
	err := next(ctx, info, counted)
	told := err
	if errors.Is(err, io.EOF) {
		told = nil // the handler has passed on the end of its input
	}
	l.stream(ctx, answered, info, began, counted, told)
	return err
}

func (l *accessLog) opened(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
	began, counted := session.Nanos(), &counted{}
	stream, err := next(ctx, info)
	if err != nil {
		l.stream(ctx, made, info, began, counted, err)
		return nil, err
	}
	counted.RawStream = stream
	kept := *info
	kept.Method = strings.Clone(info.Method) // the stream may outlast the caller's memory of it
	return ended.Watch(ctx, counted, func(err error) { l.stream(ctx, made, &kept, began, counted, err) }), nil
}

// stream is unary for a stream.
func (l *accessLog) stream(ctx context.Context, direction string, info *weft.CallInfo, began int64, c *counted, err error) {
	took := time.Duration(session.Nanos() - began)
	if (l.sampled(err) || l.slow(took)) && l.methods.Has(info.Method) {
		l.write(ctx, record{direction, info, took, err, c.sent.Load(), c.received.Load()})
	}
}

// sampled tells whether a call is to be written by how it ended.
func (l *accessLog) sampled(err error) bool {
	oneIn := l.cfg.OneIn
	if err != nil {
		oneIn = l.cfg.FailuresOneIn
	}
	return oneIn >= 0 && (oneIn <= 1 || rand.IntN(oneIn) == 0)
}

// slow tells whether a call has taken so long that it is written.
func (l *accessLog) slow(took time.Duration) bool { return l.cfg.Slow > 0 && took >= l.cfg.Slow }

// room tells whether one more record may be written in this second; good is that of a call that neither failed nor was
// slow.
func (l *accessLog) room(good bool) bool {
	if l.cfg.PerSecond < 0 {
		return true
	}
	now := time.Now().Unix()
	if was := l.second.Load(); was != now && l.second.CompareAndSwap(was, now) {
		l.written.Store(0)
		l.good.Store(0)
	}
	most := int64(l.cfg.PerSecond)
	if good && l.good.Add(1) > most-most/10 || l.written.Add(1) > most {
		l.dropped.Add(1)
		return false
	}
	return true
}

// write writes the record of a call.
func (l *accessLog) write(ctx context.Context, r record) {
	c, slow := &l.cfg, l.slow(r.took)
	level := slog.LevelInfo
	good := r.err == nil && !slow
	if !good {
		level = slog.LevelWarn
	}
	if !c.Logger.Enabled(ctx, level) || !l.room(good) {
		return
	}
	code := weft.Code(0)
	if r.err != nil {
		code = weft.CodeOf(r.err)
	}
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(attrs, slog.String("call", r.direction), slog.String("method", strings.Clone(cut(r.info.Method))),
		slog.String("code", code.String()), slog.Duration("duration", r.took))
	if slow {
		attrs = append(attrs, slog.Bool("slow", true))
	}
	attrs = l.appendFailure(attrs, r)
	attrs = l.appendCaller(ctx, attrs, r)
	if r.info.Stream {
		attrs = append(attrs, slog.Int64("sent", r.sent), slog.Int64("received", r.received))
	}
	if n := l.dropped.Swap(0); n > 0 {
		attrs = append(attrs, slog.Int64("dropped", n))
	}
	c.Logger.LogAttrs(ctx, level, "call", attrs...)
}

// appendFailure appends the attributes of the error of a call.
func (l *accessLog) appendFailure(attrs []slog.Attr, r record) []slog.Attr {
	if r.err == nil {
		return attrs
	}
	e, ok := errors.AsType[*weft.Error](r.err)
	if !ok {
		e = &weft.Error{Message: r.err.Error()}
	}
	attrs = append(attrs, slog.String("outcome", outcomeOf(r.direction, e).String()))
	if e.Reason != "" {
		attrs = append(attrs, slog.String("reason", cut(e.Reason)))
	}
	if e.Message != "" {
		attrs = append(attrs, slog.String("error", l.redacted("error", e.Message)))
	}
	return attrs
}

// outcomeOf is how far a call got, as its caller is told.
func outcomeOf(direction string, e *weft.Error) weft.Outcome {
	if direction == answered {
		return weft.Executed
	}
	return e.Outcome
}

// appendCaller appends the attributes of the two sides of a call.
func (l *accessLog) appendCaller(ctx context.Context, attrs []slog.Attr, r record) []slog.Attr {
	if p := r.info.Peer; p != nil {
		attrs = append(attrs, slog.String("wire", p.Wire()), slog.String("peer", p.Addr().String()))
	}
	m, attempt := weft.MetadataFrom(ctx), weft.AttemptFrom(ctx)
	if r.direction == made {
		m, attempt = weft.OutgoingMetadata(ctx), r.info.Attempt
	} else if of := weft.PrincipalFrom(ctx); of != nil {
		if name := l.cfg.Principal(of); name != "" {
			attrs = append(attrs, slog.String("principal", cut(name)))
		}
	}
	if id := traceID(m.Get("traceparent")); id != "" {
		attrs = append(attrs, slog.String("trace_id", id))
	}
	if attempt > 0 {
		attrs = append(attrs, slog.Int("attempt", attempt))
	}
	if until, ok := ctx.Deadline(); ok {
		attrs = append(attrs, slog.Duration("deadline_left", time.Until(until)))
	}
	var chosen []any
	for _, key := range l.cfg.Metadata {
		if v := m.Get(key); v != "" {
			chosen = append(chosen, slog.String(key, l.redacted(key, v)))
		}
	}
	if len(chosen) > 0 {
		attrs = append(attrs, slog.Group("metadata", chosen...))
	}
	return attrs
}

func (l *accessLog) redacted(attribute, value string) string {
	if l.cfg.Redact != nil {
		value = l.cfg.Redact(attribute, value)
	}
	return cut(value)
}

// cut shortens a value to MaxValue bytes of valid UTF-8, at the beginning of a character.
func cut(s string) string {
	if len(s) > MaxValue {
		end := MaxValue
		for end > MaxValue-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// traceID is the part of a traceparent of the W3C that names the trace.
func traceID(parent string) string {
	if len(parent) < 55 || parent[2] != '-' || parent[35] != '-' || strings.Trim(parent[3:35], "0123456789abcdef") != "" {
		return "" // a caller may send any text
	}
	return parent[3:35]
}
