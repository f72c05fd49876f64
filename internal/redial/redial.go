// Package redial keeps one connection of a client: made when it is first needed, and anew whenever it is
// lost, at a pace that spares a server which is not there.
package redial

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/flights"
)

// Dialer makes and uses the connections of a Link.
type Dialer[C any] interface {
	// Connect makes one attempt to connect. It ends with ctx.
	Connect(ctx context.Context) (*C, error)
	// Usable reports whether a call could be opened on a connection, as far as is known.
	Usable(c *C) bool
	// Run uses a connection from its handshake to its end. gone is called when it takes no more calls, and
	// ended when it has ended.
	Run(c *C, gone, ended func())
	// Ended is called when a connection has ended, and tells why.
	Ended(c *C) End
	// Close ends a connection at once.
	Close(c *C)
}

// End is why a connection has ended.
type End struct {
	Err      error
	Rejected bool // the server did not take the connection at all
	Final    bool // it would not take another one either
}

// Config is what the links of a client have in common.
type Config struct {
	Life    context.Context // of the client
	Closed  *atomic.Bool    // the client is closed, or is being closed
	Work    *flights.Flights
	Backoff time.Duration // before the second attempt; grows with the others
	Most    time.Duration // the longest pause
	// Lasting reports whether an attempt that failed with err is likely to fail again until the client or
	// the server is configured in another way: callers are told at once.
	Lasting func(err error) bool
	// Exited is the error of an attempt whose goroutine was ended by a hook.
	Exited error
	Log    func(level slog.Level, err error, attempt int) // an attempt has failed

	Connects, Failures *atomic.Uint64 // connections that were made, and attempts that failed
}

// ErrClosed is the error of Wait when the client is closed.
var ErrClosed = errors.New("the client is closed")

// LateError is the error of a wait that has taken as long as it may.
type LateError struct {
	Last error // of the last attempt; nil: none has failed
}

// Error implements error.
func (e *LateError) Error() string {
	if e.Last == nil {
		return "no connection in time"
	}
	return "no connection in time: " + e.Last.Error()
}

// Link is one connection of a client, made anew whenever it is lost. It begins to connect
// when it is first needed. The goroutine that connects uses the connection from then on, until it is lost;
// the goroutine that finds that the connection is of no more use has another one connect, so that there is
// never more than one attempt under way. All methods may be called concurrently.
type Link[C any] struct {
	cfg     *Config
	dialer  Dialer[C]
	current atomic.Pointer[C]

	mu      sync.Mutex
	live    []*C  // the current one, and those whose calls still end
	room    [1]*C // what holds them as long as there is one
	last    *C    // the one that was made last, alive or not
	running bool
	retired bool
	changed chan struct{} // closed, and made anew, whenever the state changes; nil: nothing waits
	failed  error         // why the last attempt failed; nil when there was none since the last connection
	verdict error         // why the server did not take the first connection, until a call was told
	tries   int           // attempts since the last connection
	began   time.Time     // the last connection; it belongs to the goroutine that connects
	drained bool          // the last server has drained; likewise
	wanted  chan struct{} // a caller waits; nil: none has
}

// Init makes a Link ready that is zero. It has no connection yet.
func (l *Link[C]) Init(cfg *Config, d Dialer[C]) { l.cfg, l.dialer = cfg, d }

// Current is the connection that was made last, while it is not known to take no more calls; nil: there
// is none.
func (l *Link[C]) Current() *C { return l.current.Load() }

// Open is how many connections there are, those whose calls still end among them.
func (l *Link[C]) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.live)
}

// Wake has the link connect, if it does not already.
func (l *Link[C]) Wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.startLocked()
}

func (l *Link[C]) startLocked() {
	if l.running || l.retired || l.cfg.Closed.Load() || !l.cfg.Work.Enter() {
		return
	}
	l.running = true
	// It ends with the connection that it makes, or when the client is closed.
	go l.run()
}

// Adopt makes a connection that was made elsewhere the first one. The functions are those of Dialer.Run.
func (l *Link[C]) Adopt(c *C) (gone, ended func()) {
	l.cfg.Connects.Add(1)
	l.began = time.Now()
	l.cfg.Work.Enter() // the client is not closed yet
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = true
	l.useLocked(c)
	return l.ends(c)
}

// useLocked makes a connection the current one.
func (l *Link[C]) useLocked(c *C) {
	if l.live == nil {
		l.live = l.room[:0]
	}
	if l.live = append(l.live, c); len(l.live) > len(l.room) {
		l.room[0] = nil // they have moved: a connection that ends is not to be kept here
	}
	l.last = c
	l.current.Store(c)
}

// ends returns the functions of Dialer.Run.
func (l *Link[C]) ends(c *C) (gone, ended func()) {
	return func() { l.leave(c, true) }, func() {
		defer l.cfg.Work.Leave() // also when a hook ends the goroutine
		defer l.leave(c, false)
		l.ended(c)
	}
}

// usable is the current connection if it can be used.
func (l *Link[C]) usable() *C {
	if c := l.current.Load(); c != nil && l.dialer.Usable(c) {
		return c
	}
	return nil
}

