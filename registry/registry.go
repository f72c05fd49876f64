package registry

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/logger"
)

// The defaults of a Config.
const (
	DefaultTTL     = 10 * time.Second
	DefaultProtect = 30 * time.Second
)

// Config says how a Registry treats the server of its registry. The zero value, and
// a nil pointer to one, give the defaults.
type Config struct {
	// TTL is how long the registry keeps an instance whose server is
	// silent; it is refreshed three times as often. 0: DefaultTTL; at least a second.
	TTL time.Duration
	// Protect is how long a client does not accept a list that is empty, that has
	// lost more than half of its instances, or that is older than the one before, nor
	// that a document is gone. 0: DefaultProtect; below zero: everything is accepted
	// at once.
	Protect time.Duration
	// CacheDir is the folder in which the last good lists are kept. "": a folder
	// "weft" in that for the user's caches; where there is none, nothing is kept.
	CacheDir string
	// NoCache keeps nothing on disk.
	NoCache bool
	// Logger gets what an operator should know: when the registry does not answer and
	// when it is back, lists that are not accepted, entries and documents that are not used. nil:
	// slog.Default() gets the warnings and errors; slog.New(slog.DiscardHandler) is
	// silence. The logger of the server or client that uses the registry is its own.
	Logger *slog.Logger
}

// Registry is one registry, as servers and clients use it. It goes on trying for as
// long as the registry's server is away. All methods may be called at the same time.
type Registry struct {
	name   string
	driver Driver
	cfg    Config

	registering, watching pace
	lost, back            logger.Sparse // what is logged of watches that end and go on
	invalid               logger.Sparse // what is logged of entries that cannot be used

	uncached struct { // what is logged of the cache that cannot be written
		sync.Mutex
		logger.Repeated
	}

	life context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu            sync.Mutex
	closed        bool
	topics        map[string]*topic
	documents     int // watches of documents
	registrations map[*registration]struct{}
}

var (
	_ weft.Registry = (*Registry)(nil)
	_ Source        = (*Registry)(nil)
)

// Source is where a client learns the instances of services, and their rules: a
// *Registry, or several that are joined.
type Source interface {
	// Watch calls f with what is known of a service, as soon as anything is and
	// whenever it changes, until stop is called; see Registry.Watch.
	Watch(service string, f func(*Snapshot)) (stop func())
	// WatchDocument calls f with a document; see Registry.WatchDocument.
	WatchDocument(name string, f func(Document, error) error) (stop func())
}

// New makes a Registry of a driver, which it owns from then on. name says for
// people which registry it is, such as "etcd 127.0.0.1:2379", and names its cache. It
// does not ask the registry anything: it may be started later.
func New(name string, driver Driver, cfg *Config) (*Registry, error) {
	r := &Registry{
		name: name, driver: driver,
		lost: logger.Sparse{Most: mostLines}, back: logger.Sparse{Most: mostLines}, invalid: logger.Sparse{Most: mostLines},
		topics: make(map[string]*topic), registrations: make(map[*registration]struct{}),
	}
	if cfg != nil {
		r.cfg = *cfg
	}
	c := &r.cfg
	if c.TTL == 0 {
		c.TTL = DefaultTTL
	}
	if c.TTL < time.Second {
		return nil, weft.Errorf(weft.InvalidArgument, "registry: TTL is %v, want 0 (%v) or at least a second", c.TTL, DefaultTTL)
	}
	if c.Protect == 0 {
		c.Protect = DefaultProtect
	}
	c.Logger = logger.OrDefault(c.Logger).With("registry", name)
	r.life, r.stop = context.WithCancel(context.Background())
	return r, nil
}

// Name is the name that New was given.
func (r *Registry) Name() string { return r.name }

// closeTimeout is how long Close goes on withdrawing what is still registered.
const closeTimeout = 2 * time.Second

// Close withdraws what is registered, ends all watches and gives the driver back. It
// waits for functions of watches that run.
func (r *Registry) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	left := make([]*registration, 0, len(r.registrations))
	for g := range r.registrations {
		left = append(left, g)
	}
	r.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	errs := make([]error, len(left))
	var wg sync.WaitGroup
	for i, g := range left {
		wg.Go(func() { errs[i] = g.Close(ctx) })
	}
	wg.Wait()
	r.stop()
	r.wg.Wait()
	return errors.Join(append(errs, r.driver.Close())...)
}

// mostLines is how many watches are told of in full in a second: a client of many services loses all of them together.
const mostLines = 5

// tellLost logs that a watch has ended.
func (r *Registry) tellLost(what string, attrs ...any) {
	if r.lost.Allow(func(left int) { r.cfg.Logger.Warn("the registry does not answer: more watches", "times", left) }) {
		r.cfg.Logger.Warn(what, attrs...)
	}
}

// tellBack logs that a watch goes on.
func (r *Registry) tellBack(what string, attrs ...any) {
	if r.cfg.Logger.Enabled(context.Background(), slog.LevelInfo) && r.back.Allow(func(left int) { r.cfg.Logger.Info("the registry is back: more watches", "times", left) }) {
		r.cfg.Logger.Info(what, attrs...)
	}
}

// tellInvalid logs that entries of a service cannot be used, or can be again.
func (r *Registry) tellInvalid(level slog.Level, what string, attrs ...any) {
	ctx := context.Background()
	if r.cfg.Logger.Enabled(ctx, level) && r.invalid.Allow(func(left int) { r.cfg.Logger.Log(ctx, level, "more news of entries of the registry", "times", left) }) {
		r.cfg.Logger.Log(ctx, level, what, attrs...)
	}
}

// tellUncached logs that a list or a document cannot be written to the disk, once a minute for a cause: a full disk takes no other one
// either, and each is tried again with its next change.
func (r *Registry) tellUncached(err error, what string, attrs ...any) {
	cause := err
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		cause = number // without the path, which is a new one each time
	}
	r.uncached.Lock()
	tell := r.uncached.Allow(cause)
	r.uncached.Unlock()
	if tell {
		r.cfg.Logger.Warn(what, append(attrs, "error", err)...)
	}
}

// operationTimeout bounds one operation of the driver.
func (r *Registry) operationTimeout() time.Duration { return min(r.cfg.TTL/2, 3*time.Second) }
