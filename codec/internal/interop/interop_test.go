package interop

import (
	"reflect"
	"testing"
	"time"

	shamaton "github.com/shamaton/msgpack/v3"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/weftrpc/weft/codec/codectest"
	weft "github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

type (
	color uint8
	point struct{ X, Y int32 }
	shape struct {
		Name    string `msgpack:"name"`
		Color   color
		Corners []point
		Center  *point
		Middle  *point
		Within  map[string]*shape
		ByID    map[int64]string
		Grid    [2][2]float32
		Note    string `msgpack:",omitempty"`
		Skip    string `msgpack:"-"`
		Any     any
		At      time.Time
		Took    time.Duration
		Raw     []byte
		Sum     [3]byte
		Flags   []bool
		Big     uint64
		Small   int64
		Ratio   float64
	}
)

func values() []any {
	square := &shape{
		Name: "square", Color: 7, Corners: []point{{1, -1}, {1 << 20, -1 << 31}}, Center: &point{},
		Within: map[string]*shape{"none": nil, "": {Name: "inner", Within: map[string]*shape{}}},
		ByID:   map[int64]string{-5: "minus", 1 << 40: "large"}, Grid: [2][2]float32{{1, 0.5}, {-2}},
		Any: "any", At: time.Unix(1_700_000_000, 123_456_789), Took: time.Hour, Raw: []byte{0, 255}, Sum: [3]byte{1, 2, 3},
		Flags: []bool{true, false}, Big: 1<<64 - 1, Small: -1 << 63, Ratio: 0.1,
	}
	return []any{
		square, &shape{}, codectest.Sample(), &codectest.Message{}, &[]*shape{square, nil}, &map[string]int8{"a": -128},
		&[]uint16{0, 127, 128, 255, 256, 65535}, &[]int16{-1, -32, -33, -128, -129, -32768},
	}
}

// plain makes the times in v comparable: the libraries differ in their location.
func plain(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			plain(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			plain(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			plain(v.MapIndex(k))
		}
	case reflect.Struct:
		if at, ok := v.Interface().(time.Time); ok {
			if v.CanSet() {
				v.Set(reflect.ValueOf(at.UTC()))
			}
			return
		}
		for i := range v.NumField() {
			plain(v.Field(i))
		}
	}
}

// tag travels as bytes, by methods of package codec, of which the other libraries know nothing.
type tag struct{ text string }

func (g tag) MarshalWeft(dst []byte) ([]byte, error) { return append(dst, g.text...), nil }
func (g *tag) UnmarshalWeft(b []byte) error          { g.text = string(b); return nil }

// TestMarshalWeft: for other libraries a value that says itself what it travels as is a byte string.
func TestMarshalWeft(t *testing.T) {
	type tags struct {
		One  tag
		List []tag
		Map  map[string]*tag
	}
	type octets struct {
		One  []byte
		List [][]byte
		Map  map[string][]byte
	}
	want, plain := tags{tag{"one"}, []tag{{""}, {"two"}}, map[string]*tag{"k": {"three"}}}, octets{[]byte("one"), [][]byte{{}, []byte("two")}, map[string][]byte{"k": []byte("three")}}
	body, err := weft.New().Append(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	for name, library := range map[string]struct {
		read  func([]byte, any) error
		write func(any) ([]byte, error)
	}{
		"vmihailenco": {msgpack.Unmarshal, msgpack.Marshal},
		"shamaton":    {func(b []byte, v any) error { return shamaton.Unmarshal(b, v) }, shamaton.Marshal},
	} {
		var read octets
		if err := library.read(body, &read); err != nil || !reflect.DeepEqual(read, plain) {
			t.Errorf("%s reads %q, %v", name, read, err)
		}
		var got tags
		theirs, err := library.write(plain)
		if err == nil {
			err = weft.New().Decode(theirs, &got)
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("from %s: %v, %v", name, got, err)
		}
	}
}

func TestBothWays(t *testing.T) {
	for _, v := range values() {
		plain(reflect.ValueOf(v))
		ours, err := weft.New().Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := msgpack.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func(got any) error{
			"vmihailenco from weft": func(got any) error { return msgpack.Unmarshal(ours, got) },
			"weft from vmihailenco": func(got any) error { return weft.New().Decode(theirs, got) },
		} {
			got := reflect.New(reflect.TypeOf(v).Elem()).Interface()
			err := read(got)
			plain(reflect.ValueOf(got))
			if err != nil || !reflect.DeepEqual(got, v) {
				t.Errorf("%s: %v\n got %+v\nwant %+v", name, err, got, v)
			}
		}
	}
}
