// Package codectest proves that a codec keeps the promises of [codec.Codec].
//
// A codec's test is one call:
//
//	func TestConformance(t *testing.T) {
//		codectest.Run(t, mycodec.New(), codectest.Config{
//			Values: []any{&Point{1, 2}, codectest.Sample()},
//		})
//	}
//
// Run encodes and decodes the values, alone and from many goroutines, cuts and
// corrupts every encoding, and reports what a hostile peer or a careless caller
// could make go wrong: a panic, memory that a claimed length made grow, time that
// grows faster than the body, bytes kept that belong to the caller, old data that
// shows in a new result.
package codectest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
)

// Config says what a codec is tested with.
type Config struct {
	// Values are what the codec carries: non-nil pointers, to whatever the
	// codec takes. Small and large ones, with every kind of field. At least
	// one is needed.
	Values []any

	// Equal tells whether two pointers of one type hold the same; nil means
	// reflect.DeepEqual.
	Equal func(want, got any) bool

	// Refused are values that the codec must answer with an error; nil means a
	// channel and a function.
	Refused []any

	// OpenEnded says that the format does not know its own end, as raw bytes
	// and Protocol Buffers do not, so that bytes behind a value can belong to
	// it. Otherwise they must be an error.
	OpenEnded bool

	// SameBits says that the format does not tell an int64 from a uint64 with the same 64 bits, as
	// Protocol Buffers do not.
	SameBits bool
}

// Run tests c, in subtests of t. It does not run them in parallel, since it
// measures memory.
func Run(t *testing.T, c codec.Codec, cfg Config) {
	t.Helper()
	if len(cfg.Values) == 0 {
		t.Fatal("codectest: Config.Values is empty")
	}
	if cfg.Equal == nil {
		cfg.Equal = reflect.DeepEqual
	}
	if cfg.Refused == nil {
		cfg.Refused = []any{make(chan int), func() {}}
	}
	s := &suite{c: c, cfg: cfg}
	t.Run("Name", s.name)
	t.Run("Refused", s.refused)
	t.Run("Targets", s.targets)
	t.Run("Numbers", s.numbers)
	t.Run("Cycles", s.cycles)
	for i, v := range cfg.Values {
		t.Run(fmt.Sprintf("Value%d", i), func(t *testing.T) {
			if p := reflect.ValueOf(v); p.Kind() != reflect.Pointer || p.IsNil() {
				t.Fatalf("codectest: Config.Values[%d] is a %T, want a non-nil pointer", i, v)
			}
			body := s.encode(t, v)
			t.Run("RoundTrip", func(t *testing.T) { s.roundTrip(t, v, body) })
			t.Run("Prefix", func(t *testing.T) { s.prefix(t, v) })
			t.Run("Ownership", func(t *testing.T) { s.ownership(t, v) })
			t.Run("Reuse", func(t *testing.T) { s.reuse(t, v) })
			t.Run("Sizer", func(t *testing.T) { s.sizer(t, v) })
			t.Run("Hostile", func(t *testing.T) { s.hostile(t, v, body) })
			t.Run("Overread", func(t *testing.T) { s.overread(t, v, body) })
			t.Run("WrongType", func(t *testing.T) { s.wrongType(t, body) })
			t.Run("Growth", func(t *testing.T) { s.growth(t, v, body) })
		})
	}
	t.Run("Concurrent", s.concurrent)
}

type suite struct {
	c   codec.Codec
	cfg Config
}

func (s *suite) name(t *testing.T) {
	const most, allowed = 32, "abcdefghijklmnopqrstuvwxyz0123456789-."
	name := s.c.Name()
	foreign := strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(allowed, r) })
	if name == "" || len(name) > most || foreign {
		t.Errorf("Name() = %q, want 1 to 32 characters of a-z, 0-9, '-' and '.'", name)
	}
}

// encode returns the encoding of v, or fails t.
func (s *suite) encode(t *testing.T, v any) []byte {
	t.Helper()
	body, err := s.c.Append(nil, v)
	if err != nil {
		t.Fatalf("Append of a %T: %v", v, err)
	}
	return body
}

// decode returns body decoded into a new value of the type of v, or fails t.
func (s *suite) decode(t *testing.T, body []byte, v any) any {
	t.Helper()
	got := newLike(v)
	if err := s.c.Decode(body, got); err != nil {
		t.Fatalf("Decode into a %T: %v", got, err)
	}
	return got
}

// same fails t when got does not hold what want holds.
func (s *suite) same(t *testing.T, what string, want, got any) {
	t.Helper()
	if !s.cfg.Equal(want, got) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// newLike returns a pointer to a new zero value of the type v points to.
func newLike(v any) any {
	return reflect.New(reflect.TypeOf(v).Elem()).Interface()
}
