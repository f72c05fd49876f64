// Package hist records latencies from many goroutines without allocating and
// without bending what it measures.
//
// A histogram per caller would be exact but large: three digits between 1 ns
// and 60 s are 220 KB, so 5000 callers would own 1.1 GB and miss the cache on
// every record. A [Recorder] keeps a few histograms, more than processors, and
// callers share them under a mutex that is held for some 20 ns.
package hist

import (
	"math"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weftrpc/weft/bench/contract"
)

const (
	lowest  = 1                       // nanoseconds
	highest = int64(60 * time.Second) // longer calls are counted here; Max stays exact
	digits  = 3
)

// Recorder is a set of shards that together hold one distribution.
type Recorder struct {
	shards []Shard
}

// Shard is one part of a recorder. Any number of goroutines may record into it.
type Shard struct {
	mu        sync.Mutex
	histogram *hdr.Histogram
	count     int64
	sum       int64 // nanoseconds, exact where the histogram rounds, as min and max are
	min, max  int64
	_         [64]byte
}

// NewRecorder makes a recorder of n shards, at least one. Four for each
// processor keep two callers from meeting in a shard.
func NewRecorder(n int) *Recorder {
	r := &Recorder{shards: make([]Shard, max(n, 1))}
	for i := range r.shards {
		r.shards[i].histogram = hdr.New(lowest, highest, digits)
		r.shards[i].min = math.MaxInt64
	}
	return r
}

// Shard is the shard that caller i records into. Callers are spread evenly.
func (r *Recorder) Shard(i int) *Shard { return &r.shards[i%len(r.shards)] }

// Record adds one latency. It does not allocate. A negative one counts as zero.
func (s *Shard) Record(d time.Duration) {
	ns := max(int64(d), 0)
	s.mu.Lock()
	s.count++
	s.sum += ns
	s.min = min(s.min, ns)
	s.max = max(s.max, ns)
	// The only error is a value out of range, which the bound excludes.
	_ = s.histogram.RecordValue(min(ns, highest))
	s.mu.Unlock()
}

// Count is how many latencies were recorded so far. It may be called while
// others record.
func (r *Recorder) Count() int64 {
	var n int64
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		n += s.count
		s.mu.Unlock()
	}
	return n
}

// Reset forgets everything recorded.
func (r *Recorder) Reset() {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		s.histogram.Reset()
		s.count, s.sum, s.min, s.max = 0, 0, math.MaxInt64, 0
		s.mu.Unlock()
	}
}

// Distribution merges the shards. It may be called while others record.
func (r *Recorder) Distribution() contract.Distribution {
	merged := hdr.New(lowest, highest, digits)
	d := contract.Distribution{Min: math.MaxInt64}
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		merged.Merge(s.histogram)
		d.Count += s.count
		d.Sum += s.sum
		d.Min = min(d.Min, s.min)
		d.Max = max(d.Max, s.max)
		s.mu.Unlock()
	}
	if d.Count == 0 {
		return contract.Distribution{}
	}
	for _, bar := range merged.Distribution() {
		if bar.Count > 0 {
			d.Histogram = append(d.Histogram, [2]int64{bar.To, bar.Count})
		}
	}
	return d
}
