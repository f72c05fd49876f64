package codectest

import (
	"math"
	"reflect"
	"testing"
)

// holder has a number where most messages have theirs.
type holder[T any] struct{ N T }

// hold returns a pointer to v in a struct.
func hold[T any](v T) any { return &holder[T]{v} }

// tooLarge pairs a value with a pointer to a variable that cannot hold its number.
type tooLarge struct{ value, target any }

// overflows lists numbers with targets that are too small for them, as they are
// and in a struct. All numbers are of the widest type of their kind, so that the
// codecs which tell signed numbers from unsigned ones find the size wrong.
func overflows() []tooLarge {
	var all []tooLarge
	for _, n := range []int64{math.MaxInt8 + 1, math.MinInt8 - 1, math.MaxInt16 + 1, math.MinInt16 - 1, math.MaxInt32 + 1, math.MinInt32 - 1} {
		if n > math.MaxInt32 || n < math.MinInt32 {
			all = append(all, tooLarge{&n, new(int32)}, tooLarge{hold(n), new(holder[int32])})
			if math.MaxInt == math.MaxInt32 {
				all = append(all, tooLarge{&n, new(int)}, tooLarge{hold(n), new(holder[int])})
			}
		}
		if n > math.MaxInt16 || n < math.MinInt16 {
			all = append(all, tooLarge{&n, new(int16)}, tooLarge{hold(n), new(holder[int16])})
		}
		all = append(all, tooLarge{&n, new(int8)}, tooLarge{hold(n), new(holder[int8])})
	}
	for _, n := range []uint64{math.MaxUint8 + 1, math.MaxUint16 + 1, math.MaxUint32 + 1, math.MaxInt64 + 1} {
		if n > math.MaxUint32 {
			all = append(all, tooLarge{&n, new(uint32)}, tooLarge{hold(n), new(holder[uint32])})
			if math.MaxUint == math.MaxUint32 {
				all = append(all, tooLarge{&n, new(uint)}, tooLarge{hold(n), new(holder[uint])})
			}
		}
		if n > math.MaxUint16 {
			all = append(all, tooLarge{&n, new(uint16)}, tooLarge{hold(n), new(holder[uint16])})
		}
		if n > math.MaxInt64 {
			all = append(all, tooLarge{&n, new(int64)}, tooLarge{hold(n), new(holder[int64])})
		}
		all = append(all, tooLarge{&n, new(uint8)}, tooLarge{hold(n), new(holder[uint8])})
	}
	negative, wide := int64(-1), 1e300
	return append(all,
		tooLarge{&negative, new(uint8)}, tooLarge{hold(negative), new(holder[uint8])},
		tooLarge{&negative, new(uint16)}, tooLarge{hold(negative), new(holder[uint16])},
		tooLarge{&negative, new(uint32)}, tooLarge{hold(negative), new(holder[uint32])},
		tooLarge{&negative, new(uint64)}, tooLarge{hold(negative), new(holder[uint64])},
		tooLarge{&negative, new(uint)}, tooLarge{hold(negative), new(holder[uint])},
		tooLarge{&wide, new(float32)}, tooLarge{hold(wide), new(holder[float32])},
		tooLarge{&[]int64{1, 300}, new([]int8)}, tooLarge{&map[string]int64{"a": 300}, new(map[string]int8)})
}

// numbers tests that a number which its receiver cannot hold is an error, and
// not another number. A codec that does not carry numbers as such passes.
func (s *suite) numbers(t *testing.T) {
	for _, o := range overflows() {
		if s.cfg.SameBits && has64Bits(o.target) {
			continue
		}
		body, err := s.c.Append(nil, o.value)
		if err != nil || s.c.Decode(body, newLike(o.value)) != nil {
			continue
		}
		switch err := safely(func() error { return s.c.Decode(body, o.target) }); {
		case isPanic(err):
			t.Errorf("Decode of %v into a %T panics: %v", reflect.ValueOf(o.value).Elem(), o.target, err)
		case err == nil:
			t.Errorf("Decode of %v into a %T: %v, want an error", reflect.ValueOf(o.value).Elem(), o.target, reflect.ValueOf(o.target).Elem())
		}
	}
}

// has64Bits reports whether p points to an integer of 64 bits, or to a struct of one.
func has64Bits(p any) bool {
	t := reflect.TypeOf(p).Elem()
	if t.Kind() == reflect.Struct {
		t = t.Field(0).Type
	}
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 && t.Bits() == 64
}
