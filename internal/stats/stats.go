// Package stats counts the calls of a method and how long they took, at a cost of
// one atomic addition a call.
package stats

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// The histogram is log-linear: every power of two of microseconds is cut into
// subBuckets equal parts, so that a quantile is off by at most a quarter.
const (
	subBits    = 2
	subBuckets = 1 << subBits
	maxPower   = 27 // the last bucket begins at 7 × 2^26 µs, almost eight minutes
	buckets    = (maxPower + 1) * subBuckets

	// Codes is how many status codes there are, 0 among them.
	Codes = 17
	// shards spread the counters over cache lines, so that connections do not
	// fight for one.
	shards = 4
)

// Method counts the calls of one method. The zero value is ready, for a side
// that records how long every call took; one that records only some of them sets
// Sampled before the first. All methods may be called from any goroutine.
type Method struct {
	Sampled bool
	shard   [shards]atomic.Pointer[shard] // made when they are used: many methods are called on one connection
}

type shard struct {
	requests, replies atomic.Uint64 // bytes; beside the first code, which most calls count too

	codes   [Codes]atomic.Uint64             // of a Sampled method
	latency histogram                        // of the calls that went well
	failed  [Codes]atomic.Pointer[histogram] // of the others, by code; made when they are used
}

type histogram [buckets]atomic.Uint64

// Count notes the end of a call of a Sampled method. where spreads callers over
// the shards.
func (m *Method) Count(where uint32, code uint16) {
	m.at(where).codes[known(code)].Add(1)
}

// Time notes how long a call of a Sampled method took that ended with a code, in
// nanoseconds.
func (m *Method) Time(where uint32, code uint16, ns int64) {
	m.at(where).of(known(code))[bucket(ns)].Add(1)
}

// Bytes notes how many bytes the messages of a call had.
func (m *Method) Bytes(where uint32, request, reply int) {
	s := m.at(where)
	if request > 0 {
		s.requests.Add(uint64(request))
	}
	if reply > 0 {
		s.replies.Add(uint64(reply))
	}
}

// Carried adds up what Bytes has noted.
func (m *Method) Carried() (requests, replies uint64) {
	for i := range m.shard {
		if s := m.shard[i].Load(); s != nil {
			requests += s.requests.Load()
			replies += s.replies.Load()
		}
	}
	return requests, replies
}

// Ended notes the end of a call of a method that is not Sampled.
func (m *Method) Ended(where uint32, code uint16, ns int64) {
	m.at(where).of(known(code))[bucket(ns)].Add(1)
}

// of is the histogram of the calls that ended with a code.
func (s *shard) of(code uint16) *histogram {
	if code == 0 {
		return &s.latency
	}
	if h := s.failed[code].Load(); h != nil {
		return h
	}
	return s.beginFailed(code)
}

//go:noinline
func (s *shard) beginFailed(code uint16) *histogram {
	s.failed[code].CompareAndSwap(nil, new(histogram))
	return s.failed[code].Load()
}

func (m *Method) at(where uint32) *shard {
	p := &m.shard[where%shards]
	if s := p.Load(); s != nil {
		return s
	}
	return begin(p)
}

//go:noinline
func begin(p *atomic.Pointer[shard]) *shard {
	p.CompareAndSwap(nil, new(shard))
	return p.Load()
}

func known(code uint16) uint16 {
	if code >= Codes {
		return 2 // the code named Unknown
	}
	return code
}

func bucket(ns int64) int {
	us := uint64(max(ns, 0)) / 1000
	if us < subBuckets {
		return int(us)
	}
	power := bits.Len64(us) - 1 - subBits
	i := (power+1)*subBuckets + int(us>>power)&(subBuckets-1)
	return min(i, buckets-1)
}

// upper is the end of a bucket, in microseconds.
func upper(i int) int64 {
	if i < subBuckets {
		return int64(i) + 1
	}
	power := i/subBuckets - 1
	return int64(subBuckets+i%subBuckets+1) << power
}

