// Package breaker stops calls of a method to a server that fails them, and finds
// out with single calls when it has recovered.
//
// A client has a [Breaker] for each method of each server, 128 bytes, all with the
// same [Settings]:
//
//	settings, err := breaker.NewSettings(breaker.Config{})  once for a client
//	b := settings.New(random)                               for each server and method
//	if b.Allow(now) { ... b.Done(now, took, result) }       around each attempt
//
// Closed, a breaker lets every call through and counts: those that failed, those
// that went well, and those that are overdue. It opens when half of at least 20
// calls in ten seconds have failed, or ten in a row. Open, it lets none through for
// five seconds. Then it is half-open: one call goes through, the probe, and
// decides. If it goes well the breaker closes; if not, it is open for twice as long
// as before, up to a minute. (The states are those of Nygard: Release It!, 2007.)
//
// A method that hangs never fails, so calls count from when they are sent: one that
// takes four times as long as the slowest good one of late is overdue, and counts
// like one that has failed. A probe that hangs counts as failed as well.
//
// What is a failure is the caller's decision. A breaker is for errors that the
// method would not give if it was well, such as Unavailable, Internal, or no answer
// in time; NotFound is an answer. A stream is done, for a breaker, with its first
// message, however long that takes; see [Breaker.AllowStream].
package breaker

import (
	"fmt"
	"time"

	"github.com/weftrpc/weft"
)

// The defaults of a Config.
const (
	DefaultWindow      = 10 * time.Second
	DefaultCalls       = 20
	DefaultRatio       = 0.5
	DefaultConsecutive = 10
	DefaultOpen        = 5 * time.Second
	DefaultMaxOpen     = 60 * time.Second
)

// Config says when breakers open and for how long. A zero field means its default.
type Config struct {
	// Window is how long a call counts, and how long a probe may take. It should be
	// longer than the method mostly takes. 0: 10 s; otherwise at least 100 ms.
	Window time.Duration
	// Calls is how many calls of the window it takes to open at Ratio. 0: 20.
	Calls int
	// Ratio is which part of the window's calls has to fail to open. 0: 0.5; at most 1.
	Ratio float64
	// Consecutive is how many calls in a row have to fail to open, whatever the
	// ratio. 0: 10.
	Consecutive int
	// Open is how long a breaker is open at first, give or take a fifth. It doubles
	// with each probe that fails, and when a breaker opens again within MaxOpen of
	// closing. 0: 5 s.
	Open time.Duration
	// MaxOpen is the longest it grows to, before the fifth. 0: 60 s.
	MaxOpen time.Duration
}

// Settings are a checked Config. They never change; all breakers of a client share
// one.
type Settings struct {
	width       time.Duration // of a bucket
	window      time.Duration
	calls       int
	ratio       float64
	consecutive uint32
	open, most  time.Duration
}

// NewSettings checks a Config and fills in its defaults.
func NewSettings(cfg Config) (*Settings, error) {
	wrong := func(format string, args ...any) (*Settings, error) {
		return nil, weft.Errorf(weft.InvalidArgument, "breaker: Config."+format, args...)
	}
	orDefault(&cfg.Window, DefaultWindow)
	orDefault(&cfg.Calls, DefaultCalls)
	orDefault(&cfg.Ratio, DefaultRatio)
	orDefault(&cfg.Consecutive, DefaultConsecutive)
	orDefault(&cfg.Open, DefaultOpen)
	orDefault(&cfg.MaxOpen, max(DefaultMaxOpen, cfg.Open))
	switch {
	case cfg.Window < 100*time.Millisecond:
		return wrong("Window is %v, want 100ms or more, or 0 for %v", cfg.Window, DefaultWindow)
	case cfg.Calls < 0:
		return wrong("Calls is %d, want 1 or more, or 0 for %d", cfg.Calls, DefaultCalls)
	case !(cfg.Ratio > 0 && cfg.Ratio <= 1):
		return wrong("Ratio is %v, want more than 0 and at most 1, or 0 for %v", cfg.Ratio, DefaultRatio)
	case cfg.Consecutive < 0 || cfg.Consecutive > 1<<30:
		return wrong("Consecutive is %d, want 1 to %d, or 0 for %d", cfg.Consecutive, 1<<30, DefaultConsecutive)
	case cfg.Open < 0:
		return wrong("Open is %v, want more than 0, or 0 for %v", cfg.Open, DefaultOpen)
	case cfg.MaxOpen < cfg.Open:
		return wrong("MaxOpen is %v, which is shorter than Open, %v", cfg.MaxOpen, cfg.Open)
	}
	return &Settings{
		width: cfg.Window / buckets, window: cfg.Window,
		calls: cfg.Calls, ratio: cfg.Ratio, consecutive: uint32(cfg.Consecutive),
		open: cfg.Open, most: cfg.MaxOpen,
	}, nil
}

func orDefault[T comparable](field *T, normal T) {
	var zero T
	if *field == zero {
		*field = normal
	}
}

// State is what a breaker does with calls.
type State uint8

// The states.
const (
	Closed   State = iota // lets every call through
	Open                  // lets none through
	HalfOpen              // lets one through, or waits for how that one ends
)

// String is the state in lower case.
func (s State) String() string {
	switch s {
	case Closed:
		return "closed"
	case Open:
		return "open"
	default:
		return "half-open"
	}
}

// Result is how a call ended, as far as a breaker cares. The values are those of
// the results that a balancer and the health of a server are told.
type Result uint8

const (
	// OK means that the method did its work.
	OK Result = iota

	// Failed means that it did not, though it should have.
	Failed

	// Canceled means that nothing is known: the caller no longer wanted the answer,
	// or the call was not sent after all.
	Canceled
)

// Status is what a breaker knows, for those who watch.
type Status struct {
	State   State
	Until   time.Duration // when an open one lets its probe through
	Calls   int           // of the window, those that ended and those overdue
	Failed  int           // of these
	Overdue int           // of these
	Why     string        // why it is not closed; empty when it is
}

// String says it in a few words, such as "open: 10 calls in a row failed".
func (s Status) String() string {
	if s.Why == "" {
		return s.State.String()
	}
	return fmt.Sprintf("%v: %s", s.State, s.Why)
}
