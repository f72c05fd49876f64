package wellknown

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const room = 1 << 30

// sample is a value of every kind.
func sample() any {
	return map[string]any{"null": nil, "number": -1.5, "text": "text", "": strings.Repeat("é", 100), "true": true, "false": false,
		"list": []any{nil, 0.0, []any{}, map[string]any{}}, "table": map[string]any{"a": map[string]any{"b": []any{1.0}}}}
}

// TestValue has google's code read what AppendValue writes, and the reverse.
func TestValue(t *testing.T) {
	body, err := AppendValue(nil, sample(), 100)
	if err != nil {
		t.Fatal(err)
	}
	var theirs structpb.Value
	if err := proto.Unmarshal(body, &theirs); err != nil || !reflect.DeepEqual(theirs.AsInterface(), sample()) {
		t.Errorf("google reads %v, %v", theirs.AsInterface(), err)
	}
	if body, err = proto.Marshal(&theirs); err != nil {
		t.Fatal(err)
	}
	if got, left, err := Value(body, nil, 100, room); err != nil || left >= room || !reflect.DeepEqual(got, sample()) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestTypes has values of types that are not those that are read.
func TestTypes(t *testing.T) {
	type word string
	seven := 7
	for _, c := range []struct{ v, want any }{
		{7, 7.0}, {int8(-7), -7.0}, {uint64(1 << 53), float64(1 << 53)}, {int64(math.MinInt64), -float64(1 << 63)}, {float32(0.5), 0.5}, {word("x"), "x"},
		{&seven, 7.0}, {(*int)(nil), nil}, {[]string{"a"}, []any{"a"}}, {[]int(nil), nil}, {[2]bool{true}, []any{true, false}}, {map[word]int{"a": 1}, map[string]any{"a": 1.0}},
		{map[string]any(nil), nil}, {map[word]int(nil), nil}, {[]any(nil), nil}, {[]error{nil}, []any{nil}}, {time.Second, 1e9},
	} {
		body, err := AppendValue(nil, c.v, 100)
		if err != nil {
			t.Errorf("%v: %v", c.v, err)
			continue
		}
		if got, _, err := Value(body, nil, 100, room); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%T %v: %#v, %v", c.v, c.v, got, err)
		}
	}
	for _, c := range []struct {
		v    any
		want string
	}{
		{int64(1<<53 + 1), "9007199254740993 has no form"}, {int64(math.MaxInt64), "has no form"}, {uint64(math.MaxUint64), "has no form"}, {[]byte("x"), "[]uint8 in an any has no form"},
		{[2]byte{}, "has no form"}, {time.Time{}, "a time.Time in an any"}, {map[int]any{}, "map[int]interface {} in an any"}, {[]any{1, func() {}}, "[1]: a func() in an any"},
		{map[string]any{"k": struct{}{}}, `["k"]: a struct {} in an any`}, {complex(1, 1), "complex128"},
	} {
		if _, err := AppendValue(nil, c.v, 100); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %s", c.v, err, c.want)
		}
	}
}

// strange reports whether a message has what google's code treats in another way: fields of other wire types, and texts that are not UTF-8.
func strange(v *structpb.Value) bool {
	if len(v.ProtoReflect().GetUnknown()) > 0 {
		return true
	}
	for _, e := range v.GetListValue().GetValues() {
		if strange(e) {
			return true
		}
	}
	for _, e := range v.GetStructValue().GetFields() {
		if strange(e) {
			return true
		}
	}
	return len(v.GetListValue().ProtoReflect().GetUnknown())+len(v.GetStructValue().ProtoReflect().GetUnknown()) > 0
}

// check compares what Value reads with what google's code does.
func check(t *testing.T, body []byte) (good bool) {
	t.Helper()
	var theirs structpb.Value
	wantErr := proto.UnmarshalOptions{RecursionLimit: 100}.Unmarshal(body, &theirs)
	got, _, err := Value(body, nil, 100, room)
	switch {
	case wantErr == nil && err != nil && !strings.Contains(err.Error(), "wire type"):
		t.Fatalf("%x: %v; google reads %v", body, err, &theirs)
	case wantErr != nil && err == nil && utf8.Valid(body):
		t.Fatalf("%x: %v; google: %v", body, got, wantErr)
	case wantErr != nil || err != nil || strange(&theirs):
		return false
	}
	if want := fmt.Sprint(theirs.AsInterface()); fmt.Sprint(got) != want {
		t.Fatalf("%x: %v, want %v", body, got, want)
	}
	return true
}

