package codec_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
)

type large struct {
	Room [100]int64
	Next *large
	embedded
	List  []large
	Table map[string]large
	Any   any
	Own   sealed
}

type embedded struct{ Inner []*large }

// through has fields of structs that it embeds by pointers.
type through struct {
	*Far
	Own int
}

type Far struct {
	Room [100]int64
	A, B int
	*Farther
}

type Farther struct {
	More [100]int64
	C    int
}

func names(f reflect.StructField) (name string, isEmbedded bool) { return f.Name, f.Anonymous }

// count has a Tally count n values that tell it what they are, and returns what
// it says at the end, if not before.
func count(t *testing.T, v any, n int, tell func(*codec.Tally) error) error {
	t.Helper()
	rooms := codec.Rooms{Least: 1, Name: names, Fold: true, Opaque: func(t reflect.Type) bool { return t == reflect.TypeFor[sealed]() }}
	tally := rooms.Tally(n, reflect.TypeOf(v).Elem())
	if tally == nil {
		t.Fatalf("no Tally for %d bytes into a %T", n, v)
	}
	if err := tally.Begin(reflect.TypeOf(v).Elem().Kind() != reflect.Slice); err != nil {
		return err
	}
	for range n {
		if err := tell(tally); err != nil {
			return err
		}
	}
	tally.End()
	return nil
}

func TestRooms(t *testing.T) {
	empty := func(t *codec.Tally) error {
		if err := t.Begin(true); err != nil {
			return err
		}
		t.End()
		return nil
	}
	field := func(name string) func(*codec.Tally) error {
		return func(t *codec.Tally) error { t.Key([]byte(name)); return empty(t) }
	}
	// often tells so much that it would take too much memory if each time counted.
	often := func(tell func(*codec.Tally) error) func(*codec.Tally) error {
		left := 100_000
		return func(t *codec.Tally) error {
			if left--; left < 0 {
				return nil
			}
			return tell(t)
		}
	}
	const n = 1 << 20
	for name, test := range map[string]struct {
		v    any
		tell func(*codec.Tally) error
		full bool
	}{
		"structs":        {new([]large), empty, true},
		"pointers":       {new([]*large), empty, true},
		"nothing":        {new([]*large), func(*codec.Tally) error { return nil }, false},
		"fields":         {new(large), field("Next"), true},
		"folded":         {new(large), field("nexT"), true},
		"Kelvin":         {new(struct{ K *large }), field("\u212a"), true},
		"unknown":        {new(large), field("Previous"), false},
		"opaque":         {new(large), field("Own"), false},
		"map":            {new(map[string]large), field("x"), true},
		"any":            {new([]any), empty, true},
		"any of entries": {new(map[string]any), func(t *codec.Tally) error { t.Key(nil); return t.Scalar() }, false},
		"embedded": {new(large), func(t *codec.Tally) error {
			t.Key([]byte("Inner"))
			_ = t.Begin(false)
			err := empty(t)
			t.End()
			return err
		}, true},
		"embedded pointers": {new([]through), func(t *codec.Tally) error {
			_ = t.Begin(true)
			t.Key([]byte("C"))
			err := t.Scalar()
			t.End()
			return err
		}, true},
		"embedded pointers without names": {new([]through), func(t *codec.Tally) error {
			_ = t.Begin(false)
			err := t.Scalar()
			t.End()
			return err
		}, true},
		"no embedded pointer": {new([]through), often(func(t *codec.Tally) error {
			_ = t.Begin(true)
			t.Key([]byte("Own"))
			err := t.Scalar()
			t.End()
			return err
		}), false},
		"one embedded pointer": {new(through), often(func(t *codec.Tally) error {
			t.Key([]byte("A"))
			_ = t.Scalar()
			t.Key([]byte("B"))
			return t.Scalar()
		}), false},
		"array again": {new(large), func(t *codec.Tally) error {
			t.Key([]byte("Room"))
			err := t.Begin(false)
			t.End()
			return err
		}, true},
		"array": {new(large), often(func(t *codec.Tally) error {
			t.Key([]byte("Room"))
			return t.Scalar()
		}), false},
		"another type": {new([]any), func(t *codec.Tally) error { t.Into(reflect.TypeFor[large]()); return empty(t) }, true},
		"struct in a row": {new(large), func(t *codec.Tally) error {
			t.Key([]byte("Next"))
			_ = t.Begin(false)
			err := t.Scalar()
			t.End()
			return err
		}, true},
	} {
		err := count(t, test.v, n, test.tell)
		if (err != nil) != test.full {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && !strings.Contains(err.Error(), "more than 50331648 bytes of memory") {
			t.Errorf("%s: %v", name, err)
		}
	}
	rooms := codec.Rooms{Least: 1, Name: names}
	for _, v := range []any{new(int), new([]byte), new([]int64), new(struct{ A, B string }), new(map[string]string)} {
		if rooms.Tally(100<<10, reflect.TypeOf(v).Elem()) != nil {
			t.Errorf("a Tally for 100 KiB into a %T", v)
		}
	}
}

// TestRoomsTakeArrays counts legal values with arrays, which are not too much because they are arrays.
func TestRoomsTakeArrays(t *testing.T) {
	type element struct{ Names [100]string }
	rooms := codec.Rooms{Least: 1, Name: names}
	const elements = 30_000
	tally := rooms.Tally(elements*110, reflect.TypeFor[[]element]())
	if tally == nil {
		t.Fatal("no Tally")
	}
	err := tally.Begin(false)
	for range elements {
		_ = tally.Begin(true)
		tally.Key([]byte("Names"))
		_ = tally.Begin(false)
		for range 100 {
			err = tally.Scalar()
		}
		tally.End()
		tally.End()
	}
	if err != nil {
		t.Errorf("%d elements: %v", elements, err)
	}
	type single struct{ Room [40 << 20]byte }
	tally = rooms.Tally(100, reflect.TypeFor[single]())
	if tally == nil {
		t.Fatal("no Tally for an array of 40 MiB")
	}
	_ = tally.Begin(true)
	tally.Key([]byte("Room"))
	if err := tally.Begin(false); err != nil {
		t.Errorf("an array of 40 MiB: %v", err)
	}
}
