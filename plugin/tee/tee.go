// Package tee copies a share of calls to another target, such as the next version of a service, and
// compares what both answer. It works on servers and on clients.
//
//	t, err := tee.New(&tee.Config{Target: next, Percent: 5, Methods: []string{"Orders.Get"}, Ignore: []string{"served_by"}})
//	defer t.Close()
//	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{t.Plugin()}})
//
// The original call neither waits for its copy nor fails with it: a copy is made when the call has
// ended, by a goroutine of the Tee, and is dropped when too many wait. What a chosen call pays is the
// encoding of its request and its reply. Streams are not copied, and neither are calls that were
// canceled or whose time was up.
package tee

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/diff"
	"github.com/weftrpc/weft/plugin/internal/encoded"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// Mark is the key of the metadata of copies, whose value is "1". A call that has it is not copied
// again.
const Mark = "shadow"

// The defaults of a Config.
const (
	DefaultTimeout  = 5 * time.Second
	DefaultQueue    = 1024
	DefaultMaxBytes = 16 << 20
	DefaultWorkers  = 8
)

// Config configures a Tee.
type Config struct {
	// Target gets the copies: a Client or a cluster.Client, which the program closes after the Tee.
	Target weft.Caller
	// Percent is of how many calls a copy is made, above 0 to 100. SetPercent changes it.
	Percent float64
	// Methods are those whose calls are copied, whether they may be made twice or not: "Arith.Mul",
	// "Arith.*", "*". nil: those that are registered as idempotent on the server that Tee.Server
	// names; on a client none.
	Methods []string
	// Oneway copies one-way calls too. There is nothing to compare.
	Oneway bool
	// Metadata are the keys of the original's metadata that its copy gets. nil: none.
	Metadata []string
	// Credential is that of the copies. nil: that of Target's configuration.
	Credential *weft.Credential
	// Timeout is that of a copy. 0: DefaultTimeout.
	Timeout time.Duration
	// Queue is how many copies may wait, and MaxBytes how many bytes of requests and replies they may
	// hold; further ones are dropped. 0: DefaultQueue, DefaultMaxBytes.
	Queue, MaxBytes int
	// Workers is how many copies are made at once. 0: DefaultWorkers.
	Workers int
	// Ignore are the parts of replies that are not compared, by their names in JSON: "id" with all
	// below it, "lines.*.price" of every element of a list.
	Ignore []string
	// Values keeps the values that differ with Mismatches, and not only where they are. They may be
	// private.
	Values bool
}

// Tee copies calls. Its methods may be called from any goroutine.
type Tee struct {
	cfg      Config
	notifier notifier      // nil when the target has no one-way calls
	percent  atomic.Uint64 // the bits of a float64
	server   atomic.Pointer[weft.Server]
	known    sync.Map // of the server's methods: whether they are idempotent

	queue chan *copied
	bytes atomic.Int64
	life  context.Context
	end   context.CancelFunc
	all   sync.WaitGroup

	figures figures
}

// notifier is what one-way calls can be made with.
type notifier interface {
	Notify(ctx context.Context, method string, args any, opts ...weft.CallOption) error
}

