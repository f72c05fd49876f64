package keyed_test

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/weftrpc/weft/plugin/internal/keyed"
)

// The key that was used longest ago makes room, unless its value is in use.
func TestTable(t *testing.T) {
	table := keyed.New[string, int](2)
	idle := func(v *int) bool { return *v == 0 }
	*table.Add("a", idle) = 1
	*table.Add("b", idle) = 0
	if table.Get("c") != nil || table.Get("a") == nil {
		t.Fatal("Get does not tell known keys from others")
	}
	if v := table.Add("c", idle); v == nil || *v != 0 { // in place of b
		t.Fatal("there was no room for c")
	}
	table.Get("c")
	if table.Add("d", idle) != nil { // a is in use
		t.Fatal("a key that is in use made room")
	}
	if *table.Add("d", nil) = 4; table.Get("a") != nil || table.Len() != 2 {
		t.Fatal("a did not make room")
	}
	var keys []string
	for k := range table.All() {
		keys = append(keys, k)
		table.Delete(k)
	}
	if !slices.Equal(keys, []string{"d", "c"}) || table.Len() != 0 {
		t.Error(keys, table.Len())
	}
	if keyed.New[string, int](0).Add("a", nil) != nil {
		t.Error("a table of no keys took one")
	}
}

// A key that is kept is a copy: the caller's may be in memory that is used again.
func TestTableKeepsCopies(t *testing.T) {
	memory := []byte("first")
	key := unsafe.String(&memory[0], len(memory))
	table := keyed.New[string, int](2)
	*table.Add(key, nil) = 1
	copy(memory, "other")
	*table.Add(key, nil) = 2
	first, other := table.Get("first"), table.Get("other")
	if first == nil || other == nil || *first != 1 || *other != 2 {
		t.Errorf("of first and other %v and %v are kept", first, other)
	}
}
