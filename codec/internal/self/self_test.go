package self

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// own has the methods of package codec, and others.
type own struct{ Text string }

func (o own) MarshalWeft(dst []byte) ([]byte, error) { return append(dst, o.Text...), nil }
func (o *own) UnmarshalWeft(b []byte) error          { o.Text = string(b); return nil }
func (o own) MarshalText() ([]byte, error)           { return nil, nil }
func (o *own) UnmarshalText([]byte) error            { return nil }

// word is no struct, so that MarshalText does not count.
type word string

func (word) MarshalText() ([]byte, error) { return nil, nil }
func (*word) UnmarshalText([]byte) error  { return nil }

// shorter returns less than it gets.
type shorter struct{}

func (shorter) MarshalWeft([]byte) ([]byte, error) { return nil, nil }
func (*shorter) UnmarshalWeft([]byte) error        { return nil }

type (
	outer  struct{ own }
	within struct{ *own }
	any1   struct {
		interface1
		A int
	}
	interface1 interface {
		MarshalWeft(dst []byte) ([]byte, error)
		UnmarshalWeft(b []byte) error
	}
	half  struct{}
	other struct{}
)

func (half) UnmarshalWeft([]byte) error    { return nil }
func (other) MarshalWeft() ([]byte, error) { return nil, nil }
func (*other) UnmarshalWeft([]byte) error  { return nil }

func TestOf(t *testing.T) {
	for typ, want := range map[reflect.Type]Form{
		reflect.TypeFor[own](): Weft, reflect.TypeFor[netip.Addr](): Binary, reflect.TypeFor[big.Int](): Text, reflect.TypeFor[word](): None, reflect.TypeFor[time.Time](): None,
		reflect.TypeFor[*own](): None, reflect.TypeFor[interface1](): None, reflect.TypeFor[outer](): None, reflect.TypeFor[within](): None, reflect.TypeFor[any1](): None,
		reflect.TypeFor[half](): None, reflect.TypeFor[other](): None, reflect.TypeFor[int](): None, reflect.TypeFor[[]own](): None,
	} {
		if got := Of(typ); got != want {
			t.Errorf("%v: %d, want %d", typ, got, want)
		}
		wrong := typ == reflect.TypeFor[half]() || typ == reflect.TypeFor[other]()
		if err := Check(typ); (err != nil) != wrong || wrong && !strings.Contains(err.Error(), "needs both of MarshalWeft(") {
			t.Errorf("%v: %v", typ, err)
		}
	}
}

func TestMethods(t *testing.T) {
	b, err := Weft.Append([]byte("x"), &own{"text"})
	if err != nil || string(b) != "xtext" {
		t.Errorf("%q, %v", b, err)
	}
	var o own
	if err := Weft.Set(&o, b[1:]); err != nil || o.Text != "text" {
		t.Errorf("%q, %v", o.Text, err)
	}
	if b, err := Weft.Append([]byte("x"), &shorter{}); err == nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
	if err := Binary.Set(new(netip.Addr), []byte("?")); err == nil || !strings.HasPrefix(err.Error(), "UnmarshalBinary of a netip.Addr: ") {
		t.Error(err)
	}
	var n big.Int
	if b, err = Text.Append(nil, big.NewInt(-5)); err != nil || Text.Set(&n, b) != nil || n.Int64() != -5 {
		t.Errorf("%q, %v, %v", b, err, &n)
	}
}

// wordy has an error with all of its value in it.
type wordy struct{}

var errWordy = errors.New("as always")

func (wordy) MarshalWeft(dst []byte) ([]byte, error) { return dst, nil }
func (*wordy) UnmarshalWeft(b []byte) error          { return fmt.Errorf("%s is wrong: %w", b, errWordy) }

// TestLongErrors: the errors of the values around it would hold a copy of a long text each.
func TestLongErrors(t *testing.T) {
	for _, n := range []int{1, 10, 100, 1000, 100_000} {
		text := strings.Repeat("é", n)
		err := Weft.Set(&wordy{}, []byte(text))
		if !errors.Is(err, errWordy) || len(err.Error()) > 600 || !utf8.ValidString(err.Error()) || !strings.HasPrefix(err.Error(), "UnmarshalWeft of a self.wordy: é") {
			t.Errorf("%d: %.700v", n, err)
		}
		if whole := text + " is wrong: as always"; n <= 100 && !strings.HasSuffix(err.Error(), whole) {
			t.Errorf("%d: %v", n, err)
		}
	}
}