// New makes a Tee. It must be closed.
func New(cfg *Config) (*Tee, error) {
	t := &Tee{}
	if cfg != nil {
		t.cfg = *cfg
	}
	c := &t.cfg
	wrong := func(format string, args ...any) (*Tee, error) {
		return nil, weft.Errorf(weft.InvalidArgument, "tee: Config."+format, args...)
	}
	switch {
	case c.Target == nil:
		return wrong("Target is nil: it must be a client of the servers that get the copies")
	case !(c.Percent > 0 && c.Percent <= 100):
		return wrong("Percent is %v, want more than 0, to 100", c.Percent)
	case c.Timeout < 0 || c.Queue < 0 || c.MaxBytes < 0 || c.Workers < 0:
		return wrong("Timeout is %v, Queue %d, MaxBytes %d, Workers %d, want 0 or more", c.Timeout, c.Queue, c.MaxBytes, c.Workers)
	}
	if err := match.Methods(c.Methods).Check(); err != nil {
		return wrong("Methods: %w", err)
	}
	if err := diff.Paths(c.Ignore).Check(); err != nil {
		return wrong("Ignore: %w", err)
	}
	if t.notifier, _ = c.Target.(notifier); c.Oneway && t.notifier == nil {
		return wrong("Oneway is set, and a Target of type %T has no method Notify", c.Target)
	}
	if slices.ContainsFunc(c.Metadata, match.Credential) {
		return wrong("Metadata is %q, and one of the keys carries the caller's credential, which is not for other servers: set Credential", c.Metadata)
	}
	c.Methods, c.Ignore, c.Metadata = slices.Clone(c.Methods), slices.Clone(c.Ignore), slices.Clone(c.Metadata)
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Queue == 0 {
		c.Queue = DefaultQueue
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	if c.Workers == 0 {
		c.Workers = DefaultWorkers
	}
	t.percent.Store(math.Float64bits(c.Percent))
	t.figures.init()
	t.queue = make(chan *copied, c.Queue)
	t.life, t.end = context.WithCancel(context.Background())
	for range c.Workers {
		t.all.Go(t.work)
	}
	return t, nil
}

// SetPercent changes of how many calls a copy is made; 0: of none. It does nothing on a Tee that is closed.
func (t *Tee) SetPercent(percent float64) error {
	if !(percent >= 0 && percent <= 100) {
		return weft.Errorf(weft.InvalidArgument, "tee: %v percent, want 0 to 100", percent)
	}
	t.percent.Store(math.Float64bits(percent))
	return nil
}

// Server tells the Tee which methods are idempotent: those that are registered so on srv. It is for a
// Config without Methods.
func (t *Tee) Server(srv *weft.Server) { t.server.Store(srv) }

// Plugin is for servers and clients; on a cluster.Client for Config.Plugins.
func (t *Tee) Plugin() weft.Plugin {
	return weft.Plugin{Name: "tee", Server: t.answered, Client: t.made}
}

// Close drops the copies that wait, cancels those that are under way, and returns when they have
// ended. No copies are made then.
func (t *Tee) Close() {
	t.percent.Store(0)
	t.end()
	t.all.Wait()
}

func (t *Tee) answered(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	if !t.chosen(info) {
		return next(ctx, info, req)
	}
	return t.around(ctx, info, req, next, weft.MetadataFrom(ctx))
}

func (t *Tee) made(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	if !t.chosen(info) {
		return next(ctx, info, req)
	}
	return t.around(ctx, info, req, next, weft.OutgoingMetadata(ctx))
}

// chosen reports whether a call is to be copied.
func (t *Tee) chosen(info *weft.CallInfo) bool {
	percent := math.Float64frombits(t.percent.Load())
	if percent == 0 || t.life.Err() != nil || percent < 100 && rand.Float64()*100 >= percent || info.Oneway && !t.cfg.Oneway {
		return false
	}
	if t.cfg.Methods != nil {
		return match.Methods(t.cfg.Methods).Has(info.Method)
	}
	return t.idempotent(info.Method)
}

// idempotent reports whether a method is registered so on the server. The methods are few.
func (t *Tee) idempotent(method string) bool {
	if found, ok := t.known.Load(method); ok {
		return found.(bool)
	}
	srv := t.server.Load()
	if srv == nil {
		return false
	}
	for _, service := range srv.Describe() {
		for _, m := range service.Methods {
			t.known.Store(m.Name, m.Idempotent)
			for _, alias := range m.Aliases {
				t.known.Store(alias, m.Idempotent)
			}
		}
	}
	found, _ := t.known.Load(method)
	is, _ := found.(bool)
	return is
}

// around makes a call and hands its copy over.
func (t *Tee) around(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc, m weft.Metadata) (any, error) {
	if m.Get(Mark) != "" {
		return next(ctx, info, req)
	}
	c := &copied{method: strings.Clone(info.Method), oneway: info.Oneway}
	other := "msgpack"
	if info.Codec == "raw" {
		other = "raw"
	}
	var failed error
	c.request, failed = encoded.Encode(req, other) // the handler may change it
	for _, key := range t.cfg.Metadata {
		for _, v := range m.Values(key) {
			c.pairs = append(c.pairs, key, v)
		}
	}
	began := time.Now()
	reply, err := next(ctx, info, req)
	c.took = time.Since(began)
	if err != nil {
		if c.code = weft.CodeOf(err); c.code == weft.Canceled || c.code == weft.DeadlineExceeded {
			return reply, err
		}
	} else if c.maker = encoded.Maker(reply); c.maker != nil && !info.Oneway && failed == nil {
		c.reply, failed = encoded.Encode(reply, other)
	}
	if failed != nil {
		t.figures.unreadable()
		return reply, err
	}
	t.hand(c)
	return reply, err
}

// hand puts a copy into the queue, if there is room.
func (t *Tee) hand(c *copied) {
	size := int64(len(c.request.Body) + len(c.reply.Body))
	if t.bytes.Add(size) > int64(t.cfg.MaxBytes) {
		t.bytes.Add(-size)
		t.figures.dropped()
		return
	}
	select {
	case t.queue <- c:
	default:
		t.bytes.Add(-size)
		t.figures.dropped()
	}
}
