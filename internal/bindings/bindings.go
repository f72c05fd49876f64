// Package bindings gives numbers to the methods that the calls of a connection use: a BIND frame tells the peer the number of a
// method and a codec, and requests carry it from then on.
package bindings

import (
	"slices"
	"strings"
)

// Key is what has a number: a method, and the codec that it is called with.
type Key struct{ Codec, Method string }

// Table are the numbers of one side of a connection. The zero value is ready. It is used under one lock.
type Table struct {
	numbers map[Key]uint16 // nil while there are few
	bound   []Key          // by number
	first   [1]Key         // what holds them as long as there is one
	oldest  int            // the number that is given anew when there are no more
	last    Key            // the key used last, and its number: callers repeat themselves
	lastOf  uint16
}

// few is how many keys are searched one by one.
const few = 4

// Last returns the number of a key if that was used last.
func (t *Table) Last(codec, method string) (n uint16, ok bool) {
	return t.lastOf, t.last.Method == method && t.last.Codec == codec && method != ""
}

// LastKey is the key that was used last.
func (t *Table) LastKey() Key { return t.last }

// Find returns the number of a key that has one.
func (t *Table) Find(k Key) (n uint16, ok bool) {
	if t.numbers != nil {
		n, ok = t.numbers[k]
	} else {
		i := slices.Index(t.bound, k)
		n, ok = uint16(max(i, 0)), i >= 0
	}
	if ok {
		t.last, t.lastOf = t.bound[n], n
	}
	return n, ok
}

// Bind gives a key that has none a number below most, which is above 0. When all are in use, it takes that of the key
// that was bound first. The key is copied: its strings may be in memory that is used again.
func (t *Table) Bind(k Key, most int) (n uint16) {
	k = Key{strings.Clone(k.Codec), strings.Clone(k.Method)}
	if len(t.bound) < most {
		n = uint16(len(t.bound))
		if t.bound == nil {
			t.bound = t.first[:0]
		}
		t.bound = append(t.bound, k)
		if t.numbers == nil && len(t.bound) > few {
			t.numbers = make(map[Key]uint16)
			for i, k := range t.bound {
				t.numbers[k] = uint16(i)
			}
		}
	} else {
		n = uint16(t.oldest)
		t.oldest = (t.oldest + 1) % most
		delete(t.numbers, t.bound[n])
		t.bound[n] = k
	}
	if t.numbers != nil {
		t.numbers[k] = n
	}
	t.last, t.lastOf = k, n
	return n
}
