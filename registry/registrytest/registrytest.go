// Package registrytest proves that a driver keeps the promises of [registry.Driver],
// and of [registry.Documents] if it implements them.
//
// A driver's test is one call:
//
//	func TestConformance(t *testing.T) {
//		server := registrytest.NewProcess(t, registrytest.Program{Name: "etcd", …})
//		registrytest.Run(t, registrytest.Config{
//			New:    func(t *testing.T) registry.Driver { return … },
//			Server: server,
//		})
//	}
//
// Run publishes, replaces, refreshes and withdraws instances through several drivers
// that stand for as many processes, and watches what clients see of it. With a
// [Server] it also kills, wipes and freezes the registry, first under the driver
// alone and then under a [registry.Registry] made of it.
//
// Every service has a name of its own in every run, so a registry that others use,
// or that keeps what an earlier run has left, does no harm.
//
// A machine that is busy makes a registry silent for seconds, which its driver has to
// report. Run notes when its process gets no processor and, with a Probe, when the registry
// does not answer. What has failed meanwhile is done again, and logged, but not for ever:
// the machine is then too slow for the test, which fails and says so. At all other times an
// operation that fails, or a watch that ends by itself, fails the test.
package registrytest

import (
	"context"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// Config tells the kit about a driver.
type Config struct {
	// New makes a driver for the registry under test; each call stands for another
	// process. The kit closes it.
	New func(t *testing.T) registry.Driver
	// Server is the registry's server, to be broken; nil: there is none, as for a
	// memory or a file, and what needs it is left out.
	Server Server
	// Probe asks the registry something, not through a driver, and returns nil when it is
	// answered: the method Probe of a [Process]. It is called several times a second while
	// the server is not broken by Run. An error, or no answer, excuses drivers that cannot
	// reach the registry at the time. nil: the registry cannot stand still, as a memory
	// cannot, or only together with this process.
	Probe func(ctx context.Context) error
	// Publish makes exactly these instances the list of a service, for registries
	// that cannot be written to through the driver, which then returns
	// registry.ErrReadOnly; nil: Put and Delete are used.
	Publish func(t *testing.T, service string, instances []weft.Instance)
	// Fixed says that a driver shows the lists as they were when it was made: Publish
	// is called once for a service, and before New.
	Fixed bool
	// TTL is the time to live that the tests of expiry use. 0: 2 s. A registry with a
	// coarser one names its least.
	TTL time.Duration
	// Expires is after how long at most an instance is gone that is not refreshed. 0:
	// 3*TTL + 2 s.
	Expires time.Duration
	// Settle is how long a change may take to be seen by Watch. 0: 2 s.
	Settle time.Duration
	// Lossy says that the registry keeps of an instance only the address and the
	// weight, as DNS does; nothing else is compared.
	Lossy bool
}

// limits are what the kit itself decides on. Its own tests have shorter ones.
type limits struct {
	patience time.Duration // how much longer than promised anything may take: the machine is busy
	confirm  time.Duration // how long a list can stay without being confirmed by the registry
	notice   time.Duration // how long a driver may take to find that nothing is confirmed any more
	still    time.Duration // for how long this machine, or the registry, does nothing, at least, to stand still
	recent   time.Duration // for how long a standstill may still show afterwards
}

func usual() limits {
	return limits{patience: time.Minute, confirm: 10 * time.Second, notice: 20 * time.Second, still: 500 * time.Millisecond, recent: 10 * time.Second}
}

// Run tests a driver, in subtests of t that each name a promise. Those that need no
// broken server run in parallel.
func Run(t *testing.T, c Config) {
	t.Helper()
	if c.New == nil {
		t.Fatal("registrytest: Config.New is nil")
	}
	if c.Fixed && c.Publish == nil {
		t.Fatal("registrytest: Config.Fixed needs Config.Publish")
	}
	run(t, c, usual())
}

func run(t *testing.T, c Config, l limits) {
	s := newSuite(t, c, l)
	t.Run("healthy", func(t *testing.T) {
		if s.Probe != nil {
			s.pulse.ask(t, s.Probe)
		}
		for _, check := range s.checks() {
			t.Run(check.promise, func(t *testing.T) {
				t.Parallel()
				check.run(t, s)
			})
		}
		if _, ok := s.driver(t).(registry.Documents); !ok {
			return
		}
		for _, check := range documentChecks() {
			t.Run("documents: "+check.promise, func(t *testing.T) {
				t.Parallel()
				check.run(t, s)
			})
		}
	})
	if s.Server == nil {
		return
	}
	t.Run("broken", func(t *testing.T) {
		for _, check := range s.outages() {
			t.Run(check.promise, func(t *testing.T) { check.run(t, s) })
		}
	})
}

// suite is a Config with its defaults.
type suite struct {
	Config
	limits
	pulse *pulse
}

func newSuite(t *testing.T, c Config, l limits) *suite {
	t.Helper()
	s := &suite{Config: c, limits: l, pulse: newPulse(t, l)}
	if s.TTL == 0 {
		s.TTL = 2 * time.Second
	}
	if s.Expires == 0 {
		s.Expires = 3*s.TTL + 2*time.Second
	}
	if s.Settle == 0 {
		s.Settle = 2 * time.Second
	}
	return s
}

// check is the test of one promise.
type check struct {
	promise string
	run     func(t *testing.T, s *suite)
}

// checks returns those that the registry can be held to without breaking it.
func (s *suite) checks() []check {
	all := []check{
		{"a service without instances is an empty list", checkEmpty},
		{"an instance is seen as it was published", checkWhole},
		{"services do not mix", checkServices},
		{"a long list is complete", checkLong},
		{"a list belongs to its receiver", checkListOwner},
		{"an unchanged list is confirmed", checkConfirmed},
		{"a watch ends with its context", checkWatchEnds},
		{"a client sees the list through a Registry", checkSnapshot},
	}
	if !s.Fixed {
		all = append(all,
			check{"changes are seen by all watchers", checkWatchers},
			check{"an instance takes the place of its older self", checkReplace},
			check{"the last of many quick changes is seen", checkQuick},
			check{"a list can become empty", checkBecomesEmpty},
			check{"nothing is emitted after the end", checkSilence},
			check{"revisions do not go back", checkRevisions},
		)
	}
	if s.Publish != nil {
		return append(all, check{"a registry that cannot be written to says so", checkReadOnly})
	}
	all = append(all,
		check{"Delete withdraws one instance", checkDelete},
		check{"an instance belongs to its sender", checkInstanceOwner},
		check{"Refresh of what is not there is ErrLost", checkLost},
		check{"silent instances expire, refreshed ones stay", checkExpiry},
		check{"a driver serves many goroutines", checkConcurrent},
		check{"a server registers through a Registry", checkRegister},
	)
	if !s.Lossy {
		all = append(all,
			check{"any name can be an ID", checkOddIDs},
			check{"any name can be a service", checkOddServices},
			check{"an invalid entry does not hide the others", checkInvalid},
		)
	}
	return all
}
