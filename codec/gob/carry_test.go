package gob_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gob"
)

type (
	hidden struct{ _, _ int }
	mixed  struct {
		C chan int
		F func()
		A int
	}
	unsent struct {
		C chan int
		_ func()
	}
	looping []looping
	own     struct{ _ int }
)

func (own) GobEncode() ([]byte, error) { return nil, nil }

// TestCheckType: types whose values encoding/gob never takes are told.
func TestCheckType(t *testing.T) {
	c := gob.New().(codec.TypeChecker)
	for _, v := range []any{1, "", &struct{}{}, &mixed{}, new(looping), &own{}, []own{}, new(any), map[string]*mixed{}, &Outer{}, new(complex64), struct{ H hidden }{}} {
		if err := c.CheckType(reflect.TypeOf(v)); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}
	for _, v := range []any{make(chan int), func() {}, &hidden{}, &unsent{}, []chan int{}, map[string][]func(){}, new([2]hidden), map[hidden]int{}} {
		for range 2 {
			if err := c.CheckType(reflect.TypeOf(v)); err == nil || !strings.Contains(err.Error(), "codec/gob: ") {
				t.Errorf("%T: %v, want an error", v, err)
			}
		}
		if _, err := gob.New().Append(nil, v); err == nil {
			t.Errorf("%T was encoded", v)
		}
	}
	if err := c.CheckType(nil); err != nil {
		t.Error(err)
	}
	mixedType := reflect.TypeFor[mixed]()
	if n := testing.AllocsPerRun(100, func() { _ = c.CheckType(mixedType) }); n != 0 {
		t.Errorf("CheckType of a type that is known: %v allocations", n)
	}
}
