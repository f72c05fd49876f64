package msgpack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/weftrpc/weft/codec"
)

// equalButEmpty reports whether values are equal, where nil lists and maps equal empty
// ones, and a NaN a NaN.
func equalButEmpty(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() || a.IsValid() && a.Type() != b.Type() {
		return false
	}
	if !a.IsValid() {
		return true
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		return a.IsNil() == b.IsNil() && (a.IsNil() || equalButEmpty(a.Elem(), b.Elem()))
	case reflect.Struct:
		for i := range a.NumField() {
			if !equalButEmpty(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		for i := range min(a.Len(), b.Len()) {
			if !equalButEmpty(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return a.Len() == b.Len()
	case reflect.Map:
		nans := false
		for entries := a.MapRange(); entries.Next(); {
			v := b.MapIndex(entries.Key())
			if nans = nans || !entries.Key().Equal(entries.Key()); !nans && (!v.IsValid() || !equalButEmpty(entries.Value(), v)) {
				return false
			}
		}
		return a.Len() == b.Len()
	case reflect.Float32, reflect.Float64:
		return a.Float() == b.Float() || a.Float() != a.Float() && b.Float() != b.Float()
	case reflect.Complex64, reflect.Complex128:
		return fmt.Sprint(a) == fmt.Sprint(b)
	}
	return a.Equal(b)
}

// compareReuse decodes body into a fresh value and over used, and compares them.
func compareReuse(t *testing.T, body []byte, used any) {
	t.Helper()
	c := New()
	fresh := reflect.New(reflect.TypeOf(used).Elem())
	before := bytes.Clone(body)
	err, errUsed := c.Decode(body, fresh.Interface()), c.(codec.Reuser).DecodeReuse(body, used)
	if fmt.Sprint(err) != fmt.Sprint(errUsed) {
		t.Fatalf("%x into a %T: %v, over an older value: %v", body, used, err, errUsed)
	}
	if err == nil && !equalButEmpty(fresh.Elem(), reflect.ValueOf(used).Elem()) {
		t.Fatalf("%x\n is %+v\nand %+v over an older value", body, fresh.Elem(), reflect.ValueOf(used).Elem())
	}
	if !bytes.Equal(body, before) {
		t.Fatalf("%x was changed to %x", before, body)
	}
}

// TestReuse decodes whole and changed bodies of all kinds of types over older values.
func TestReuse(t *testing.T) {
	r, c := rand.New(rand.NewPCG(8, 9)), New()
	for _, used := range subjects() {
		for range 150 {
			data := make([]byte, r.IntN(400))
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			body, err := c.Append(nil, valueOf(reflect.TypeOf(used).Elem(), data, 3))
			if err != nil {
				t.Fatal(err)
			}
			compareReuse(t, body, used)
			for range 10 {
				b := bytes.Clone(body)
				for range 1 + r.IntN(3) {
					b[r.IntN(len(b))] = byte(r.Uint32())
				}
				b = b[:len(b)-r.IntN(2)*r.IntN(len(b))]
				compareReuse(t, b[:len(b):len(b)], used)
			}
		}
	}
}

// TestReuseResetsAll has fields that do not travel.
func TestReuseResetsAll(t *testing.T) {
	type inner struct {
		A    []int
		note string
	}
	type outer struct {
		In   inner
		List []inner
		Skip any `msgpack:"-"`
	}
	body, err := New().Append(nil, &outer{List: []inner{{A: []int{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	used := &outer{In: inner{[]int{2}, "old"}, List: []inner{{[]int{3}, "old"}}, Skip: "old"}
	compareReuse(t, body, used)
}

// TestReuseOfShared has two parts of a message in one memory: lists and maps are decoded into it, and what pointers point
// to is new.
func TestReuseOfShared(t *testing.T) {
	type part struct{ N int }
	type whole struct {
		First, Last  *part
		Ints, More   []int
		Table, Other map[string]int
	}
	body, err := New().Append(nil, &whole{&part{1}, &part{2}, []int{1, 2}, []int{3}, map[string]int{"a": 1}, map[string]int{"b": 2}})
	if err != nil {
		t.Fatal(err)
	}
	p, list, table := new(part), make([]int, 2), make(map[string]int)
	used := &whole{p, p, list, list, table, table}
	if err := New().(codec.Reuser).DecodeReuse(body, used); err != nil {
		t.Fatal(err)
	}
	both := map[string]int{"a": 1, "b": 2}
	if want := (&whole{&part{1}, &part{2}, []int{3, 2}, []int{3}, both, both}); !reflect.DeepEqual(used, want) {
		t.Errorf("%+v, want %+v", used, want)
	}
}

func TestReuseKeepsMemory(t *testing.T) {
	type line struct {
		Name  string
		Notes []string
	}
	type sheet struct {
		Title  string
		Raw    []byte
		Lines  []line
		Counts map[string]int
	}
	body, err := New().Append(nil, &sheet{"title", []byte("raw"), []line{{"a", []string{"b", "c"}}, {"d", nil}}, map[string]int{}})
	if err != nil {
		t.Fatal(err)
	}
	used, c := new(sheet), New().(codec.Reuser)
	if err := c.DecodeReuse(body, used); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = c.DecodeReuse(body, used) }); n > 0 && !purego {
		t.Errorf("%v allocations", n)
	}
}

// TestReuseOfLargeMaps: a map that one message has made large is not emptied again and again, which takes as long as it was large.
func TestReuseOfLargeMaps(t *testing.T) {
	type holder struct {
		Common map[string]int
		Other  map[int]string
	}
	for _, n := range []int{10, 5000} {
		sent := holder{make(map[string]int), make(map[int]string)}
		for i := range n {
			sent.Common[fmt.Sprint(i)], sent.Other[i] = i, "x"
		}
		var used holder
		c := New().(codec.Reuser)
		if err := c.DecodeReuse(encoded(t, sent), &used); err != nil || len(used.Common) != n || len(used.Other) != n {
			t.Fatalf("%d and %d entries, want %d, %v", len(used.Common), len(used.Other), n, err)
		}
		if err := c.DecodeReuse([]byte("\x80"), &used); err != nil || len(used.Common)+len(used.Other) != 0 || (used.Common != nil) != (n == 10) || (used.Other != nil) != (n == 10) {
			t.Errorf("%d entries, then none: %v, %v, %v", n, used.Common == nil, used.Other == nil, err)
		}
	}
}
