// Package keyed is what plugins that count by caller have in common: a table of a bounded number of
// keys, and the key of a call.
package keyed

import (
	"iter"
	"strings"
)

// Table holds one value for each of a bounded number of keys. When it is full, the key that has not
// been used for the longest time makes room. It is not safe for concurrent use.
type Table[K comparable, V any] struct {
	most   int
	keys   map[K]*entry[K, V]
	recent entry[K, V] // the head of a ring of all entries, behind it the one used last
}

type entry[K comparable, V any] struct {
	key          K
	value        V
	next, before *entry[K, V]
}

// New makes a table of at most so many keys.
func New[K comparable, V any](most int) *Table[K, V] {
	t := &Table[K, V]{most: most, keys: make(map[K]*entry[K, V])}
	t.recent.next, t.recent.before = &t.recent, &t.recent
	return t
}

// Get is the value of a key, which counts as used; nil if there is none.
func (t *Table[K, V]) Get(key K) *V {
	e, ok := t.keys[key]
	if !ok {
		return nil
	}
	if t.recent.next != e {
		e.unlink()
		t.front(e)
	}
	return &e.value
}

// Add is Get for a key that may be new: its value is then the zero one. It is nil when the table is
// full and idle says of the value of the key used longest ago that it is not to be forgotten. idle
// may be nil: every value may be. A new key that is a string, or has a method Clone, is kept as its clone.
func (t *Table[K, V]) Add(key K, idle func(*V) bool) *V {
	if v := t.Get(key); v != nil {
		return v
	}
	if len(t.keys) >= t.most {
		oldest := t.recent.before
		if oldest == &t.recent || idle != nil && !idle(&oldest.value) {
			return nil
		}
		t.drop(oldest)
	}
	switch k := any(key).(type) {
	case interface{ Clone() K }:
		key = k.Clone()
	case string:
		key = any(strings.Clone(k)).(K)
	}
	e := &entry[K, V]{key: key}
	t.keys[key] = e
	t.front(e)
	return &e.value
}

// Delete forgets a key.
func (t *Table[K, V]) Delete(key K) {
	if e, ok := t.keys[key]; ok {
		t.drop(e)
	}
}

func (t *Table[K, V]) drop(e *entry[K, V]) {
	delete(t.keys, e.key)
	e.unlink()
}

func (t *Table[K, V]) front(e *entry[K, V]) {
	e.before, e.next = &t.recent, t.recent.next
	e.next.before, t.recent.next = e, e
}

func (e *entry[K, V]) unlink() { e.before.next, e.next.before = e.next, e.before }

// Oldest is the key that has not been used for the longest time, and its value. The table is not empty.
func (t *Table[K, V]) Oldest() (K, *V) {
	e := t.recent.before
	return e.key, &e.value
}

// Len is the number of keys.
func (t *Table[K, V]) Len() int { return len(t.keys) }

// All yields the keys and their values, the key used last first. Only the key that was just yielded
// may be deleted meanwhile.
func (t *Table[K, V]) All() iter.Seq2[K, *V] {
	return func(yield func(K, *V) bool) {
		for e := t.recent.next; e != &t.recent; {
			next := e.next
			if !yield(e.key, &e.value) {
				return
			}
			e = next
		}
	}
}
