// Package health finds out which servers of a client are not well, from the calls
// that go to them anyway, and leaves those out until they are: outlier ejection, as
// in Envoy (envoyproxy.io, "Outlier detection").
//
//	panel, err := health.NewPanel(health.Config{})  one for a client
//	t := panel.Add("tcp://10.0.0.1:8972")           one for each server
//	t.Begin(now); t.End(now, took, result)          around each attempt
//	t.Lost(now); t.Connected(now)                   for its connections
//	changes := panel.Tick(now, random)              four times a second
//
// A server is ejected when
//
//   - five calls in a row have failed;
//   - it answers less than 80 % of its calls, of at least 20 in ten seconds, when the
//     others answer all of theirs; when they do not, as much less;
//   - it has stalled: it has answered nothing for a second, or twice as long as its
//     slowest answer of late, with calls waiting, while others do answer;
//   - its connection was lost three times in a row soon after it was made.
//
// It stays out for five seconds, twice as long each time, up to five minutes. Then one
// call goes to it, the probe, and decides ([Panel.Probe]). A server without a
// connection is down, which is known and not judged, and ends when it has one.
//
// Never more than half of the servers are out, for the rest may not carry the load of
// all. And when all fail, none is ejected: then the fault is likely on this side, or
// behind all of them, and one server is as good as another.
//
// What is a failure is the caller's decision. Health is for those where a server did
// not do its part: no connection, no answer in time, a connection lost while it was
// waited for. An error of the application is an answer, and so is a refusal of too much
// work: ejecting a busy server only makes the others busier.
//
// Nothing here reads a clock or a random source, or runs by itself.
package health

import (
	"time"

	"github.com/weftrpc/weft"
)

// The defaults of a Config.
const (
	DefaultFailures = 5
	DefaultRate     = 0.8
	DefaultCalls    = 20
	DefaultWindow   = 10 * time.Second
	DefaultStall    = time.Second
	DefaultEject    = 5 * time.Second
	DefaultMaxEject = 300 * time.Second
)

// Config says when servers are ejected and for how long. A zero field means its
// default.
type Config struct {
	// Failures is how many calls in a row have to fail. 0: 5.
	Failures int
	// Rate is the part of its calls that a server has to answer when the others answer
	// all of theirs; when they answer less, it may as well. 0: 0.8; at most 1.
	Rate float64
	// Calls is how many calls of the window it takes to judge by the rate. 0: 20.
	Calls int
	// Window is how long a call counts for the rate. 0: 10 s; otherwise at least 100 ms.
	Window time.Duration
	// Stall is the silence of a server with calls waiting that is no longer taken for
	// work. It should be at least four times as long as the time between ticks. 0: 1 s.
	Stall time.Duration
	// Eject is how long a server is out at first, give or take a tenth. 0: 5 s.
	Eject time.Duration
	// MaxEject is the longest it grows to, before the tenth. 0: 300 s.
	MaxEject time.Duration
}

// resolve checks a Config and fills in its defaults.
func (c *Config) resolve() error {
	wrong := func(format string, args ...any) error {
		return weft.Errorf(weft.InvalidArgument, "health: Config."+format, args...)
	}
	orDefault(&c.Failures, DefaultFailures)
	orDefault(&c.Rate, DefaultRate)
	orDefault(&c.Calls, DefaultCalls)
	orDefault(&c.Window, DefaultWindow)
	orDefault(&c.Stall, DefaultStall)
	orDefault(&c.Eject, DefaultEject)
	orDefault(&c.MaxEject, max(DefaultMaxEject, c.Eject))
	switch {
	case c.Failures < 0:
		return wrong("Failures is %d, want 1 or more, or 0 for %d", c.Failures, DefaultFailures)
	case !(c.Rate > 0 && c.Rate <= 1):
		return wrong("Rate is %v, want more than 0 and at most 1, or 0 for %v", c.Rate, DefaultRate)
	case c.Calls < 0:
		return wrong("Calls is %d, want 1 or more, or 0 for %d", c.Calls, DefaultCalls)
	case c.Window < 100*time.Millisecond:
		return wrong("Window is %v, want 100ms or more, or 0 for %v", c.Window, DefaultWindow)
	case c.Stall < 0:
		return wrong("Stall is %v, want more than 0, or 0 for %v", c.Stall, DefaultStall)
	case c.Eject < 0:
		return wrong("Eject is %v, want more than 0, or 0 for %v", c.Eject, DefaultEject)
	case c.MaxEject < c.Eject:
		return wrong("MaxEject is %v, which is shorter than Eject, %v", c.MaxEject, c.Eject)
	}
	return nil
}

func orDefault[T comparable](field *T, normal T) {
	var zero T
	if *field == zero {
		*field = normal
	}
}

// State is what is known of a server.
type State uint8

// The states. Only a healthy server should get calls while there is one.
const (
	Healthy State = iota
	Ejected       // out for a while, for what calls to it have shown
	Probing       // the while is over, and one call is to show how it is now
	Down          // without a connection
)

// String is the state in lower case.
func (s State) String() string {
	switch s {
	case Healthy:
		return "healthy"
	case Ejected:
		return "ejected"
	case Probing:
		return "probing"
	default:
		return "down"
	}
}

// Result is how an attempt ended, as far as the health of the server is concerned.
// The values are those of the results that a balancer and a breaker are told.
type Result uint8

const (
	// OK means that the server answered.
	OK Result = iota

	// Failed means that it did not do its part.
	Failed

	// Canceled means that nothing is known: the caller no longer wanted the answer,
	// or the call was not sent after all.
	Canceled
)

// Change is a server whose state has changed.
type Change struct {
	Tracker  *Tracker
	From, To State
	Why      string // such as "5 failures in a row"
}

// Report is what is known of a server now.
type Report struct {
	Name     string
	State    State
	Why      string        // such as "5 failures in a row, tried again in 4.2s"; empty for a healthy server that is well
	Until    time.Duration // when an ejected server is tried again
	InFlight int           // calls waiting for an answer
	Calls    int           // calls of the window that ended
	Failed   int           // of these
	Row      int           // failures since the last answer
}
