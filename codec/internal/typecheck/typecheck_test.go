package typecheck

import (
	"reflect"
	"strings"
	"sync"
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
	inner  struct{ F func() }
	outer  struct{ inner }
	hidden struct{ A int }
	secret struct{ a int } //lint:ignore U1000 not exported
	around struct {
		*around //lint:ignore U1000 embedded
		secret  //lint:ignore U1000 embedded
		nothing //lint:ignore U1000 embedded
	}
	nothing struct{}
	guarded struct {
		sync.Mutex
		A    int
		Skip sync.Mutex `a:"-"`
	}
	holding struct {
		Parts map[string][]*struct{ Done chan bool }
	}
)

func TestCheck(t *testing.T) {
	is := func(t reflect.Type) bool { return t == reflect.TypeFor[*own]() }
	c := &Checker{
		Tags: []string{"a", "b"}, Self: is, SelfDecoded: is,
		Key: func(t reflect.Type) bool { return t.Kind() != reflect.Bool },
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
	if err := (&Checker{Self: is, SelfDecoded: is}).Check(reflect.TypeFor[map[chan int]int]()); err == nil {
		t.Error("a channel as a key is accepted")
	}
	for v, want := range map[any]string{
		new(nothing):                       "",
		struct{}{}:                         "",
		new(map[string]struct{}):           "",
		struct{ hidden }{}:                 "",
		struct{ *own }{}:                   "",
		&guarded{}:                         "",
		struct{ E secret }{}:               "struct { E typecheck.secret }.E is a typecheck.secret, without an exported field, which cannot be encoded",
		new(secret):                        "typecheck.secret is a typecheck.secret, without an exported field, which cannot be encoded",
		new(around):                        "typecheck.around is a typecheck.around, without an exported field, which cannot be encoded",
		new([]struct{ sync.Mutex }):        "[]struct { sync.Mutex } is a struct { sync.Mutex }, without an exported field, which cannot be encoded",
		new(map[string]struct{ a, b int }): "map[string]struct { a int; b int } is a struct { a int; b int }, without an exported field, which cannot be encoded",
	} {
		strict := &Checker{Tags: c.Tags, Self: is, SelfDecoded: is, Lost: true}
		if err := strict.Check(reflect.TypeOf(v)); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("Check of a %T: %v, want %q", v, err, want)
		}
		if err := c.Check(reflect.TypeOf(v)); err != nil {
			t.Errorf("Check of a %T by a codec that takes all structs: %v", v, err)
		}
	}
	if err := c.Check(nil); err != nil {
		t.Errorf("Check of no type: %v", err)
	}
}

// A field that the tag of weft keeps on its side is not encoded, and not set by what a peer sends, unless a tag of the library says more.
func TestStray(t *testing.T) {
	type (
		rights struct {
			Name  string `weft:"1"`
			Admin bool   `weft:"-" a:",omitempty"`
		}
		told struct {
			A string    `weft:"-" a:"-"`
			B string    `weft:"-" b:"b,omitempty"`
			c string    `weft:"-"` //lint:ignore U1000 not exported
			D []*rights `b:"-"`
			e rights    //lint:ignore U1000 not exported
		}
		around struct {
			List map[string][]*rights `a:",omitempty"`
			Done chan bool
		}
		inner struct{ rights }
		list  []string //lint:ignore U1000 no struct
		kept  struct {
			Name   string `weft:"1"`
			rights `weft:"-"`
		}
		pointed struct {
			*rights `weft:"-"`
		}
		secret struct{ a int } //lint:ignore U1000 not exported
		quiet  struct {
			secret `weft:"-"` //lint:ignore U1000 it has nothing to carry
			list   `weft:"-"` //lint:ignore U1000 it is no struct
		}
	)
	is := func(t reflect.Type) bool { return t == reflect.TypeFor[*own]() }
	c := &Checker{Tags: []string{"a", "b"}, Self: is, SelfDecoded: is}
	const advice = " has the tag `weft:\"-\"` and would travel: give it `b:\"-\"` too, or `b:\"Admin\"` to have it sent"
	for v, want := range map[any]string{
		&rights{}:  "typecheck.rights.Admin" + advice,
		&told{}:    "",
		&own{}:     "",
		&around{}:  "typecheck.around.List.Admin" + advice,
		&inner{}:   "typecheck.inner.rights.Admin" + advice,
		&kept{}:    "typecheck.kept.rights" + strings.ReplaceAll(advice, "Admin", "rights"),
		&pointed{}: "typecheck.pointed.rights" + strings.ReplaceAll(advice, "Admin", "rights"),
		&quiet{}:   "",
	} {
		for _, err := range []error{c.CheckEncode(reflect.TypeOf(v)), c.CheckDecode(reflect.TypeOf(v)), c.Check(reflect.TypeOf(v))} {
			if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
				t.Errorf("%T: %v, want %q", v, err, want)
			}
		}
	}
	if err := c.CheckDecode(reflect.TypeFor[chan int]()); err != nil {
		t.Errorf("what cannot be encoded is not decoded either: %v", err)
	}
}
