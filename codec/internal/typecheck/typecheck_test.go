package typecheck

import (
	"reflect"
	"testing"
	"time"
)

type (
	loop struct {
		Next *loop
		All  []map[string]loop
	}
	own     struct{ C chan int }
	skipped struct {
		C chan int `a:"-"`
		F func()   `b:"f,omitempty"`
		n chan int //lint:ignore U1000 not exported
		I any
	}
	inner   struct{ F func() }
	outer   struct{ inner }
	holding struct {
		Parts map[string][]*struct{ Done chan bool }
	}
)

func TestCheck(t *testing.T) {
	c := &Checker{
		Tags: []string{"a", "b"},
		Self: func(t reflect.Type) bool { return t == reflect.TypeFor[*own]() },
		Key:  func(t reflect.Type) bool { return t.Kind() != reflect.Bool },
	}
	for v, want := range map[any]string{
		1:                      "",
		new(loop):              "",
		new(own):               "",
		new(skipped):           "",
		time.Time{}:            "",
		new(any):               "",
		new(map[bool]int):      "map[bool]int is a map with keys of type bool, which cannot be encoded",
		new(func()):            "func() is a func(), which cannot be encoded",
		&outer{}:               "typecheck.outer.inner.F is a func(), which cannot be encoded",
		new(holding):           "typecheck.holding.Parts.Done is a chan bool, which cannot be encoded",
		new([2]complex64):      "[2]complex64 is a complex64, which cannot be encoded",
		struct{ C chan int }{}: "struct { C chan int }.C is a chan int, which cannot be encoded",
	} {
		for range 2 { // the second time it is remembered
			if err := c.Check(reflect.TypeOf(v)); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
				t.Errorf("Check of a %T: %v, want %q", v, err, want)
			}
		}
	}
	if err := (&Checker{Self: func(reflect.Type) bool { return false }}).Check(reflect.TypeFor[map[chan int]int]()); err == nil {
		t.Error("a channel as a key is accepted")
	}
	if err := c.Check(nil); err != nil {
		t.Errorf("Check of no type: %v", err)
	}
}
