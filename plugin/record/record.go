// Package record writes calls to files, and makes them again: to try a new version with the calls of
// yesterday, to measure it with them, or to find out what a caller has sent.
//
//	r, err := record.New(&record.Config{Dir: "/var/lib/orders/calls", Percent: 1, Redact: []string{"card.number"}})
//	defer r.Close()
//	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{r.Plugin()}})
//
// The calls of a folder are made again, in their order and at their pace, with
//
//	stats, err := record.Replay(ctx, "/var/lib/orders/calls", &record.ReplayConfig{Target: c, Speed: 1})
//
// A call never waits for the file: what a chosen call pays is the encoding of its messages, and it is
// dropped when the writer is behind. Streams are not recorded. The format of the files is in FORMAT.md.
package record

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/logger"
	"github.com/weftrpc/weft/internal/stock"
	"github.com/weftrpc/weft/plugin/internal/diff"
	"github.com/weftrpc/weft/plugin/internal/encoded"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// The defaults of a Config.
const (
	DefaultMaxMessage = 1 << 20
	DefaultMaxFile    = 64 << 20
	DefaultMaxFiles   = 16
	DefaultQueue      = 1024
	DefaultMaxBytes   = 16 << 20
)

// Config configures a Recorder.
type Config struct {
	// Dir is the folder of the files. It is made when it is not there; only its owner can read it.
	Dir string
	// Percent is of how many calls are recorded. 0: 100.
	Percent float64
	// Methods are those whose calls are recorded: "Arith.Mul", "Arith.*", "*". nil: all.
	Methods []string
	// Metadata are the keys of the request's metadata that are recorded. It must not name keys that
	// carry secrets; those of credentials, such as "authorization" and "cookie", are an error. nil: none.
	Metadata []string
	// Redact are the fields of requests and replies whose values are not recorded, by their names in
	// JSON, or in the .proto file, in any case and with or without underscores: "card.number",
	// "lines.*.note" or "lines.note" of every element of a list, "lines.0.note" of the first. A text
	// becomes "redacted", a number 0, everything else nothing. Bytes of raw methods have no fields.
	Redact []string
	// Change may change a call before it is written, or leave it out by returning false. It is
	// called by one goroutine. nil: all are written as they are.
	Change func(c *Call) bool
	// MaxMessage is how many bytes a request or a reply may have; a call with a longer one is left
	// out. 0: DefaultMaxMessage.
	MaxMessage int
	// MaxFile is how many bytes a file may have before the next one is begun, and MaxFiles how many
	// files are kept: the oldest are deleted. 0: DefaultMaxFile, DefaultMaxFiles.
	MaxFile, MaxFiles int
	// Queue is how many calls may wait to be written, and MaxBytes how many bytes they may have;
	// further ones are dropped. 0: DefaultQueue, DefaultMaxBytes.
	Queue, MaxBytes int
	// Logger gets what an operator should know: files that could not be written. nil: warnings and
	// errors go to slog.Default(). slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// Stats are what a Recorder has done.
type Stats struct {
	Written  uint64 // calls in the files
	Dropped  uint64 // calls for which there was no room
	LeftOut  uint64 // calls with messages that are too long or cannot be encoded, and those that Change left out
	Failures uint64 // calls that could not be written
}

// Recorder records calls. Its methods may be called from any goroutine.
type Recorder struct {
	cfg   Config
	files *files

	mu     sync.Mutex // guards closed, and the queue against being closed while calls are put into it
	closed bool
	queue  chan *entry
	bytes  atomic.Int64
	done   chan struct{}

	written, dropped, leftOut, failures atomic.Uint64

	logged logger.Sparse // errors
}

// entry is a call that waits to be written.
type entry struct {
	call *Call
	size int64
}

// New makes a Recorder. It must be closed.
func New(cfg *Config) (*Recorder, error) {
	r := &Recorder{}
	if cfg != nil {
		r.cfg = *cfg
	}
	c := &r.cfg
	wrong := func(format string, args ...any) (*Recorder, error) {
		return nil, weft.Errorf(weft.InvalidArgument, "record: Config."+format, args...)
	}
	if c.Percent == 0 {
		c.Percent = 100
	}
	switch {
	case c.Dir == "":
		return wrong("Dir is empty: it must name the folder of the files")
	case !(c.Percent > 0 && c.Percent <= 100):
		return wrong("Percent is %v, want 0 (100) to 100", c.Percent)
	case slices.ContainsFunc(c.Metadata, match.Credential):
		return wrong("Metadata is %q, and one of the keys carries credentials", c.Metadata)
	}
	if err := match.Methods(c.Methods).Check(); err != nil {
		return wrong("Methods: %w", err)
	}
	if err := diff.Paths(c.Redact).Check(); err != nil {
		return wrong("Redact: %w", err)
	}
	for _, n := range []struct {
		name   string
		to     *int
		normal int
	}{
		{"MaxMessage", &c.MaxMessage, DefaultMaxMessage}, {"MaxFile", &c.MaxFile, DefaultMaxFile}, {"MaxFiles", &c.MaxFiles, DefaultMaxFiles},
		{"Queue", &c.Queue, DefaultQueue}, {"MaxBytes", &c.MaxBytes, DefaultMaxBytes},
	} {
		if *n.to < 0 || n.name == "MaxMessage" && *n.to > maxFrame/4 {
			return wrong("%s is %d, want 0 (%d) or more, and of MaxMessage at most %d", n.name, *n.to, n.normal, maxFrame/4)
		}
		if *n.to == 0 {
			*n.to = n.normal
		}
	}
	c.Methods, c.Metadata, c.Redact = slices.Clone(c.Methods), slices.Clone(c.Metadata), slices.Clone(c.Redact)
	c.Logger = logger.OrDefault(c.Logger)
	var err error
	if r.files, err = newFiles(c.Dir, int64(c.MaxFile), c.MaxFiles); err != nil {
		return nil, weft.Errorf(weft.Unavailable, "record: %w", err)
	}
	r.queue, r.done = make(chan *entry, c.Queue), make(chan struct{})
	// It ends when the queue is closed, by Close.
	go r.write()
	return r, nil
}

// Plugin is for servers and clients; on a cluster.Client for Config.Plugins.
func (r *Recorder) Plugin() weft.Plugin {
	return weft.Plugin{Name: "record", Server: r.answered, Client: r.made}
}

// Close writes the calls that wait, and closes the file. Calls that end later are not recorded. The error says that
// calls were lost, or that a file could not be closed, so that calls of it may be lost.
func (r *Recorder) Close() error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.queue)
	}
	r.mu.Unlock()
	<-r.done
	n, unclosed := r.failures.Load(), r.files.unclosed
	switch {
	case n > 0 && unclosed != nil:
		return weft.Errorf(weft.Unavailable, "record: %d calls could not be written to %s; the log says why; and a file there could not be closed: %w", n, r.cfg.Dir, unclosed)
	case n > 0:
		return weft.Errorf(weft.Unavailable, "record: %d calls could not be written to %s; the log says why", n, r.cfg.Dir)
	case unclosed != nil:
		return weft.Errorf(weft.Unavailable, "record: a file of %s could not be closed, and calls of it may be lost: %w", r.cfg.Dir, unclosed)
	}
	return nil
}

