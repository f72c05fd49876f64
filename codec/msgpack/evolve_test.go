package msgpack_test

import (
	"encoding/binary"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/msgpack"
)

// convert encodes from and decodes it into a new T.
func convert[T any](t *testing.T, from any) T {
	t.Helper()
	var to T
	body, err := msgpack.New().Append(nil, from)
	if err == nil {
		err = msgpack.New().Decode(body, &to)
	}
	if err != nil {
		t.Fatalf("%+v into a %T: %v", from, to, err)
	}
	return to
}

// Fields match by name, so either side may be the newer one.
func TestEvolution(t *testing.T) {
	type first struct {
		ID    int32
		Name  string
		Price float32
	}
	type second struct {
		Added []string
		Label string `msgpack:"Name"` // renamed in Go alone
		Price float64
		ID    int64 // widened, and moved
		More  map[string]*first
	}
	old := first{7, "seven", 1.5}
	if got, want := convert[second](t, old), (second{ID: 7, Label: "seven", Price: 1.5}); !reflect.DeepEqual(got, want) {
		t.Errorf("an old one is read as %+v, want %+v", got, want)
	}
	young := second{ID: 7, Label: "seven", Price: 1.5, Added: []string{"x"}, More: map[string]*first{"a": &old, "b": nil}}
	if got := convert[first](t, young); got != old {
		t.Errorf("a new one is read as %+v, want %+v", got, old)
	}
	type other struct{ Title string }
	if got := convert[other](t, old); got != (other{}) {
		t.Errorf("a struct of which no field matches is read as %+v", got)
	}
	if got := convert[first](t, map[string]any{"ID": 7, "Name": nil, "id": 9}); got != (first{ID: 7}) {
		t.Errorf("a map is read as %+v", got)
	}
	if got := convert[*first](t, (*first)(nil)); got != nil {
		t.Errorf("nil is read as %+v", got)
	}
	if got := convert[first](t, nil); got != (first{}) {
		t.Errorf("nil is read as %+v", got)
	}
}