// lower is the beginning of a bucket, in microseconds.
func lower(i int) int64 {
	if i == 0 {
		return 0
	}
	return upper(i - 1)
}

// Summary is what was counted up to a moment.
type Summary struct {
	Requests  uint64            // bytes of all requests
	Replies   uint64            // bytes of all replies
	Codes     [Codes]uint64     // calls by status code
	Durations                   // of all calls whose duration was recorded
	byCode    [Codes]*Durations // nil: of none with that code
}

// Durations are how long calls took.
type Durations struct {
	Timed  uint64        // calls whose duration was recorded
	Sum    time.Duration // of those, as exact as the buckets are
	counts [buckets]uint64
}

// Of are the durations of the calls that ended with a code; nil when none was recorded.
func (s *Summary) Of(code uint16) *Durations { return s.byCode[known(code)] }

// Summary adds up what was counted.
func (m *Method) Summary() *Summary {
	out := &Summary{}
	for i := range m.shard {
		s := m.shard[i].Load()
		if s == nil {
			continue
		}
		out.Requests += s.requests.Load()
		out.Replies += s.replies.Load()
		for c := range s.codes {
			out.Codes[c] += s.codes[c].Load()
		}
		out.read(0, &s.latency)
		for code := range s.failed {
			if h := s.failed[code].Load(); h != nil {
				out.read(uint16(code), h)
			}
		}
	}
	for _, d := range out.byCode {
		out.Durations.add(d)
	}
	if !m.Sampled {
		// Every duration was recorded. Counted so, no code has fewer calls than in a summary before.
		for code, d := range out.byCode {
			if d != nil {
				out.Codes[code] = d.Timed
			}
		}
	}
	return out
}

// read adds the histogram of a code.
func (s *Summary) read(code uint16, h *histogram) {
	for b := range h {
		n := h[b].Load()
		if n == 0 {
			continue
		}
		if s.byCode[code] == nil {
			s.byCode[code] = new(Durations)
		}
		d := s.byCode[code]
		d.counts[b] += n
		d.Timed += n
		d.Sum += time.Duration(n) * time.Duration(lower(b)+upper(b)) * time.Microsecond / 2
	}
}

// Calls is the number of calls, whatever became of them.
func (s *Summary) Calls() uint64 {
	var n uint64
	for _, c := range s.Codes {
		n += c
	}
	return n
}

// Quantile is the time within which the share q, from 0 to 1, of the recorded
// calls ended; 0 when none was recorded. It is the upper end of a bucket.
func (s *Durations) Quantile(q float64) time.Duration {
	if s.Timed == 0 {
		return 0
	}
	rank := q * float64(s.Timed)
	var seen uint64
	for i, n := range s.counts {
		if seen += n; n > 0 && float64(seen) >= rank || seen == s.Timed {
			return time.Duration(upper(i)) * time.Microsecond
		}
	}
	return 0
}

// Buckets calls yield with every bucket that is not empty, in order: its upper end, and
// how many durations it holds.
func (s *Durations) Buckets(yield func(upper time.Duration, count uint64) bool) {
	for i, n := range s.counts {
		if n > 0 && !yield(time.Duration(upper(i))*time.Microsecond, n) {
			return
		}
	}
}

// Add adds what another summary has.
func (s *Summary) Add(o *Summary) {
	s.Requests += o.Requests
	s.Replies += o.Replies
	for i, n := range o.Codes {
		s.Codes[i] += n
	}
	s.Durations.add(&o.Durations)
	for code, d := range o.byCode {
		if d == nil {
			continue
		}
		sum := *d
		sum.add(s.byCode[code])
		s.byCode[code] = &sum // the old one may be shared with a copy of the summary
	}
}

func (s *Durations) add(o *Durations) {
	if o == nil {
		return
	}
	for i, n := range o.counts {
		s.counts[i] += n
	}
	s.Timed += o.Timed
	s.Sum += o.Sum
}
