package cbor_test

import (
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	fxamacker "github.com/fxamacker/cbor/v2"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/cbor"
	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

type Tree struct {
	Value       int
	Left, Right *Tree
}

func TestConformance(t *testing.T) {
	number, text := -5, "text"
	var anything any = map[any]any{"a": []any{uint64(1), -0.5, "x", nil, true, []byte{1}}, int64(-1): time.Unix(1, 2).UTC()}
	codectest.Run(t, cbor.New(), codectest.Config{
		Values: []any{
			codectest.Sample(), &codectest.Part{Name: "p", Ids: []uint16{}}, &number, &text, &anything,
			&Tree{1, &Tree{2, nil, nil}, &Tree{3, &Tree{4, nil, nil}, nil}},
			&map[string]map[int64][]bool{"a": {1: {true}}}, &[3]float32{1.5},
			big.NewInt(-1 << 62), &[]netip.Addr{netip.MustParseAddr("::1")},
		},
		Equal: func(want, got any) bool {
			if n, ok := want.(*big.Int); ok {
				return n.Cmp(got.(*big.Int)) == 0
			}
			return reflect.DeepEqual(want, got)
		},
	})
	if _, ok := cbor.New().(codec.Sizer); ok {
		t.Error("cbor may run MarshalCBOR methods, so it must not be a Sizer")
	}
}

func TestTimes(t *testing.T) {
	c := cbor.New()
	for _, want := range []time.Time{
		{}, time.Unix(0, 0), time.Unix(1<<34, 999_999_999), time.Unix(-1, 1), time.Date(1899, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)),
	} {
		body, err := c.Append(nil, &struct{ At time.Time }{want})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ At time.Time }
		if err := c.Decode(body, &got); err != nil || !got.At.Equal(want) || got.At.Location() != time.UTC {
			t.Errorf("got %v, %v; want %v in UTC", got.At, err, want)
		}
	}
}

