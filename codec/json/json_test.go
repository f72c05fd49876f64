package json_test

import (
	"bytes"
	stdjson "encoding/json"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestConformance(t *testing.T) {
	var any1 any = map[string]any{"a": []any{1.5, "x", nil, true}}
	text, number := "<a> & \"b\"\n", 7
	codectest.Run(t, json.New(), codectest.Config{
		Values:  []any{codectest.Sample(), &codectest.Message{}, &codectest.Part{Name: "p"}, &any1, &text, &number, &map[string]int{"a": 1}},
		Refused: []any{make(chan int), func() {}, math.NaN(), map[bool]int{true: 1}},
	})
	if _, ok := json.New().(codec.Sizer); ok {
		t.Error("json runs MarshalJSON methods, so it must not be a Sizer")
	}
}

func TestAppendWritesPlainJSON(t *testing.T) {
	for v, want := range map[any]string{
		"<b>&</b>":        `"<b>&</b>"`,
		1.5:               `1.5`,
		nil:               `null`,
		[2]string{"", ""}: `["",""]`,
	} {
		if got, err := json.New().Append(nil, v); err != nil || string(got) != want {
			t.Errorf("Append(%v) = %s, %v; want %s", v, got, err, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for body, want := range map[string]string{
		``:                                   "unexpected end",
		`{`:                                  "unexpected end",
		`{"A":1}}`:                           "invalid character '}' after top-level value",
		`{"A":"x"}`:                          "cannot unmarshal string",
		`{"A":1e99}`:                         "cannot unmarshal number",
		nest(codec.MaxDepth + 1):             "nesting deeper than 64 at byte 64",
		`{"A":` + nest(codec.MaxDepth) + `}`: "nesting deeper than 64 at byte 68",
	} {
		var v struct{ A int }
		if err := json.New().Decode([]byte(body), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode(%.40s): %v, want %q", body, err, want)
		}
	}
}

func TestDecodeAtTheDepthLimit(t *testing.T) {
	flat := "[" + strings.Repeat(`{"[[[[":"\"[{"},`, 200) + "{}]"
	for _, body := range []string{nest(codec.MaxDepth), flat} {
		var v any
		if err := json.New().Decode([]byte(body), &v); err != nil {
			t.Errorf("Decode(%.40s): %v", body, err)
		}
	}
}

// stopwatch decodes itself, so what it was given before Decode stays.
type stopwatch struct {
	unit time.Duration
	got  time.Duration
}

func (s *stopwatch) UnmarshalJSON(b []byte) error {
	var n int64
	err := stdjson.Unmarshal(b, &n)
	s.got = time.Duration(n) * s.unit
	return err
}

func TestDecodeLeavesAnUnmarshalerItsState(t *testing.T) {
	s := stopwatch{unit: time.Second}
	if err := json.New().Decode([]byte("3"), &s); err != nil || s.got != 3*time.Second {
		t.Errorf("decoded %v, %v; want 3s", s.got, err)
	}
}

func TestCheckType(t *testing.T) {
	checker := json.New().(codec.TypeChecker)
	for v, want := range map[any]bool{
		1: true, new(codectest.Message): true, netip.Addr{}: true, struct{ At time.Time }{}: true, new(map[netip.Addr]int): true,
		new(struct {
			F func() `json:"-"`
		}): true,
		new(func()): false, struct{ C chan int }{}: false, new(map[float64]int): false, new([]complex64): false,
	} {
		if err := checker.CheckType(reflect.TypeOf(v)); (err == nil) != want {
			t.Errorf("CheckType of a %T: %v", v, err)
		}
	}
}

func nest(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "null", "0", `"\u00e9\""`, `{"Field1":"x","Parts":[{"Ids":[1]}]}`, nest(64), nest(65), `{"a":{"b":[1,2,{"c":"[["}]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var msg codectest.Message
		_ = json.New().Decode(body, &msg)

		var got any
		err := json.New().Decode(body, &got)
		var want any
		if stdjson.Unmarshal(body, &want) != nil {
			if err == nil {
				t.Fatalf("Decode(%q) accepts what encoding/json refuses", body)
			}
			return
		}
		if depth := depthOf(body); (depth > codec.MaxDepth) != (err != nil) {
			t.Fatalf("Decode(%q): %v, but the nesting is %d deep", body, err, depth)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("Decode(%q) = %v, want %v", body, got, want)
		}
	})
}

// depthOf returns how deep the valid JSON text body nests.
func depthOf(body []byte) int {
	depth, deepest := 0, 0
	for d := stdjson.NewDecoder(bytes.NewReader(body)); ; {
		token, err := d.Token()
		switch token {
		case stdjson.Delim('['), stdjson.Delim('{'):
			depth++
			deepest = max(deepest, depth)
		case stdjson.Delim(']'), stdjson.Delim('}'):
			depth--
		}
		if err != nil {
			return deepest
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	c, v, dst := json.New(), codectest.Sample(), make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Append(dst, v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	c := json.New()
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

// null is not asked of UnmarshalText, and leaves nothing behind all the same.
func TestNullIntoText(t *testing.T) {
	addr := netip.MustParseAddr("10.0.0.1")
	if err := json.New().Decode([]byte("null"), &addr); err != nil || addr.IsValid() {
		t.Errorf("%v, %v; want no address", addr, err)
	}
}

func TestOverflow(t *testing.T) {
	for body, targets := range map[string][]any{
		"5000000000":           {new(int32), new(uint32), new(*int8)},
		"-1":                   {new(uint8), new(uint64)},
		"256":                  {new(uint8), new(int8)},
		"9223372036854775808":  {new(int64), new(int)},
		"1e300":                {new(float32), new(int)},
		"1e400":                {new(float64), new(any)},
		"1.5":                  {new(int)},
		"[5000000000]":         {new([]int32), new([1]int32)},
		`{"A":5000000000}`:     {new(struct{ A int32 }), new(map[string]int32)},
		`{"5000000000":1}`:     {new(map[int32]int)},
		"18446744073709551616": {new(uint64)},
	} {
		for _, v := range targets {
			if err := json.New().Decode([]byte(body), v); err == nil {
				t.Errorf("%s into a %T: no error", body, v)
			}
		}
	}
}

func TestCyclicValues(t *testing.T) {
	type list struct{ Next *list }
	ring := &list{}
	ring.Next = ring
	slice := []any{nil}
	slice[0] = slice
	table := map[string]any{}
	table["self"] = table
	for _, v := range []any{ring, slice, table} {
		if _, err := json.New().Append(nil, v); err == nil || !strings.Contains(err.Error(), "contains itself") {
			t.Errorf("Append of a cyclic %T: %v", v, err)
		}
	}
}

// A value that does not contain itself and nests deep is an error too: encoding/json would follow it until the stack is full, which
// ends the process.
func TestDeepValues(t *testing.T) {
	type list struct{ Next *list }
	chain := &list{}
	var boxes any
	for range 1_000_000 {
		chain = &list{chain}
		boxes = []any{boxes}
	}
	for _, v := range []any{chain, boxes} {
		if _, err := json.New().Append(nil, v); err == nil || !strings.Contains(err.Error(), "nests deeper than 64") {
			t.Errorf("Append of a deep %T: %v", v, err)
		}
	}
}

// What nests as deep as Decode allows can be encoded, also where structs are embedded, which are no objects of their own.
func TestDeepestValue(t *testing.T) {
	type base struct {
		Data  []byte
		Names []string
	}
	type node struct {
		base
		Next *node
	}
	body := strings.Repeat(`{"Data":"aGk=","Names":null,"Next":`, codec.MaxDepth-1) + `{"Data":"aGk=","Names":["a"],"Next":null}` + strings.Repeat("}", codec.MaxDepth-1)
	var n node
	if err := json.New().Decode([]byte(body), &n); err == nil {
		t.Error("a list within the 64th object was decoded")
	}
	body = strings.Replace(body, `["a"]`, "null", 1)
	if err := json.New().Decode([]byte(body), &n); err != nil {
		t.Fatal(err)
	}
	got, err := json.New().Append(nil, &n)
	if err != nil || string(got) != body {
		t.Errorf("the value was encoded as %.60s…: %v", got, err)
	}
	last := &n
	for last.Next != nil {
		last = last.Next
	}
	last.Names = []string{"a"}
	if _, err := json.New().Append(nil, &n); err == nil {
		t.Error("a list within the 64th object was encoded")
	}
}

// What the tag of weft keeps on its side is neither sent nor set, though encoding/json would do both.
func TestWeftTag(t *testing.T) {
	type account struct {
		Name  string `weft:"1"`
		Admin bool   `weft:"-"`
	}
	type told struct {
		Name  string `weft:"1"`
		Admin bool   `weft:"-" json:"-"`
		Note  string `weft:"-" json:"note"`
	}
	c := json.New()
	const want = "codec/json: json_test.account.Admin has the tag `weft:\"-\"` and would travel: give it `json:\"-\"` too, or `json:\"Admin\"` to have it sent"
	got := new(account)
	if err := c.Decode([]byte(`{"Name":"a","Admin":true}`), got); err == nil || err.Error() != want || got.Admin {
		t.Errorf("decoded %+v, %v", got, err)
	}
	if _, err := c.Append(nil, []account{{}}); err == nil {
		t.Error("it is sent")
	}
	body, err := c.Append(nil, told{"a", true, "n"})
	if err != nil || string(body) != `{"Name":"a","note":"n"}` {
		t.Errorf("sent as %s, %v", body, err)
	}
}

// masked is sent as its name alone.
type masked struct {
	Name  string `weft:"1"`
	Admin bool   `weft:"-"`
}

func (m masked) MarshalText() ([]byte, error) { return []byte(m.Name), nil }

type rights struct{ Admin bool }

// A method that encodes a type does not keep its fields from being set, and of an embedded struct that is not exported they are.
func TestWeftTagSet(t *testing.T) {
	type account struct {
		Name   string `weft:"1"`
		rights `weft:"-"`
	}
	c := json.New()
	body := []byte(`{"Name":"a","Admin":true}`)
	if got := new(masked); c.Decode(body, got) == nil || got.Admin {
		t.Errorf("decoded %+v", got)
	}
	if got := new(account); c.Decode(body, got) == nil || got.Admin {
		t.Errorf("decoded %+v", got)
	}
	if body, err := c.Append(nil, masked{Name: "a"}); err != nil || string(body) != `"a"` {
		t.Errorf("sent as %s, %v", body, err)
	}
}

// money has bytes of its own on weft's wires, and no form in JSON.
type money struct{ cents int64 }

func (m money) MarshalWeft(dst []byte) ([]byte, error) { return append(dst, byte(m.cents)), nil }
func (m *money) UnmarshalWeft(b []byte) error          { m.cents = int64(b[0]); return nil }

// told has a form in JSON too.
type told struct{ money }

func (m told) MarshalText() ([]byte, error)         { return []byte{byte('0' + m.cents)}, nil }
func (m *told) UnmarshalText(b []byte) error        { m.cents = int64(b[0] - '0'); return nil }
func (told) MarshalWeft(dst []byte) ([]byte, error) { return dst, nil }
func (*told) UnmarshalWeft([]byte) error            { return nil }

// open has an exported field, of a struct that is embedded.
type open struct{ rights }

func (open) MarshalBinary() ([]byte, error) { return nil, nil }
func (*open) UnmarshalBinary([]byte) error  { return nil }

// locked has none but a mutex.
type locked struct {
	sync.Mutex
	cents int64 //lint:ignore U1000 lost
}

func (*locked) MarshalBinary() ([]byte, error) { return nil, nil }
func (*locked) UnmarshalBinary([]byte) error   { return nil }

// What weft's own codecs ask for bytes would travel as {} where encoding/json sees no field.
func TestHidden(t *testing.T) {
	c := json.New()
	plain := c.(interface{ Plain() codec.Codec }).Plain()
	for v, want := range map[any]string{
		&money{1}: "json_test.money", new([]money): "json_test.money", new(map[string]*money): "json_test.money", &struct{ Price money }{}: "json_test.money",
		&struct{ Own *locked }{}: "json_test.locked",
		&told{}:                  "", &open{}: "", &time.Time{}: "", new(netip.Addr): "", &struct{ price money }{}: "", new(map[netip.Addr]told): "",
		&struct {
			Price money `json:"-"`
		}{}: "",
	} {
		for _, c := range []codec.Codec{c, plain} {
			body, sent := c.Append(nil, v)
			if want != "" {
				body = []byte("{}")
			}
			for _, err := range []error{sent, c.Decode(body, v), c.(codec.TypeChecker).CheckType(reflect.TypeOf(v))} {
				if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), " is a "+want+", of which nothing would travel") || !strings.Contains(err.Error(), "MarshalJSON")) {
					t.Errorf("%T: %v, want %q", v, err, want)
				}
			}
		}
	}
}
