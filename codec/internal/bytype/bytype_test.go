package bytype

import (
	"reflect"
	"sync"
	"testing"

	"github.com/weftrpc/weft/codec/internal/memory"
)

// TestTable has more types than slots, which share them, and pointers beside what they point to.
func TestTable(t *testing.T) {
	var table Table
	var values []any
	for n := range 100 {
		array := reflect.New(reflect.ArrayOf(n, reflect.TypeFor[int]()))
		values = append(values, array.Interface(), array.Elem().Interface())
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 3 {
				for _, v := range values {
					typ := reflect.TypeOf(v)
					known := table.Load(v)
					if known == nil {
						known = table.Store(typ, typ)
					}
					if known != typ || table.Load(v) != known || table.LoadType(typ) != known {
						t.Errorf("of a %s the table knows %s", typ, known)
					}
				}
			}
		})
	}
	all.Wait()
	if table.Load(nil) != nil || table.Load(t) != nil || table.LoadType(nil) != nil {
		t.Error("there is something of types that were not stored")
	}
	first := table.Load(values[0])
	if other := reflect.TypeOf(t); table.Store(reflect.TypeOf(values[0]), other) != first {
		t.Error("what was stored was replaced")
	}
}

// TestOneSlot: of types that share a slot each is found without new memory.
func TestOneSlot(t *testing.T) {
	var table Table
	bySlot := make(map[any]any)
	for n := 0; ; n++ {
		v := reflect.New(reflect.ArrayOf(n, reflect.TypeFor[int]())).Interface()
		table.Store(reflect.TypeOf(v), n)
		slot := table.slot(memory.TypeWord(v))
		other := bySlot[slot]
		if bySlot[slot] = v; other == nil {
			continue
		}
		if allocs := testing.AllocsPerRun(100, func() {
			if table.Load(other) == nil || table.Load(v) == nil {
				t.Error("a type is not found")
			}
		}); allocs != 0 {
			t.Errorf("%v allocations for a %T and a %T", allocs, other, v)
		}
		return
	}
}