// A field that comes twice has its last value, and nothing of the first.
func TestFieldsThatComeTwice(t *testing.T) {
	type inner struct{ A, B int }
	type outer struct {
		S inner
		P *inner
		M map[string]int
		L []inner
		R [2]int
	}
	body := "\x8a" + "\xa1S\x82\xa1A\x01\xa1B\x02" + "\xa1P\x82\xa1A\x01\xa1B\x02" + "\xa1M\x81\xa1x\x01" + "\xa1L\x91\x81\xa1A\x01" + "\xa1R\x92\x01\x02" +
		"\xa1S\x81\xa1B\x03" + "\xa1P\x81\xa1B\x03" + "\xa1M\x81\xa1y\x03" + "\xa1L\x91\x81\xa1B\x03" + "\xa1R\x91\x03"
	want := outer{inner{0, 3}, &inner{0, 3}, map[string]int{"y": 3}, []inner{{0, 3}}, [2]int{3, 0}}
	var got outer
	if err := msgpack.New().Decode([]byte(body), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// TestArraysThatComeAgain: a field of a few bytes does not clear a large array again and again.
func TestArraysThatComeAgain(t *testing.T) {
	type large struct {
		A [1 << 16]int64
		B int
	}
	for _, test := range []struct {
		entry   string
		n       int
		refused bool
	}{
		{"\xa1A\xc0", 1 << 16, true}, {"\xa1A\x90", 1 << 16, true}, {"\xa1A\x91\x07", 1 << 16, true}, {"\xa1A\x90", 100, false}, {"\xa1B\x01", 1 << 16, false},
	} {
		body := append(binary.BigEndian.AppendUint32([]byte{0xdf}, uint32(test.n)), strings.Repeat(test.entry, test.n)...)
		for how, decode := range map[string]func([]byte, any) error{"Decode": msgpack.New().Decode, "DecodeReuse": msgpack.New().(codec.Reuser).DecodeReuse} {
			err := decode(body, new(large))
			if refused := err != nil && strings.Contains(err.Error(), "fields that come more than once"); refused != test.refused || !refused && err != nil {
				t.Errorf("%s of %d times %q: %v", how, test.n, test.entry, err)
			}
		}
	}
}

type (
	// reading has fields of its own beside what its embedded type marshals.
	reading struct {
		netip.Addr `msgpack:"addr"`
		Port       uint16
	}
	level int // travels as a number, whatever its text is
	// bits marshals itself, and is a key, too.
	bits struct{ n uint8 }
)

func (l level) MarshalText() ([]byte, error)  { return []byte("level"), nil }
func (l *level) UnmarshalText(b []byte) error { *l = level(len(b)); return nil }

func (b bits) MarshalText() ([]byte, error)  { return []byte(strings.Repeat("x", int(b.n))), nil }
func (b *bits) UnmarshalText(s []byte) error { b.n = uint8(len(s)); return nil }

func TestTypesThatEncodeThemselves(t *testing.T) {
	type message struct {
		Addr    netip.Addr
		Addrs   []netip.AddrPort
		ByAddr  map[netip.Prefix]*big.Int
		Big     big.Int
		None    *big.Float
		URL     *url.URL
		Reading reading
		Level   level
		Keys    map[bits]bits
		Msg     generated
		Msgs    []*generated
		Wait    time.Duration
	}
	want := message{
		Addr:    netip.MustParseAddr("10.0.0.1"),
		Addrs:   []netip.AddrPort{netip.MustParseAddrPort("[::1]:80")},
		ByAddr:  map[netip.Prefix]*big.Int{netip.MustParsePrefix("10.0.0.0/8"): big.NewInt(-5)},
		Big:     *new(big.Int).Lsh(big.NewInt(1), 100),
		URL:     &url.URL{Scheme: "http", Host: "x", User: url.User("me")},
		Reading: reading{netip.MustParseAddr("::2"), 7},
		Level:   9,
		Keys:    map[bits]bits{{3}: {4}},
		Msg:     generated{"m", 5},
		Msgs:    []*generated{{"n", 6}, nil},
		Wait:    time.Second,
	}
	if got := convert[message](t, &want); !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if got := convert[map[string]any](t, want); got["Level"] != uint8(9) || got["Big"] != want.Big.String() || got["Wait"] != uint32(1e9) ||
		!reflect.DeepEqual(got["Addr"], []byte{10, 0, 0, 1}) || !reflect.DeepEqual(got["Msg"], []any{"m", uint64(5)}) {
		t.Errorf("on the wire it is %+v", got)
	}
	for _, bad := range []any{map[string]any{"Addr": "x"}, map[string]any{"Big": "x"}, map[string]any{"Msg": 1}, map[string]any{"Addr": 1}} {
		body, err := msgpack.New().Append(nil, bad)
		if err != nil {
			t.Fatal(err)
		}
		if err := msgpack.New().Decode(body, new(message)); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

// broken writes no value.
type broken struct{}

func (broken) MarshalMsg(b []byte) ([]byte, error)   { return append(b, 0x92, 1), nil }
func (broken) UnmarshalMsg(b []byte) ([]byte, error) { return nil, nil }

// careless panics.
type careless struct{}

func (careless) MarshalMsg([]byte) ([]byte, error)   { panic("careless") }
func (careless) UnmarshalMsg([]byte) ([]byte, error) { panic("careless") }

func TestBrokenMethods(t *testing.T) {
	for _, v := range []any{[]broken{{}}, broken{}, careless{}, &careless{}} {
		if body, err := msgpack.New().Append(nil, v); err == nil {
			t.Errorf("Append of a %T: %x", v, body)
		}
	}
	if err := msgpack.New().Decode([]byte{1}, new(careless)); err == nil {
		t.Error("a panic in UnmarshalMsg is no error")
	}
}

// Texts share memory, but no byte of it.
func TestTextsAreApart(t *testing.T) {
	type texts struct {
		A string
		B []byte
		C string
		D []byte
		E string
	}
	for _, n := range []int{1, 100, 1023, 1024, 5000, 100_000} {
		want := texts{strings.Repeat("a", n), []byte(strings.Repeat("b", n)), strings.Repeat("c", n), []byte(strings.Repeat("d", n)), "e"}
		got := convert[texts](t, want)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("texts of %d bytes arrive changed", n)
		}
		for _, b := range [][]byte{got.B, got.D} {
			for i := range b {
				b[i] = 'X'
			}
			_ = append(b, "YYYYYYYY"...)
		}
		if got.A != want.A || got.C != want.C || got.E != want.E {
			t.Errorf("texts of %d bytes change with the bytes beside them", n)
		}
	}
}

// A list that is longer than the memory which its claim is worth at once.
func TestLargeElements(t *testing.T) {
	type large struct {
		N    int        `msgpack:",omitempty"`
		Room [512]int64 `msgpack:",omitempty"`
	}
	want := make([]large, 5000)
	want[0].N, want[4999].N = 1, 2
	if got := convert[[]large](t, want); !reflect.DeepEqual(got, want) {
		t.Error("the list arrives changed")
	}
}

type recursive struct {
	All  []recursive
	Any  any
	Text map[string][]any
}

// Lists within lists that all claim to be long share one claim: what is
// announced, at whatever depth, is not more than the bytes that came.
func TestNestedClaims(t *testing.T) {
	const size = 1 << 20
	var table strings.Builder
	for range 30 {
		table.WriteString("\x81\xa3All\xdd\x00\x0f\xff\x00")
	}
	for body, v := range map[string]any{
		strings.Repeat("\xdd\x00\x0f\xf0\x00", 60):        new(any),
		strings.Repeat("\xdf\x00\x07\x00\x00\x01", 60):    new(any),
		strings.Repeat("\xdd\x00\x0f\xf0\x00", 60) + "x":  new([]any),
		strings.Repeat("\xdd\x00\x0f\xf0\x00", 60) + "xx": new([][][][][]any),
		strings.Repeat("\xdf\x00\x07\x00\x00\xa1x", 60):   new(map[string]any),
		table.String(): new(recursive),
	} {
		body := append([]byte(body), make([]byte, size)...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := msgpack.New().Decode(body, v)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; err == nil || used > 100*size {
			t.Errorf("into a %T: %v, and %d bytes for a body of %d", v, err, used, len(body))
		}
	}
}