func TestChanged(t *testing.T) {
	r, good := rand.New(rand.NewPCG(1, 2)), 0
	body, err := AppendValue(nil, []any{sample(), sample()}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		b := append([]byte(nil), body...)
		for range r.IntN(4) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		if check(t, b[:len(b)-r.IntN(2)*r.IntN(len(b))]) {
			good++
		}
	}
	if good < 250 {
		t.Errorf("only %d changed bodies were good", good)
	}
}

// TestDepth nests lists and maps around the limit, where google's code has it.
func TestDepth(t *testing.T) {
	wrap := func(number protowire.Number, body []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), body)
	}
	for depth := 20; depth < 60; depth++ {
		lists, tables := []byte(nil), []byte(nil)
		for range depth {
			lists, tables = wrap(6, wrap(1, lists)), wrap(5, wrap(1, wrap(2, tables)))
		}
		check(t, lists)
		check(t, tables)
		check(t, wrap(6, lists))
		check(t, wrap(5, tables))
	}
	var v any
	for depth := range 60 {
		body, err := AppendValue(nil, v, 100)
		if (err == nil) != (depth < 50) {
			t.Errorf("%d lists: %v", depth, err)
		}
		if err == nil && !check(t, body) {
			t.Errorf("%d lists are not read", depth)
		}
		v = []any{v}
	}
	v = nil
	for depth := range 60 {
		body, err := AppendValue(nil, v, 100)
		if (err == nil) != (depth < 34) {
			t.Errorf("%d maps: %v", depth, err)
		}
		if err == nil && !check(t, body) {
			t.Errorf("%d maps are not read", depth)
		}
		v = map[string]any{"": v}
	}
}

func TestRoom(t *testing.T) {
	body, err := AppendValue(nil, sample(), 100)
	if err != nil {
		t.Fatal(err)
	}
	_, left, err := Value(body, nil, 100, room)
	if err != nil {
		t.Fatal(err)
	}
	for n := range room - left {
		if _, left, err := Value(body, nil, 100, n); err == nil || left >= 0 {
			t.Fatalf("%d bytes are enough, of which %d are left", n, left)
		}
	}
}

// TestSeconds compares times and durations with those of google's code.
func TestSeconds(t *testing.T) {
	for _, c := range [][2]int64{{0, 0}, {1, 5}, {-1, -5}, {-1, 5}, {1, -5}, {1 << 40, 0}, {-62135596800, 0}, {253402300799, 999999999}, {253402300800, 0}, {0, 1e9}, {9223372036, 854775807}, {9223372036, 854775808}, {-9223372036, -854775808}, {-9223372037, 0}} {
		at, took := &timestamppb.Timestamp{Seconds: c[0], Nanos: int32(c[1])}, &durationpb.Duration{Seconds: c[0], Nanos: int32(c[1])}
		body, err := proto.Marshal(at)
		if err != nil {
			t.Fatal(err)
		}
		body = append(body, 0x1a, 1, 'x') // a field that is not known
		if got, err := Time(body, time.Time{}); (err == nil) != at.IsValid() || err == nil && !got.Equal(at.AsTime()) {
			t.Errorf("%v: %v, %v", at, got, err)
		}
		want := took.AsDuration()
		fits := took.IsValid() && want != math.MaxInt64 && want != math.MinInt64 || c[1] == 854775807
		if got, err := Duration(body, 0); fits && (err != nil || got != want) {
			t.Errorf("%v: %v, %v, want %v", took, got, err, want)
		} else if !took.IsValid() && err == nil && c[0]*c[1] >= 0 {
			t.Errorf("%v: %v", took, got)
		}
	}
	for _, body := range []string{"\x08", "\x00", "\x80", "\x0b", "\x08\x80"} {
		if _, err := Time([]byte(body), time.Time{}); err == nil {
			t.Errorf("%x is a time", body)
		}
	}
}

func FuzzValue(f *testing.F) {
	body, err := AppendValue(nil, sample(), 100)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Fuzz(func(t *testing.T, body []byte) { check(t, body) })
}

// TestLongNames has a wrong value with a long name, deep within others: the errors of the values around it do not hold the name each.
func TestLongNames(t *testing.T) {
	field := func(number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	}
	body := field(5, field(1, append(field(1, make([]byte, 1<<20)), field(2, []byte("\x0a\x00"))...)))
	for range 45 {
		body = field(6, field(1, body))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := Value(body, nil, 100, 1<<30)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), `\x00"]: a value of wire type 2`) || len(err.Error()) > 1<<10 {
		t.Errorf("%.2000v", err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 8<<20 {
		t.Errorf("%d bytes were allocated for an error about %d", taken, len(body))
	}
}
