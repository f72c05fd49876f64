package reserve

import (
	"sync"
	"time"

	"github.com/weftrpc/weft/plugin/internal/keyed"
)

// How times are learned.
const (
	maxMethods = 1000
	leastCalls = 100  // before a call is refused
	share      = 0.1  // of the calls, that are faster than what is learned
	step       = 0.02 // by how much a call changes it
	letThrough = 32   // one of so many that would be refused
)

// learned is in which time a method is finished by the fastest of its calls.
type learned struct {
	mu      sync.Mutex
	methods *keyed.Table[string, pace]
}

// pace is that of one method.
type pace struct {
	calls   int
	fast    float64 // nanoseconds: about a tenth of the calls are faster
	refused int
}

func newLearned() *learned { return &learned{methods: keyed.New[string, pace](maxMethods)} }

// took notes how long a call took that went well.
func (l *learned) took(method string, d time.Duration) {
	took := float64(max(d, 1))
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.methods.Add(method, nil)
	if p.calls++; p.calls == 1 {
		p.fast = took
		return
	}
	// Where a tenth of the calls are faster, the steps in both directions are the same in the end.
	if took >= p.fast {
		p.fast = min(p.fast*(1+step*share), took)
	} else {
		p.fast = max(p.fast*(1-step*(1-share)), took)
	}
}

// enough reports whether a call with so much time is to be tried.
func (l *learned) enough(method string, usable time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.methods.Get(method)
	if p == nil || p.calls < leastCalls || float64(usable) >= p.fast {
		return true
	}
	p.refused++
	return p.refused%letThrough == 0
}
