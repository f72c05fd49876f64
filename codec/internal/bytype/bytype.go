// Package bytype finds what is known of the type of a value, which a codec does for each message.
package bytype

import (
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft/codec/internal/memory"
)

// Table holds what is known of types. There are no more entries than types in the program, and none is ever
// removed. The zero value is empty; it may be used concurrently.
type Table struct {
	recent [1 << recentBits]atomic.Pointer[entry]
	all    sync.Map // reflect.Type to *entry
}

// recentBits are the bits of the index of a type that was used recently.
const recentBits = 5

type entry struct {
	word  uint64
	typ   reflect.Type
	known any
}

// slot is where a type may be found at once.
func (t *Table) slot(word uint64) *atomic.Pointer[entry] {
	// The upper bits of the product depend on all bits of the word.
	return &t.recent[word*0x9e3779b97f4a7c15>>(64-recentBits)]
}

// Load returns what was stored for the type of v, or nil.
func (t *Table) Load(v any) any {
	word := memory.TypeWord(v)
	if e := t.slot(word).Load(); e != nil && e.word == word && (memory.Words || e.typ == reflect.TypeOf(v)) {
		return e.known
	}
	return t.load(word, v)
}

//go:noinline
func (t *Table) load(word uint64, v any) any {
	known, ok := t.all.Load(reflect.TypeOf(v))
	if !ok {
		return nil
	}
	e := known.(*entry)
	if e.word != word { // it was stored by a type alone
		e = &entry{word, e.typ, e.known}
		t.all.Store(e.typ, e) // for types that share the slot
	}
	t.slot(word).Store(e)
	return e.known
}

// LoadType is Load for a value of the type typ, in more time.
func (t *Table) LoadType(typ reflect.Type) any {
	if known, ok := t.all.Load(typ); ok {
		return known.(*entry).known
	}
	return nil
}

// Store stores what is known of a type, which is not nil, unless something is stored already, and returns what is.
func (t *Table) Store(typ reflect.Type, known any) any {
	e, _ := t.all.LoadOrStore(typ, &entry{typ: typ, known: known})
	return e.(*entry).known
}