// Stats are the figures so far.
func (r *Recorder) Stats() Stats {
	return Stats{Written: r.written.Load(), Dropped: r.dropped.Load(), LeftOut: r.leftOut.Load(), Failures: r.failures.Load()}
}

func (r *Recorder) answered(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	if !r.chosen(info.Method) {
		return next(ctx, info, req)
	}
	c := &Call{Side: Answered, Metadata: r.pairs(weft.MetadataFrom(ctx))}
	c.Principal, _ = match.Principal(weft.PrincipalFrom(ctx))
	return r.around(ctx, info, req, next, c)
}

func (r *Recorder) made(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	if !r.chosen(info.Method) {
		return next(ctx, info, req)
	}
	return r.around(ctx, info, req, next, &Call{Side: Made, Metadata: r.pairs(weft.OutgoingMetadata(ctx))})
}

func (r *Recorder) chosen(method string) bool {
	c := &r.cfg
	return (c.Percent == 100 || rand.Float64()*100 < c.Percent) && match.Methods(c.Methods).Has(method)
}

func (r *Recorder) pairs(m weft.Metadata) (pairs [][2]string) {
	for _, key := range r.cfg.Metadata {
		for _, v := range m.Values(key) {
			pairs = append(pairs, [2]string{key, v})
		}
	}
	return pairs
}

