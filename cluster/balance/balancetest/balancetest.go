// Package balancetest tests that a balancer keeps the promises of
// [balance.Balancer] and [balance.Picker].
//
// A balancer's test is one call:
//
//	func TestConformance(t *testing.T) {
//		balancetest.Run(t, mybalancer.New(), balancetest.Config{LoadAware: true})
//	}
//
// Run builds pickers for empty, small and large lists and checks that no index
// is out of range, that servers tried, to avoid or of weight 0 are left out, that
// weights are kept, that nothing is allocated, that many goroutines may pick
// while lists change (run it with -race), and that equal calls give equal picks.
// For a balancer that looks at load, a [Simulation] counts the calls that a slow and a
// frozen server get.
package balancetest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/weftrpc/weft/cluster/balance"
)

// Config sets what the balancer promises beyond what all do.
type Config struct {
	// Unweighted: weights other than 0 do not change the shares. Otherwise, when all
	// servers answer equally fast, each gets the share of its weight within 2 % of all
	// calls, over 10,000 calls from the first one on, for 1 to 64 callers.
	Unweighted bool

	// Bounds: the balancer bounds calls in flight, and so moves calls away from where
	// weights would send them. Weights are tested with a single caller.
	Bounds bool

	// Pinned: all calls may go to one server or a few, so shares are not tested.
	Pinned bool

	// LoadAware: of three servers with ten callers each, one ten times slower
	// than the others gets at most a fifth of its fair share, and one that no
	// longer answers holds at most half of the callers. Of two servers that a client
	// has just found, one that is 25 times slower gets at most 6 % of the calls.
	LoadAware bool

	// Reports: the balancer uses the load that servers report. Of two servers, one that
	// reports ten times the load of the other gets at most a third of the calls, and about
	// half after two minutes without a new report.
	Reports bool

	// Keyed: equal keys give equal servers, for every client, and the removal
	// of one of ten servers moves at most 1.2 tenths of the keys.
	Keyed bool

	// Numbered, for a Keyed balancer: the promise about removal holds only for
	// the server whose ID comes last.
	Numbered bool

	// SlowStart, if not 0, is the time over which a new server's share grows.
	SlowStart time.Duration
}

// Run tests b, in subtests of t.
func Run(t *testing.T, b balance.Balancer, cfg Config) {
	t.Helper()
	s := &suite{balancer: b, cfg: cfg}
	for _, c := range s.checks() {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(); err != nil {
				t.Error(err)
			}
		})
	}
}

type suite struct {
	balancer balance.Balancer
	cfg      Config
}

type check struct {
	name string
	run  func() error
}

// checks returns those that the configuration asks for.
func (s *suite) checks() []check {
	all := []check{
		{"empty list", s.empty},
		{"single server", s.single},
		{"range", s.inRange},
		{"tried servers", s.tried},
		{"avoided servers", s.avoided},
		{"missing stats", s.missingStats},
		{"list untouched", s.listUntouched},
		{"allocations", s.allocations},
		{"concurrent use", s.concurrent},
		{"determinism", s.deterministic},
	}
	if !s.cfg.Pinned {
		all = append(all, check{"shares", s.shares})
		if !s.cfg.Unweighted {
			all = append(all, check{"weights", s.weights})
		}
	}
	if s.cfg.Keyed {
		all = append(all, check{"keys", s.keys}, check{"removal", s.removal})
	}
	if s.cfg.LoadAware {
		all = append(all, check{"slow server", s.slowServer}, check{"slow at first", s.slowAtFirst},
			check{"frozen server", s.frozenServer},
			check{"stats over rebuilds", s.statsSurvive})
	}
	if s.cfg.Reports {
		all = append(all, check{"reports", s.reports})
	}
	if s.cfg.SlowStart > 0 {
		all = append(all, check{"slow start", s.slowStart})
	}
	return all
}

// Nodes returns n servers of weight 1, with empty Stats, whose IDs are addresses
// in the order of the list. They have been there for an hour (see [balance.SlowStart]).
func Nodes(n int) []balance.Node {
	set := make([]balance.Node, n)
	for i := range set {
		set[i] = balance.Node{
			ID:     fmt.Sprintf("tcp://server-%04d:8972", i),
			Weight: 1,
			Stats:  balance.NewStats(-time.Hour),
		}
	}
	return set
}

// Calls makes calls one after the other: each with a key of its own, random bits
// of a seeded source, and a time that is a millisecond later. It must be used by one
// goroutine at a time.
type Calls struct {
	source *rand.PCG
	count  int
	now    time.Duration
}

// NewCalls returns calls that are the same for the same seed.
func NewCalls(seed uint64) *Calls { return &Calls{source: rand.NewPCG(seed, seed)} }

// Next returns the next call.
func (c *Calls) Next() balance.Call {
	c.count++
	c.now += time.Millisecond
	return balance.Call{
		Method: "Test.Method",
		Key:    "key-" + strconv.Itoa(c.count),
		Random: c.source.Uint64(),
		Now:    c.now,
	}
}

// serve is a call of about a millisecond, with no other in flight.
func (c *Calls) serve(s *balance.Stats, now time.Duration) {
	s.Begin(now)
	noise := time.Duration(c.source.Uint64() % uint64(200*time.Microsecond))
	s.End(now, 900*time.Microsecond+noise, balance.OK)
}
