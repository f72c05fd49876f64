// Package keyed is what plugins that count by caller have in common: a table of a bounded number of
// keys, and the key of a call.
package keyed

import (
	"container/list"
	"iter"
)

// Table holds one value for each of a bounded number of keys. When it is full, the key that has not
// been used for the longest time makes room. It is not safe for concurrent use.
type Table[K comparable, V any] struct {
	most   int
	keys   map[K]*list.Element
	recent list.List // of *entry[K, V], the one used last in front
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New makes a table of at most so many keys.
func New[K comparable, V any](most int) *Table[K, V] {
	return &Table[K, V]{most: most, keys: make(map[K]*list.Element)}
}

// Get is the value of a key, which counts as used; nil if there is none.
func (t *Table[K, V]) Get(key K) *V {
	e, ok := t.keys[key]
	if !ok {
		return nil
	}
	t.recent.MoveToFront(e)
	return &e.Value.(*entry[K, V]).value
}

// Add is Get for a key that may be new: its value is then the zero one. It is nil when the table is
// full and idle says of the value of the key used longest ago that it is not to be forgotten. idle
// may be nil: every value may be.
func (t *Table[K, V]) Add(key K, idle func(*V) bool) *V {
	if v := t.Get(key); v != nil {
		return v
	}
	if len(t.keys) >= t.most {
		oldest := t.recent.Back()
		if oldest == nil || idle != nil && !idle(&oldest.Value.(*entry[K, V]).value) {
			return nil
		}
		t.drop(oldest)
	}
	e := &entry[K, V]{key: key}
	t.keys[key] = t.recent.PushFront(e)
	return &e.value
}

// Delete forgets a key.
func (t *Table[K, V]) Delete(key K) {
	if e, ok := t.keys[key]; ok {
		t.drop(e)
	}
}

func (t *Table[K, V]) drop(e *list.Element) {
	delete(t.keys, e.Value.(*entry[K, V]).key)
	t.recent.Remove(e)
}

// Len is the number of keys.
func (t *Table[K, V]) Len() int { return len(t.keys) }

// All yields the keys and their values, the key used last first. Only the key that was just yielded
// may be deleted meanwhile.
func (t *Table[K, V]) All() iter.Seq2[K, *V] {
	return func(yield func(K, *V) bool) {
		for e := t.recent.Front(); e != nil; {
			next := e.Next()
			found := e.Value.(*entry[K, V])
			if !yield(found.key, &found.value) {
				return
			}
			e = next
		}
	}
}