// Seconds since 1970 reach years that the text of RFC 3339 cannot hold: they are
// read, and writing them fails on one side or the other, but never silently.
func TestTimesOfFarYears(t *testing.T) {
	c := cbor.New()
	for _, body := range []string{
		"\x1b\x00\x00\x00\x40\x00\x00\x00\x00",     // 10680, without a tag
		"\xc1\x1b\x00\x00\x00\x40\x00\x00\x00\x00", // the same with tag 1
		"\x3b\x00\x00\x00\x20\x00\x00\x00\x00",     // -2386
		"\x3b\x7f\xff\xff\xff\x30\x30\x30\x30",     // the year overflows in package time
	} {
		var far, got time.Time
		if err := c.Decode([]byte(body), &far); err != nil {
			t.Errorf("Decode(%x): %v", body, err)
		}
		text, err := c.Append(nil, far)
		if err == nil {
			err = c.Decode(text, &got)
		}
		if err == nil {
			t.Errorf("%v arrived as %v, want an error", far, got)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for body, want := range map[string]string{
		"":                     "EOF",
		"\x82\x01":             "EOF",
		"\x9a\xff\xff\xff\xff": "exceeded max number of elements",
		"\x9a\x00\x3f\xff\xff": "EOF",
		"\xba\xff\xff\xff\xff": "exceeded max number of key-value pairs",
		"\x5b\x7f\xff\xff\xff\xff\xff\xff\xffabc": "EOF",
		"\x01\x02":                          "1 bytes of extraneous data",
		strings.Repeat("\x81", 65) + "\x01": "exceeded max nested level 64",
		strings.Repeat("\x9f", 1<<20):       "exceeded max nested level 64",
		"\xa1\x81\x01\x02":                  "invalid map key type",
		"\x63\xff\xff\xff":                  "UTF-8",
	} {
		var v any
		if err := cbor.New().Decode([]byte(body), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode(%.20x): %v, want %q", body, err, want)
		}
	}
	var v any
	if err := cbor.New().Decode([]byte(strings.Repeat("\x81", 64)+"\x01"), &v); err != nil {
		t.Errorf("64 deep: %v", err)
	}
	var small struct{ A int8 }
	if err := cbor.New().Decode([]byte("\xa1\x61A\x19\x01\x2c"), &small); err == nil {
		t.Errorf("300 decoded into an int8: %d and no error", small.A)
	}
}

// kelvin decodes itself, so what it was given before Decode stays.
type kelvin struct{ offset, got float64 }

func (k *kelvin) UnmarshalCBOR(b []byte) error {
	var v float64
	err := cbor.New().Decode(b, &v)
	k.got = v + k.offset
	return err
}

func TestDecodeLeavesAnUnmarshalerItsState(t *testing.T) {
	k := kelvin{offset: 273.15}
	if err := cbor.New().Decode([]byte{0}, &k); err != nil || k.got != 273.15 {
		t.Errorf("decoded %v, %v", k.got, err)
	}
}

func FuzzDecode(f *testing.F) {
	c := cbor.New()
	for _, v := range []any{codectest.Sample(), 1, "x", []any{1, nil, map[string]any{"a": 1.5}}, time.Unix(1, 1), big.NewInt(1)} {
		body, err := c.Append(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte(strings.Repeat("\x9f", 100)))
	f.Add([]byte("\x3b\x7f\xff\xff\xff\x30\x30\x30\x30")) // TestTimesOfFarYears
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, v := range []any{new(any), new(codectest.Message), new(Tree), new([]any), new(map[string][]int), new(time.Time), new(big.Int)} {
			if c.Decode(body, v) != nil {
				continue
			}
			_, err := c.Append(nil, v)
			if err != nil && !strings.Contains(err.Error(), "time.Time formatted by Go with a wrong year") {
				t.Fatalf("a %T decoded from %x cannot be encoded: %v", v, body, err)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	c, v, dst := cbor.New(), codectest.Sample(), make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Append(dst, v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	c := cbor.New()
	body, err := c.Append(nil, codectest.Sample())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var v codectest.Message
		if err := c.Decode(body, &v); err != nil {
			b.Fatal(err)
		}
	}
}

// null leaves nothing behind, also where UnmarshalBinary is not asked.
func TestNullIntoTime(t *testing.T) {
	at := time.Unix(1, 0)
	if err := cbor.New().Decode([]byte{0xf6}, &at); err != nil || !at.IsZero() {
		t.Errorf("%v, %v; want no time", at, err)
	}
}

func TestCheckType(t *testing.T) {
	checker := cbor.New().(codec.TypeChecker)
	for v, want := range map[any]bool{
		1: true, new(codectest.Message): true, netip.Addr{}: true, struct{ At time.Time }{}: true, new(big.Int): true,
		new(struct {
			F func() `cbor:"-"`
		}): true,
		struct{}{}: true, new(fxamacker.Tag): true, new(struct{ fxamacker.RawTag }): true, new(fxamacker.SimpleValue): true,
		new(func()): false, struct{ C chan int }{}: false, new([]complex64): false,
		new(big.Float): false, struct{ R *big.Rat }{}: false, struct{ a, b int }{}: false,
	} {
		if _, err := cbor.New().Append(nil, v); (err == nil) != want {
			t.Errorf("Append of a %T: %v", v, err)
		}
		if err := checker.CheckType(reflect.TypeOf(v)); (err == nil) != want {
			t.Errorf("CheckType of a %T: %v", v, err)
		}
	}
}

type account struct {
	Name  string `weft:"1"`
	Admin bool   `weft:"-"`
}

// packed has methods for byte strings alone.
type packed account

func (p packed) MarshalBinary() ([]byte, error)     { return []byte(p.Name), nil }
func (p *packed) UnmarshalBinary(text []byte) error { p.Name = string(text); return nil }

// What the tag of weft keeps on its side is neither sent nor set, though the library would do both, also where it asks methods for byte strings.
func TestWeftTag(t *testing.T) {
	type told struct {
		Name  string `weft:"1"`
		Admin bool   `weft:"-" cbor:"-"`
		Note  string `weft:"-" json:"note"`
	}
	c := cbor.New()
	body, err := c.Append(nil, map[string]any{"Name": "a", "Admin": true, "note": "n"})
	if err != nil {
		t.Fatal(err)
	}
	if got := new(account); c.Decode(body, got) == nil || got.Admin {
		t.Errorf("decoded %+v", got)
	}
	if got := new(packed); c.Decode(body, got) == nil || got.Admin {
		t.Errorf("decoded %+v", got)
	}
	if got := new(told); c.Decode(body, got) != nil || *got != (told{Name: "a", Note: "n"}) {
		t.Errorf("decoded %+v", got)
	}
	if _, err := c.Append(nil, account{}); err == nil {
		t.Error("it is sent")
	}
	if _, err := c.Append(nil, packed{Name: "a"}); err != nil {
		t.Error(err)
	}
}

// money has bytes of its own on weft's wires, and no form in CBOR.
type money struct{ cents int64 }

func (m money) MarshalWeft(dst []byte) ([]byte, error) { return append(dst, byte(m.cents)), nil }
func (m *money) UnmarshalWeft(b []byte) error          { m.cents = int64(b[0]); return nil }

// coin has one in CBOR too.
type coin struct{ cents int64 }

func (c coin) MarshalBinary() ([]byte, error)  { return []byte{byte(c.cents)}, nil }
func (c *coin) UnmarshalBinary(b []byte) error { c.cents = int64(b[0]); return nil }

// What weft's own codecs ask for bytes would be nothing where the library sees no field, and is refused with advice.
func TestHidden(t *testing.T) {
	c := cbor.New()
	for v, want := range map[any]string{
		&money{1}: "cbor_test.money", new([]money): "cbor_test.money", &struct{ Price *money }{}: "cbor_test.money",
		&coin{1}: "", &time.Time{}: "", &struct{ Price coin }{}: "", new(big.Int): "",
	} {
		body, sent := c.Append(nil, v)
		if want != "" {
			body = []byte{0xa0}
		}
		for _, err := range []error{sent, c.Decode(body, v), c.(codec.TypeChecker).CheckType(reflect.TypeOf(v))} {
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), " is a "+want+", of which nothing would travel") || !strings.Contains(err.Error(), "MarshalCBOR")) {
				t.Errorf("%T: %v, want %q", v, err, want)
			}
		}
	}
}
