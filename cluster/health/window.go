package health

import (
	"sync/atomic"
	"time"
)

// buckets is how many parts a window has. The oldest is dropped as a whole.
const buckets = 8

// A bucket is one word: 32 bits of answers above 32 bits of failures.
const (
	oneFailed = 1
	oneOK     = 1 << 32
)

// window counts how the calls of the last seconds ended. A count that is made while
// its bucket is dropped may be lost, or be a little too new.
type window struct {
	epoch   atomic.Int64 // number of the newest bucket
	buckets [buckets]atomic.Uint64
}

func (w *window) add(now, width time.Duration, one uint64) {
	e := w.epoch.Load()
	if now >= time.Duration(e+1)*width {
		e = w.turn(e, int64(now/width))
	}
	w.buckets[uint64(e)%buckets].Add(one)
}

// turn drops the buckets that are too old.
func (w *window) turn(from, to int64) int64 {
	if !w.epoch.CompareAndSwap(from, to) {
		return w.epoch.Load()
	}
	for n := range min(to-from, buckets) {
		w.buckets[uint64(to-n)%buckets].Store(0)
	}
	return to
}

func (w *window) clear() {
	for i := range w.buckets {
		w.buckets[i].Store(0)
	}
}

// sum adds up the window that ends now.
func (w *window) sum(now, width time.Duration) (ok, failed int) {
	e := w.epoch.Load()
	oldest := int64(now/width) - buckets + 1
	for n := e; n > e-buckets && n >= oldest; n-- {
		b := w.buckets[uint64(n)%buckets].Load()
		ok += int(b >> 32)
		failed += int(b & (1<<32 - 1))
	}
	return ok, failed
}
