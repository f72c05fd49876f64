package record

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/diff"
	"github.com/weftrpc/weft/plugin/internal/encoded"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// Mark is the key of the metadata of calls that are made again, whose value is "1".
const Mark = "replay"

// The defaults of a ReplayConfig.
const (
	DefaultConcurrency = 16
	DefaultTimeout     = 10 * time.Second
)

// ReplayConfig configures a replay.
type ReplayConfig struct {
	// Target is what the calls are made with: a Client or a cluster.Client. Its servers must have the
	// codec json, as they have unless their configuration says otherwise.
	Target weft.Caller
	// Speed is how fast time passes: 1 keeps the times between the calls, 2 halves them. 0: each
	// call is made as soon as there is room for it, which is a closed loop of Concurrency callers.
	Speed float64
	// Concurrency is how many calls are made at once; the next one waits. 0: DefaultConcurrency.
	Concurrency int
	// Methods are those whose calls are made again: "Arith.Mul", "Arith.*", "*". nil: all. Calls that
	// change something change it again.
	Methods []string
	// Choose reports whether a call is made, of those that Methods names. It is called in the order of the
	// calls, by one goroutine. nil: all are.
	Choose func(*Call) bool
	// Timeout is that of a call. 0: DefaultTimeout.
	Timeout time.Duration
	// Credential is that of the calls. nil: that of Target's configuration.
	Credential *weft.Credential
	// Ignore are the parts of replies that are not compared, by their names in JSON; see package tee.
	// Of protobuf messages and bytes it compares all or nothing.
	Ignore []string
	// Each is called with every call that counts, by the goroutine that made it. nil: it is not.
	Each func(Result)
}

// Result is what came of a call that was made again.
type Result struct {
	Call        *Call
	Took        time.Duration
	Err         error        // nil: it went well
	Equal       bool         // the reply is equal, or the error has the same code
	Differences []Difference // of two replies in JSON
}

// Difference is one place where two replies differ.
type Difference struct {
	Path          string // by the names of JSON; "" for the whole
	Recorded, Now string // the values as JSON, cut at 256 bytes
}

// ReplayStats are the figures of a replay.
type ReplayStats struct {
	Calls     int           // that were made; those that the end of ctx has cut off do not count
	Equal     int           // with an equal reply, or an error of the same code
	Different int           // with another reply or code
	Skipped   int           // one-way calls, those without a request, and those that Methods or Choose leaves out
	Late      time.Duration // by how much the latest call was behind its time, for want of room
	Took      time.Duration // of all calls, together
	Recorded  time.Duration // of the same calls, when they were recorded
	Damage    []*Damage     // files that could not be read to their ends
}

// Replay makes the calls of a file, or of the files of a folder, again, and compares the answers with
// those that were recorded. It returns when all have ended. The error is that of the configuration,
// of the path, or of ctx; damaged files are in the figures.
func Replay(ctx context.Context, path string, cfg *ReplayConfig) (ReplayStats, error) {
	p := &player{}
	if cfg != nil {
		p.cfg = *cfg
	}
	if err := p.check(); err != nil {
		return ReplayStats{}, err
	}
	recording, err := Open(path)
	if err != nil {
		return ReplayStats{}, err
	}
	err = p.play(ctx, recording)
	return p.stats, err
}

// player makes calls again.
type player struct {
	cfg ReplayConfig

	mu    sync.Mutex
	stats ReplayStats
}

func (p *player) check() error {
	c := &p.cfg
	wrong := func(format string, args ...any) error {
		return weft.Errorf(weft.InvalidArgument, "record: ReplayConfig."+format, args...)
	}
	switch {
	case c.Target == nil:
		return wrong("Target is nil: it must be a client of the servers that get the calls")
	case !(c.Speed >= 0 && c.Speed <= 1e6) || c.Concurrency < 0 || c.Timeout < 0:
		return wrong("Speed is %v, Concurrency %d, Timeout %v, want 0 or more", c.Speed, c.Concurrency, c.Timeout)
	}
	if err := match.Methods(c.Methods).Check(); err != nil {
		return wrong("Methods: %w", err)
	}
	if err := diff.Paths(c.Ignore).Check(); err != nil {
		return wrong("Ignore: %w", err)
	}
	if c.Concurrency == 0 {
		c.Concurrency = DefaultConcurrency
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	return nil
}

func (p *player) play(ctx context.Context, recording *Recording) error {
	var all sync.WaitGroup
	defer all.Wait()
	room := make(chan struct{}, p.cfg.Concurrency)
	var first, began time.Time
	for c, err := range recording.Calls() {
		if d, ok := errors.AsType[*Damage](err); ok {
			p.stats.Damage = append(p.stats.Damage, d)
			continue
		}
		if c.Oneway || c.Request.Codec == "" || !match.Methods(p.cfg.Methods).Has(c.Method) || p.cfg.Choose != nil && !p.cfg.Choose(c) {
			p.stats.Skipped++
			continue
		}
		if first.IsZero() {
			first, began = c.Time, time.Now()
		}
		if err := p.wait(ctx, began, c.Time.Sub(first)); err != nil {
			return err
		}
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		all.Go(func() {
			p.make(ctx, c)
			<-room
		})
	}
	return nil
}

// wait waits until a call is due.
func (p *player) wait(ctx context.Context, began time.Time, after time.Duration) error {
	if p.cfg.Speed == 0 {
		return ctx.Err()
	}
	left := time.Until(began.Add(time.Duration(float64(after) / p.cfg.Speed)))
	if left <= 0 {
		p.mu.Lock()
		p.stats.Late = max(p.stats.Late, -left)
		p.mu.Unlock()
		return ctx.Err()
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// make makes a call and compares what it answers.
func (p *player) make(whole context.Context, c *Call) {
	ctx, cancel := context.WithTimeout(whole, p.cfg.Timeout)
	defer cancel()
	pairs := []string{Mark, "1"}
	for _, pair := range c.Metadata {
		pairs = append(pairs, pair[:]...)
	}
	options := []weft.CallOption{weft.WithCodec(encoded.Codec(c.Request.Codec))}
	if p.cfg.Credential != nil {
		options = append(options, weft.WithCredential(*p.cfg.Credential))
	}
	var reply []byte
	began := time.Now()
	err := p.cfg.Target.Call(weft.WithMetadata(ctx, pairs...), c.Method, &c.Request.Body, &reply, options...)
	if err != nil && whole.Err() != nil {
		return // it says nothing about the target
	}
	r := Result{Call: c, Took: time.Since(began), Err: err}
	r.Equal = weft.CodeOf(err) == c.Code
	if r.Equal && err == nil && c.Reply.Codec != "" && !bytes.Equal(reply, c.Reply.Body) {
		r.Differences = p.compare(c, reply)
		r.Equal = len(r.Differences) == 0
	}
	p.mu.Lock()
	p.stats.Calls++
	if r.Equal {
		p.stats.Equal++
	} else {
		p.stats.Different++
	}
	p.stats.Took += r.Took
	p.stats.Recorded += c.Took
	p.mu.Unlock()
	if p.cfg.Each != nil {
		p.cfg.Each(r)
	}
}

// compare compares two replies.
func (p *player) compare(c *Call, reply []byte) []Difference {
	if c.Reply.Codec != "json" {
		return []Difference{{}}
	}
	found, err := diff.JSON(c.Reply.Body, reply, p.cfg.Ignore)
	if err != nil {
		return []Difference{{Now: err.Error()}}
	}
	out := make([]Difference, 0, len(found))
	for _, d := range found {
		out = append(out, Difference{d.Path, d.A, d.B})
	}
	return slices.Clip(out)
}
