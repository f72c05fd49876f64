package stats

import (
	"sync"
	"sync/atomic"
)

// maxNames bounds the names that are counted apart: they may be made of anything.
const maxNames = 64

// Tally counts events by name. The zero value is ready; all methods may be called concurrently.
type Tally struct {
	counts sync.Map // string → *atomic.Uint64
	kinds  atomic.Int32
}

// Count counts an event. Those beyond maxNames names are counted together, as "OTHER".
func (t *Tally) Count(name string) {
	n, ok := t.counts.Load(name)
	if !ok {
		if t.kinds.Load() >= maxNames {
			name = "OTHER"
		}
		if n, ok = t.counts.LoadOrStore(name, new(atomic.Uint64)); !ok {
			t.kinds.Add(1)
		}
	}
	n.(*atomic.Uint64).Add(1)
}

// Snapshot is what was counted up to now.
func (t *Tally) Snapshot() map[string]uint64 {
	out := make(map[string]uint64)
	for name, n := range t.counts.Range {
		out[name.(string)] = n.(*atomic.Uint64).Load()
	}
	return out
}
