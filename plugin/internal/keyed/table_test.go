package keyed_test

import (
	"slices"
	"testing"

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
