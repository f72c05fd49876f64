package msgpack_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

type Tree struct {
	Value       int
	Left, Right *Tree
}

type Embedding struct {
	codectest.Part
	*Tree
	Name string   `msgpack:"name,omitempty"`
	Skip chan int `msgpack:"-"`
	note string   //lint:ignore U1000 an unexported field, which must not travel
}

// generated has methods such as the msgp generator writes.
type generated struct {
	name string
	n    uint64
}

func (g *generated) MarshalMsg(b []byte) ([]byte, error) {
	if g == nil {
		return append(b, 0xc0), nil
	}
	b = append(b, 0x92, 0xd9, byte(len(g.name)))
	b = append(append(b, g.name...), 0xcf)
	return binary.BigEndian.AppendUint64(b, g.n), nil
}

func (g *generated) UnmarshalMsg(b []byte) ([]byte, error) {
	if b[0] != 0x92 || b[1] != 0xd9 {
		return b, errors.New("not a generated")
	}
	g.name = string(b[3 : 3+b[2]])
	b = b[3+b[2]:]
	if b[0] != 0xcf {
		return b, errors.New("not a number")
	}
	g.n = binary.BigEndian.Uint64(b[1:])
	return b[9:], nil
}

func TestConformance(t *testing.T) {
	number, text := -5, "text"
	var anything any = map[any]any{"a": []any{uint8(1), -0.5, "x", nil, true, []byte{1}}, int8(-1): time.Unix(1, 2).UTC()}
	codectest.Run(t, msgpack.New(), codectest.Config{
		Values: []any{
			codectest.Sample(), &codectest.Part{Name: "p", Ids: []uint16{}}, &number, &text, &anything,
			&Tree{1, &Tree{2, nil, nil}, &Tree{3, &Tree{4, nil, nil}, nil}},
			&Embedding{Part: codectest.Part{Score: 1}, Tree: &Tree{Value: 3}, Name: "n"},
			&map[string]map[int64][]bool{"a": {1: {true}}}, &[3]complex128{1i},
			&generated{"first", 1 << 40},
		},
		Refused: []any{make(chan int), func() {}, struct{ A any }{make(chan int)}, &opaque{}, opaque{}},
	})
	if _, ok := msgpack.New().(codec.Sizer); ok {
		t.Error("msgpack may run MarshalMsg methods, so it must not be a Sizer")
	}
}

func TestStructsAreMaps(t *testing.T) {
	got, err := msgpack.New().Append(nil, struct {
		A int    `msgpack:"a"`
		B string `msgpack:"b,omitempty"`
		C []byte
	}{A: 1, C: []byte("x")})
	if want := "\x82\xa1a\x01\xa1C\xc4\x01x"; err != nil || string(got) != want {
		t.Errorf("Append = %q, %v; want %q", got, err, want)
	}
}

func TestTimes(t *testing.T) {
	c := msgpack.New()
	for _, want := range []time.Time{
		{}, time.Unix(0, 0), time.Unix(1<<32, 0), time.Unix(1<<34, 999_999_999), time.Unix(-1, 1),
		time.Date(1899, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)),
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

func TestCheckNamesWhatWouldBeLost(t *testing.T) {
	type withTime struct{ time.Time }
	type Loop struct {
		*Loop
		A int
	}
	for want, v := range map[string]any{
		"msgpack_test.withTime.Time would be lost": withTime{},
		"struct { A []struct { N msgpack_test.opaque } }.A.N would be lost, since msgpack_test.opaque has no exported field": struct{ A []struct{ N opaque } }{},
		"what is in struct { msgpack_test.hidden; Name string }.hidden would be lost": struct {
			hidden
			Name string
		}{},
		".Ärger would be lost":                    struct{ Ärger int }{},
		".F is a func(), which cannot be encoded": struct{ F func() }{},
		"which embeds itself":                     Loop{},
	} {
		if _, err := msgpack.New().Append(nil, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Append of a %T: %v, want %q", v, err, want)
		}
		target := reflect.New(reflect.TypeOf(v)).Interface()
		if err := msgpack.New().Decode([]byte{0x80}, target); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode into a %T: %v, want %q", target, err, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for body, want := range map[string]string{
		"":                                  "at byte 0: body ends within a value",
		"\xc1":                              "at byte 0: byte 0xc1 begins no value",
		"\x93\x01\x02":                      "at byte 0: 3 elements claimed, 2 bytes are left",
		"\xdd\xff\xff\xff\xff":              "4294967295 elements claimed, 0 bytes are left",
		"\xdf\xff\xff\xff\xffabcdefghijkl":  "8589934590 elements claimed, 12 bytes are left",
		"\xdb\x7f\xff\xff\xffabc":           "body ends within a value",
		"\xc9\xff\xff\xff\xff\x01abc":       "body ends within a value",
		"\x01\x02":                          "1 bytes behind the value",
		strings.Repeat("\x91", 65) + "\x01": "nesting deeper than 64",
		strings.Repeat("\x81\x01", 1<<20) + "\x01": "nesting deeper than 64",
	} {
		var v any
		err := msgpack.New().Decode([]byte(body), &v)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode(%.20q): %v, want %q", body, err, want)
		}
	}
	var v any
	if err := msgpack.New().Decode([]byte(strings.Repeat("\x91", 64)+"\x01"), &v); err != nil {
		t.Errorf("64 deep: %v", err)
	}
}