// changedLocked returns a channel that is closed when the state has changed.
func (l *Link[C]) changedLocked() <-chan struct{} {
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// wantedLocked returns the channel that tells that a caller waits.
func (l *Link[C]) wantedLocked() chan struct{} {
	if l.wanted == nil {
		l.wanted = make(chan struct{}, 1)
	}
	return l.wanted
}

// Wait waits for a connection until ctx ends, an attempt has failed for a lasting reason or,
// if fast, for any. One that was made meanwhile and is lost already will do: its caller is
// told why.
func (l *Link[C]) Wait(ctx context.Context, fast bool) (*C, error) {
	l.mu.Lock()
	before := l.last
	l.mu.Unlock()
	for {
		l.mu.Lock()
		l.startLocked()
		changed, wanted := l.changedLocked(), l.wantedLocked()
		failed, retired, last, verdict := l.failed, l.retired, l.last, l.verdict
		l.verdict = nil
		l.mu.Unlock()
		if verdict != nil {
			return nil, verdict
		}
		if c := l.usable(); c != nil {
			return c, nil
		}
		if last != before {
			return last, nil
		}
		if retired || l.cfg.Closed.Load() {
			return nil, ErrClosed
		}
		if failed != nil && (fast || l.cfg.Lasting(failed)) {
			return nil, failed
		}
		select {
		case wanted <- struct{}{}:
		default:
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &LateError{failed}
		case <-l.cfg.Life.Done():
			return nil, ErrClosed
		}
	}
}

// change publishes a new state.
func (l *Link[C]) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// run connects, and uses the connection until it has ended.
func (l *Link[C]) run() {
	var c *C
	tried := false
	defer func() {
		switch {
		case c != nil:
		case tried || l.over():
			l.change(func() { l.running = false })
			l.cfg.Work.Leave()
		default:
			// A hook has ended this goroutine.
			l.attemptFailed(l.cfg.Exited)
			// It ends as this one does; the pause before it keeps the attempts few.
			go func() {
				l.pause()
				l.run()
			}()
		}
	}()
	c = l.connect()
	if tried = true; c == nil {
		return
	}
	gone, ended := l.ends(c)
	l.dialer.Run(c, gone, ended)
}

// attemptFailed notes an attempt to connect that has failed.
func (l *Link[C]) attemptFailed(err error) {
	l.cfg.Failures.Add(1)
	l.change(func() {
		l.failed = err
		l.tries++
		// Callers that still wait are woken now and ask again.
		select {
		case <-l.wanted:
		default:
		}
	})
}

// leave has the link connect again if c, which is lost or whose server shuts down, is
// its connection still. The calls that are open on c still end.
func (l *Link[C]) leave(c *C, drained bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.retired || !l.current.CompareAndSwap(c, nil) || !l.cfg.Work.Enter() {
		return
	}
	l.drained = drained
	// It ends with the connection that it makes, or when the client is closed.
	go l.run()
}

// connect tries to connect until there is a connection. It returns nil when there
// is not to be one.
func (l *Link[C]) connect() *C {
	// A server that accepts connections only to end them would otherwise be dialed
	// without end.
	if !l.began.IsZero() && time.Since(l.began) < l.cfg.Backoff && !l.pause() {
		return nil
	}
	for !l.over() {
		c, err := l.dialer.Connect(l.cfg.Life)
		if err != nil {
			l.attemptFailed(err)
			// The first failure is what Dial or a call returns; then fewer the longer it lasts.
			if l.tries > 1 && l.tries&(l.tries-1) == 0 {
				level := slog.LevelWarn
				if l.drained { // the server has shut down
					level = slog.LevelInfo
				}
				l.cfg.Log(level, err, l.tries)
			}
			if l.pause() {
				continue
			}
			return nil
		}
		l.cfg.Connects.Add(1)
		retired := false
		l.began, l.drained = time.Now(), false
		l.change(func() {
			l.failed, l.verdict, l.tries = nil, nil, 0
			if retired = l.retired; !retired {
				l.useLocked(c)
			}
		})
		if retired {
			l.dialer.Close(c)
		}
		return c
	}
	return nil
}

// over reports whether there is to be no further connection.
func (l *Link[C]) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retired || l.cfg.Life.Err() != nil
}

func (l *Link[C]) ended(c *C) {
	l.mu.Lock()
	l.live = slices.DeleteFunc(l.live, func(other *C) bool { return other == c })
	l.mu.Unlock()
	end := l.dialer.Ended(c)
	if !end.Rejected {
		return
	}
	l.cfg.Failures.Add(1)
	l.change(func() {
		l.failed = end.Err
		l.tries++
		if end.Final {
			l.verdict = end.Err
		}
	})
}

// Retire takes the link out of use for a shutdown, and returns the connections that
// may still have calls.
func (l *Link[C]) Retire() []*C {
	var live []*C
	l.change(func() {
		l.retired = true
		l.current.Store(nil)
		live = slices.Clone(l.live)
	})
	return live
}