// around makes a call and hands it to the writer.
func (r *Recorder) around(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc, c *Call) (any, error) {
	c.Time, c.Method, c.Oneway, c.Attempt = time.Now(), strings.Clone(info.Method), info.Oneway, info.Attempt
	if info.Peer != nil {
		c.Wire = info.Peer.Wire()
	}
	other := "json"
	if info.Codec == "raw" {
		other = "raw"
	}
	failed := r.message(&c.Request, req, other) // the handler may change it
	reply, err := next(ctx, info, req)
	c.Took = time.Since(c.Time)
	switch {
	case err != nil:
		c.Code, c.Message = weft.CodeOf(err), err.Error()
		if e, ok := errors.AsType[*weft.Error](err); ok {
			c.Reason, c.Message = e.Reason, e.Message
		}
	case !info.Oneway && failed == nil && encoded.Maker(reply) != nil:
		failed = r.message(&c.Reply, reply, other)
	}
	if failed != nil {
		r.leftOut.Add(1)
		return reply, err
	}
	r.hand(c)
	return reply, err
}

// message encodes a message without the values of the fields that are redacted.
func (r *Recorder) message(to *Message, v any, other string) error {
	m, err := r.encode(v, other)
	if err != nil {
		return err
	}
	*to = Message{Codec: m.Codec, Body: m.Body}
	if len(r.cfg.Redact) > 0 {
		if err := redact(to, v, r.cfg.Redact); err != nil {
			return err
		}
	}
	if len(to.Body) > r.cfg.MaxMessage {
		return errTooLong
	}
	return nil
}

// encode encodes a message. Values of fields can be removed from JSON, and from a message whose generated code knows them all:
// a struct with numbers, or one that embeds a generated message, is JSON when some are to be.
func (r *Recorder) encode(v any, other string) (encoded.Message, error) {
	if _, generated := stock.Message(v); generated || other == "raw" || len(r.cfg.Redact) == 0 {
		return encoded.Encode(v, other)
	}
	b, err := encoded.JSON(v)
	return encoded.Message{Codec: other, Body: b}, err
}

var errTooLong = errors.New("the message is longer than Config.MaxMessage")

// hand puts a call into the queue, if there is room.
func (r *Recorder) hand(c *Call) {
	e := &entry{c, int64(len(c.Request.Body) + len(c.Reply.Body))}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.bytes.Add(e.size) <= int64(r.cfg.MaxBytes) {
		select {
		case r.queue <- e:
			return
		default:
		}
	}
	r.bytes.Add(-e.size)
	r.dropped.Add(1)
}

// write writes the calls of the queue until it is closed.
func (r *Recorder) write() {
	defer close(r.done)
	for e := range r.queue {
		r.store(e.call)
		r.bytes.Add(-e.size)
	}
	r.tell(r.files.close())
}

// store writes a call, and all that waits to be written when no other call is in the queue.
func (r *Recorder) store(c *Call) {
	if r.cfg.Change != nil && !r.changed(c) {
		r.leftOut.Add(1)
	} else {
		r.tell(r.files.append(c))
	}
	if len(r.queue) == 0 {
		r.tell(r.files.flush())
	}
}

// changed runs Config.Change. A call with which it panics is left out: it may be private.
func (r *Recorder) changed(c *Call) (keep bool) {
	defer func() {
		if p := recover(); p != nil {
			keep = false
			r.sparsely("record: Config.Change panicked; the call is left out", "method", c.Method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	return r.cfg.Change(c)
}

// tell notes what the files have taken since it was called before, and logs an error.
func (r *Recorder) tell(err error) {
	written, lost := r.files.tally()
	r.written.Add(uint64(written))
	r.failures.Add(uint64(lost))
	if err != nil {
		r.sparsely("record: calls could not be written, or a file not be closed", "dir", r.cfg.Dir, "error", err)
	}
}

// sparsely logs an error, not too often.
func (r *Recorder) sparsely(message string, args ...any) {
	if r.logged.Allow(func(left int) { r.cfg.Logger.Error(message, "times", left) }) {
		r.cfg.Logger.Error(message, args...)
	}
}
