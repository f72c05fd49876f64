// Package serial queues what must run one after the other: values with the same key, in the
// order in which their places were taken. A value may come later than its place.
package serial

import "sync"

// Keys are the queues of all keys that have values. The zero value is ready.
type Keys[T any] struct {
	mu    sync.Mutex
	byKey map[string]*Queue[T] // without those that are empty
	ended bool
}

// Queue is the queue of one key. While its first value can run, one worker has the queue,
// which runs one value after the other until Next returns nil.
type Queue[T any] struct {
	key    string
	places []*Place[T] // in order; the value of the first one may be running
	busy   bool        // a worker has the queue
	begun  bool        // the first place is that of the value that its worker runs
}

// Place is the place of one value in its queue.
type Place[T any] struct {
	of    *Queue[T]
	value T
	ready bool // the value has come
	gone  bool // there will be no value
}

// Value is the value that Fill has put there.
func (p *Place[T]) Value() *T { return &p.value }

// Reserve takes the last place for a key. It returns nil when most values wait. The one that runs
// does not count: its end may be known elsewhere before its worker calls Next.
func (k *Keys[T]) Reserve(key []byte, most int) *Place[T] {
	k.mu.Lock()
	defer k.mu.Unlock()
	q := k.byKey[string(key)]
	if q == nil {
		if k.byKey == nil {
			k.byKey = make(map[string]*Queue[T])
		}
		q = &Queue[T]{key: string(key)}
		k.byKey[q.key] = q
	}
	waiting := len(q.places)
	if q.begun {
		waiting--
	}
	if waiting >= most {
		return nil
	}
	p := &Place[T]{of: q}
	q.places = append(q.places, p)
	return p
}

// Fill puts a value into its place. It returns the queue if a worker must take it up, and ok
// false if End was called and the value will not run.
func (k *Keys[T]) Fill(p *Place[T], v T) (start *Queue[T], ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p.gone {
		return nil, false
	}
	p.value, p.ready = v, true
	return p.of.startLocked(), true
}

// Leave gives a place up. It returns the queue if a worker must take it up. A nil place is
// ignored.
func (k *Keys[T]) Leave(p *Place[T]) (start *Queue[T]) {
	if p == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p.gone = true
	return p.of.startLocked()
}

// startLocked returns the queue if its first place is done with and no worker has it.
func (q *Queue[T]) startLocked() *Queue[T] {
	if q.busy || len(q.places) == 0 || !q.places[0].ready && !q.places[0].gone {
		return nil
	}
	q.busy = true
	return q
}

// Next returns the place with the value that its worker runs next: the one behind after,
// which has run, or the first one if after is nil. With nil the worker has no longer the queue.
func (k *Keys[T]) Next(q *Queue[T], after *Place[T]) *Place[T] {
	k.mu.Lock()
	defer k.mu.Unlock()
	if after != nil {
		q.popLocked()
	}
	q.begun = false
	for len(q.places) > 0 {
		switch p := q.places[0]; {
		case p.gone:
		case p.ready:
			q.begun = true
			return p
		case !k.ended:
			q.busy = false
			return nil
		}
		q.popLocked()
	}
	q.busy = false
	if k.byKey[q.key] == q {
		delete(k.byKey, q.key)
	}
	return nil
}

func (q *Queue[T]) popLocked() {
	q.places[0].gone = true
	q.places[0] = nil
	q.places = q.places[1:]
}

// End says that no more values will come. It returns the queues that workers must take up.
func (k *Keys[T]) End() (start []*Queue[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	for _, q := range k.byKey {
		if !q.busy {
			q.busy = true
			start = append(start, q)
		}
	}
	return start
}

// Len is how many keys have places.
func (k *Keys[T]) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.byKey)
}