func TestTypeConfusionIsAnError(t *testing.T) {
	for _, v := range []any{new([]int), new([4]string), new(error), new(map[[1]any]int), new(generated)} {
		for _, body := range []string{"\xc4\x02ab", "\x92\xc4\x01a\x90", "\x81\x91\x90\x01", "\xa2ab"} {
			// Whatever the answer, it is not a panic.
			_ = msgpack.New().Decode([]byte(body), v)
		}
	}
	if err := msgpack.New().Decode([]byte("\xc4\x02ab"), new([]int)); err == nil || !strings.Contains(err.Error(), "*[]int") {
		t.Errorf("bytes decoded into a []int: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	c := msgpack.New()
	for _, v := range []any{codectest.Sample(), 1, "x", []any{1, nil, map[string]any{"a": 1.5}}, time.Unix(1, 1), &generated{"x", 1}} {
		body, err := c.Append(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add(bytes.Repeat([]byte{0x91}, 100))
	f.Add([]byte("\xc7\x0c\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, v := range []any{new(any), new(codectest.Message), new(Embedding), new([]any), new(map[string][]int), new(time.Time), new([]complex64)} {
			if c.Decode(body, v) != nil {
				continue
			}
			again, err := c.Append(nil, v)
			if err != nil {
				t.Fatalf("a %T decoded from %x cannot be encoded: %v", v, body, err)
			}
			if err := c.Decode(again, v); err != nil {
				t.Fatalf("a %T decoded from %x, encoded as %x, cannot be decoded: %v", v, body, again, err)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	c, v, dst := msgpack.New(), codectest.Sample(), make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Append(dst, v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	c := msgpack.New()
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

// opaque has nothing that could travel.
type opaque struct {
	n int //lint:ignore U1000 what would be lost
}

// Two fields with one name are an error, where encoding/json would send one of them or neither, unless one is less deep in embedded structs:
// that hides the others as it does in Go.
func TestOneName(t *testing.T) {
	type (
		Two  struct{ X, A int }
		Twin struct{ X, B int }
		Both struct {
			Two
			Twin
		}
		Deepest struct{ X, C int }
		Deeper  struct{ Deepest }
		Tagged  struct {
			Y int `msgpack:"X"`
		}
	)
	c := msgpack.New()
	v := struct {
		Both
		X int
	}{Both{Two{1, 2}, Twin{3, 4}}, 5}
	body, err := c.Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	if err := c.Decode(body, &got); err != nil || !maps.Equal(got, map[string]int{"A": 2, "B": 4, "X": 5}) {
		t.Errorf("%+v travels as %v, %v", v, got, err)
	}
	for _, tt := range []struct {
		typ  any
		want string // both fields, and the name
	}{
		{struct {
			A int
			B int `msgpack:"A"`
		}{}, `}.A and .*}.B would be lost, since both are called "A"`},
		{struct {
			A int `msgpack:"x"`
			B int `msgpack:"x"`
			C int
		}{}, `}.A and .*}.B would be lost, since both are called "x"`},
		{struct {
			Two
			Twin
		}{}, `}.Two.X and .*}.Twin.X would be lost, since both are called "X"`},
		{struct {
			Two
			Tagged // encoding/json would send this one
		}{}, `}.Two.X and .*}.Tagged.Y would be lost, since both are called "X"`},
		{struct {
			Both
			Deeper
		}{}, `}.Both.Two.X and .*}.Both.Twin.X would be lost`},
		{struct{ In []Both }{}, `}.In.Two.X and .*}.In.Twin.X would be lost`},
	} {
		err := c.(codec.TypeChecker).CheckType(reflect.TypeOf(tt.typ))
		if err == nil || !regexp.MustCompile(tt.want).MatchString(err.Error()) {
			t.Errorf("%T: %v, want %s", tt.typ, err, tt.want)
		}
	}
}

// The tag `weft:"-"` keeps a field out of MessagePack too, unless a tag of this codec says that it travels.
func TestWeftTag(t *testing.T) {
	type message struct {
		A    int       `weft:"1"`
		Skip string    `weft:"-" msgpack:",omitempty"`
		Done chan bool `weft:"-"`
		Kept string    `weft:"-" msgpack:"kept"`
	}
	c := msgpack.New()
	body, err := c.Append(nil, &message{A: 1, Skip: "s", Kept: "k"})
	if err != nil {
		t.Fatal(err)
	}
	fields := make(map[string]any)
	if err := c.Decode(body, &fields); err != nil || len(fields) != 2 || fields["kept"] != "k" {
		t.Errorf("it travels as %v, %v", fields, err)
	}
	body, err = c.Append(nil, map[string]any{"A": 1, "Skip": "from the peer", "kept": "k"})
	if err != nil {
		t.Fatal(err)
	}
	got := message{Skip: "of before"}
	if err := c.Decode(body, &got); err != nil || got != (message{A: 1, Kept: "k"}) {
		t.Errorf("decoded %+v, %v", got, err)
	}
	if err := c.(codec.Reuser).DecodeReuse(body, &got); err != nil || got != (message{A: 1, Kept: "k"}) {
		t.Errorf("decoded again %+v, %v", got, err)
	}
}

// hidden has a field that encoding/json would carry where it is embedded.
type hidden struct{ ID int }

// A value is encoded as a pointer to it is.
func TestGeneratedByValue(t *testing.T) {
	c, want := msgpack.New(), generated{"n", 7}
	body, err := c.Append(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	var got generated
	if err := c.Decode(body, &got); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}
