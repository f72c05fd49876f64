package tee

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/keyed"
)

// MaxMismatches is how many mismatches are kept, the first ones.
const MaxMismatches = 100

// maxMethods is how many methods have figures of their own: on a client their names may come from its
// callers.
const maxMethods = 1000

// Stats are what a Tee has done.
type Stats struct {
	Dropped    uint64        // copies for which there was no room
	Unreadable uint64        // calls whose messages could not be encoded
	Methods    []MethodStats // by name
}

// MethodStats are the figures of one method.
type MethodStats struct {
	Method    string
	Copies    uint64        // copies that were made
	Equal     uint64        // with an equal reply, or with an error of the same code
	Different uint64        // with another reply or code
	Unreached uint64        // that the target has not run, as far as is known: lost, refused, too late
	Took      time.Duration // of the originals of the copies that were run, together
	CopyTook  time.Duration // of these copies
}

// Agreement is the share of equal answers among those that were compared; 1 if there were none.
func (m MethodStats) Agreement() float64 {
	if m.Equal+m.Different == 0 {
		return 1
	}
	return float64(m.Equal) / float64(m.Equal+m.Different)
}

// Mismatch is a copy that was answered differently.
type Mismatch struct {
	Method         string
	At             time.Time
	Code, CopyCode weft.Code    // 0: it went well
	Differences    []Difference // of two replies
}

// Difference is one place where two replies differ.
type Difference struct {
	Path           string // by the names of JSON: "order.lines.2.price"; "" for the whole
	Original, Copy string // the values as JSON, cut at 256 bytes, when Config.Values is set
}

// figures are what is known of all copies.
type figures struct {
	mu       sync.Mutex
	stats    Stats
	methods  *keyed.Table[string, MethodStats]
	mismatch []Mismatch
}

func (f *figures) init() { f.methods = keyed.New[string, MethodStats](maxMethods) }

func (f *figures) dropped() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Dropped++
}

func (f *figures) unreadable() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Unreadable++
}

// note counts a copy.
func (f *figures) note(c *copied, took time.Duration, v verdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.methods.Add(c.method, nil)
	m.Copies++
	switch {
	case v.unreached:
		m.Unreached++
		return
	case v.oneway:
		return
	case !v.different:
		m.Equal++
	default:
		m.Different++
		if len(f.mismatch) < MaxMismatches {
			bad := Mismatch{Method: c.method, At: time.Now(), Code: c.code, CopyCode: v.code}
			for _, d := range v.differences {
				bad.Differences = append(bad.Differences, Difference{Path: d.Path, Original: d.A, Copy: d.B})
			}
			f.mismatch = append(f.mismatch, bad)
		}
	}
	m.Took += c.took
	m.CopyTook += took
}

// Stats are the figures so far.
func (t *Tee) Stats() Stats {
	f := &t.figures
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.stats
	for name, m := range f.methods.All() {
		one := *m
		one.Method = name
		out.Methods = append(out.Methods, one)
	}
	slices.SortFunc(out.Methods, func(a, b MethodStats) int { return cmp.Compare(a.Method, b.Method) })
	return out
}

// Mismatches are the first MaxMismatches copies that were answered differently.
func (t *Tee) Mismatches() []Mismatch {
	t.figures.mu.Lock()
	defer t.figures.mu.Unlock()
	return slices.Clone(t.figures.mismatch)
}
