package balancetest

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/weftrpc/weft/cluster/balance"
)

// Simulation makes calls to a list of servers on a clock of its own. Each caller waits
// for an answer before its next call. Equal seeds give equal runs.
type Simulation struct {
	// Nodes are the servers; Latency returns how long one takes to answer a call
	// that arrives now. A negative one means: it does not answer.
	Nodes   []balance.Node
	Latency func(node int, now time.Duration) time.Duration

	// Callers is how many calls are in flight at any time.
	Callers int

	// Calls is how many calls are made at most; 0: as many as there is time for.
	Calls int

	// Timeout ends a call that is not answered, as failed; 0 means never.
	Timeout time.Duration

	// Seed is that of the random bits.
	Seed uint64
}

// Run makes calls from a time to another, each with a key of its own, lets those in
// flight end, and returns how many each server got. Calls that are never answered stay
// in flight.
func (s *Simulation) Run(p balance.Picker, from, to time.Duration) []int {
	counts := make([]int, len(s.Nodes))
	source, made := rand.NewPCG(s.Seed, 1), 0
	var queue events
	for k := range s.Callers { // not all at the same time
		queue = append(queue, event{at: from + time.Duration(k)*time.Microsecond, node: -1})
	}
	heap.Init(&queue)
	for len(queue) > 0 {
		e := heap.Pop(&queue).(event)
		if e.node >= 0 {
			s.Nodes[e.node].Stats.End(e.at, e.at-e.began, e.result)
		}
		if e.at >= to || s.Calls > 0 && made == s.Calls {
			continue
		}
		made++
		i := p.Pick(balance.Call{Key: "key-" + strconv.Itoa(made), Random: source.Uint64(), Now: e.at})
		if i < 0 {
			continue
		}
		counts[i]++
		s.Nodes[i].Stats.Begin(e.at)
		took, result := s.Latency(i, e.at), balance.OK
		switch {
		case s.Timeout > 0 && (took < 0 || took > s.Timeout):
			took, result = s.Timeout, balance.Failed
		case took < 0:
			continue
		}
		took += time.Duration(source.Uint64() % uint64(took/10+1)) // a tenth of noise
		heap.Push(&queue, event{e.at + took, e.at, i, result})
	}
	return counts
}

// event is the end of a call, or, with node -1, the first call of a caller.
type event struct {
	at, began time.Duration
	node      int
	result    balance.Result
}

// events is a heap, the earliest on top.
type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, k int) bool { return e[i].at < e[k].at }
func (e events) Swap(i, k int)      { e[i], e[k] = e[k], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

const simulatedCallers = 30

func (s *suite) slowServer() error {
	for slow := range 3 {
		sim := &Simulation{Nodes: Nodes(3), Callers: simulatedCallers, Seed: 9,
			Latency: func(node int, _ time.Duration) time.Duration {
				if node == slow {
					return 10 * time.Millisecond
				}
				return time.Millisecond
			}}
		counts := sim.Run(s.build(sim.Nodes), 0, time.Second/2)
		if got, fair := shareOf(counts, slow), 1.0/3; got > fair/5 {
			return fmt.Errorf("server %d, ten times slower than the two others, got %.3f of the calls, want at most a fifth of its fair share, %.3f", slow, got, fair/5)
		}
	}
	return nil
}

func shareOf(counts []int, node int) float64 {
	total := 0
	for _, n := range counts {
		total += n
	}
	return float64(counts[node]) / float64(max(total, 1))
}

func (s *suite) frozenServer() error {
	const freeze = time.Second / 5
	const frozen = 0
	sim := &Simulation{Nodes: Nodes(3), Callers: simulatedCallers, Seed: 10}
	trapped, after := 0, 0
	sim.Latency = func(node int, now time.Duration) time.Duration {
		if now < freeze {
			return time.Millisecond
		}
		if node == frozen {
			trapped++
			return -1
		}
		after++
		return time.Millisecond
	}
	sim.Run(s.build(sim.Nodes), 0, time.Second)
	if after < 1000 {
		return fmt.Errorf("only %d calls were answered by two healthy servers in 0.8 seconds after the third froze", after)
	}
	if trapped > simulatedCallers/2 {
		return fmt.Errorf("a server that froze holds the calls of %d callers out of %d, want at most half", trapped, simulatedCallers)
	}
	return nil
}

// statsSurvive changes the list often while one server is slow: what was measured must
// be kept.
func (s *suite) statsSurvive() error {
	sim := &Simulation{Nodes: Nodes(3), Callers: simulatedCallers, Seed: 11,
		Latency: func(node int, _ time.Duration) time.Duration {
			if node == 1 {
				return 10 * time.Millisecond
			}
			return time.Millisecond
		}}
	total := make([]int, 3)
	for k := range 100 {
		from := time.Duration(k) * 20 * time.Millisecond
		for i, n := range sim.Run(s.build(slices.Clone(sim.Nodes)), from, from+20*time.Millisecond) {
			total[i] += n
		}
	}
	if got := shareOf(total, 1); got > 1.0/15 {
		return fmt.Errorf("with a new picker every 20 ms, a server ten times slower got %.3f of the calls, want at most %.3f: keep what was learnt in Node.Stats", got, 1.0/15)
	}
	return nil
}

// slowStart watches the share of one new server among five.
func (s *suite) slowStart() error {
	set := Nodes(5)
	begin := time.Hour
	set[2].Stats = balance.NewStats(begin)
	p := s.build(set)
	source := rand.NewPCG(12, 12)
	share := func(now time.Duration) float64 {
		n := 0
		for range 20000 {
			if p.Pick(balance.Call{Random: source.Uint64(), Now: now}) == 2 {
				n++
			}
		}
		return float64(n) / 20000 * float64(len(set))
	}
	for _, step := range []struct{ at, least, most float64 }{
		{0, 0.05, 0.2}, {0.25, 0.15, 0.4}, {0.5, 0.35, 0.65}, {0.75, 0.6, 0.9}, {1, 0.9, 1.1},
	} {
		now := begin + time.Duration(step.at*float64(s.cfg.SlowStart))
		if got := share(now); got < step.least || got > step.most {
			return fmt.Errorf("%v after its start, a new server gets %.2f of its share, want %.2f to %.2f", now-begin, got, step.least, step.most)
		}
	}
	return nil
}
