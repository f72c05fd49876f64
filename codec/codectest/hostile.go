package codectest

import (
	"fmt"
	"iter"
	"reflect"
	"runtime/metrics"
	"testing"

	"github.com/weftrpc/weft/codec"
)

const (
	// allocFloor is what one Decode of a corrupted body may always allocate.
	allocFloor = 64 << 10
	// allocFactor is how many times the body's length, and what Decode of the
	// sound body allocates, may come on top of that.
	allocFactor = 16
	// wholeBits is how many leading bytes Mutations flips all eight bits of.
	wholeBits = 256
)

// Mutations yields what a broken or hostile peer could send in place of body:
// every shorter prefix; then body with one bit flipped, for every bit of the
// first 256 bytes and one bit of each later byte; then body with each byte set
// to 0x00, 0x7f and 0xff. The slice is overwritten by the next step.
func Mutations(body []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		b := append([]byte(nil), body...)
		for n := range b {
			if !yield(b[:n:n]) {
				return
			}
		}
		for i, was := range body {
			for bit := range 8 {
				if i >= wholeBits && bit != i%8 {
					continue
				}
				b[i] = was ^ 1<<bit
				if !yield(b) {
					return
				}
			}
			for _, c := range []byte{0x00, 0x7f, 0xff} {
				b[i] = c
				if c != was && !yield(b) {
					return
				}
			}
			b[i] = was
		}
	}
}

// hostile decodes what could arrive in place of body. Some of it is another
// valid value; all of it must leave the process standing and its memory small.
func (s *suite) hostile(t *testing.T, v any, body []byte) {
	const samples = 8
	before := allocated()
	for range samples {
		s.decode(t, body, v)
	}
	bound := allocFloor + allocFactor*(uint64(len(body))+(allocated()-before)/samples)

	for b := range Mutations(body) {
		// Other goroutines may allocate meanwhile, so only what happens three
		// times in a row counts.
		var used uint64
		for range 3 {
			before := allocated()
			if err := safely(func() error { return s.c.Decode(b, newLike(v)) }); isPanic(err) {
				t.Fatalf("Decode panics: %v\nbody: %x", err, b)
			}
			if used = allocated() - before; used <= bound {
				break
			}
		}
		if used > bound {
			t.Fatalf("Decode of %d bytes allocates %d bytes, want at most %d\nbody: %x", len(b), used, bound, b)
		}
	}
}

// overread decodes each shorter prefix of body, with the rest of body behind
// it and without. That rest belongs to others, so it must make no difference.
func (s *suite) overread(t *testing.T, v any, body []byte) {
	for n := range body {
		open, clipped := newLike(v), newLike(v)
		err := safely(func() error { return s.c.Decode(body[:n], open) })
		alone := safely(func() error { return s.c.Decode(body[:n:n], clipped) })
		if (err == nil) != (alone == nil) {
			t.Fatalf("Decode of %d bytes: %v with other bytes behind them, %v without", n, err, alone)
		}
		if err == nil {
			s.same(t, "a value decoded with other bytes behind the body", clipped, open)
		}
	}
}

// wrongType decodes body into types it was not made from.
func (s *suite) wrongType(t *testing.T, body []byte) {
	for _, v := range append(foreign(), s.cfg.Values...) {
		got := newLike(v)
		if err := safely(func() error { return s.c.Decode(body, got) }); isPanic(err) {
			t.Errorf("Decode into a %T panics: %v", got, err)
		}
	}
}

// foreign returns pointers to one type of each kind that a body may not fit.
func foreign() []any {
	type list struct{ Next *list }
	return []any{
		new(bool), new(int8), new(uint16), new(float32), new(complex64), new(string), new([]byte),
		new([]int), new([]string), new([3]string), new([4]byte), new(map[string]int), new(map[any]any),
		new(map[int]struct{ A []string }), new(any), new(error), new(fmt.Stringer), new(struct{}),
		new(*int), new(list), new(chan int), new(func()), new(struct{ C chan int }),
	}
}

func (s *suite) refused(t *testing.T) {
	for _, v := range s.cfg.Refused {
		err := safely(func() error { _, err := s.c.Append(nil, v); return err })
		if err == nil || isPanic(err) {
			t.Errorf("Append of a %T: %v, want an error", v, err)
		}
		if sizer, ok := s.c.(codec.Sizer); ok {
			err := safely(func() error {
				if n, ok := sizer.Size(v); ok {
					return fmt.Errorf("says %d", n)
				}
				return nil
			})
			if err != nil {
				t.Errorf("Size of a %T: %v, want none", v, err)
			}
		}
	}
}

// targets decodes into what cannot be decoded into.
func (s *suite) targets(t *testing.T) {
	v := s.cfg.Values[0]
	body := s.encode(t, v)
	for _, target := range []any{
		nil,
		reflect.ValueOf(v).Elem().Interface(), // not a pointer
		reflect.Zero(reflect.TypeOf(v)).Interface(), // a nil pointer
	} {
		err := safely(func() error { return s.c.Decode(body, target) })
		if err == nil || isPanic(err) {
			t.Errorf("Decode into %T(%v): %v, want an error", target, target, err)
		}
	}
	// What Append does with no value is the codec's choice, but it does it alive.
	for _, v := range []any{nil, reflect.Zero(reflect.TypeOf(v)).Interface()} {
		if err := safely(func() error { _, err := s.c.Append(nil, v); return err }); isPanic(err) {
			t.Errorf("Append of %T(%v) panics: %v", v, v, err)
		}
		sizer, ok := s.c.(codec.Sizer)
		if !ok {
			continue
		}
		if err := safely(func() error { sizer.Size(v); return nil }); isPanic(err) {
			t.Errorf("Size of %T(%v) panics: %v", v, v, err)
		}
	}
}

type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func isPanic(err error) bool {
	_, ok := err.(*panicError)
	return ok
}

// safely returns what f returns, or its panic as an error.
func safely(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{r}
		}
	}()
	return f()
}

// allocated returns how many bytes the process has allocated so far.
func allocated() uint64 {
	sample := [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample[:])
	return sample[0].Value.Uint64()
}

func sameType(a, b any) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) }
