package numbered

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Append, Decode and Reuse are those of the plan.
func Append(dst []byte, v any) ([]byte, error) { return Of(reflect.TypeOf(v)).Append(dst, v) }
func Decode(body []byte, v any) error          { return Of(reflect.TypeOf(v)).Decode(body, v) }
func Reuse(body []byte, v any) error           { return Of(reflect.TypeOf(v)).Reuse(body, v) }

// tidy makes empty lists and maps nil, and NaNs 0, so that values can be compared.
func tidy(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			tidy(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				tidy(v.Field(i))
			}
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(reflect.ValueOf(fmt.Sprintf("%v", v.Interface())))
		}
	case reflect.Array:
		for i := range v.Len() {
			tidy(v.Index(i))
		}
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			v.SetZero()
		} else if v.Kind() == reflect.Slice {
			for i := range v.Len() {
				tidy(v.Index(i))
			}
		}
	case reflect.Float32, reflect.Float64:
		if v.Float() != v.Float() {
			v.SetFloat(0)
		}
	}
}

// compare decodes body into a fresh value and over used, and compares them.
func compare(t *testing.T, body []byte, used any) {
	t.Helper()
	fresh := reflect.New(reflect.TypeOf(used).Elem())
	err, errUsed := Decode(body, fresh.Interface()), Reuse(body, used)
	if fmt.Sprint(err) != fmt.Sprint(errUsed) {
		t.Fatalf("%x: %v, over an older value: %v", body, err, errUsed)
	}
	if err != nil {
		return
	}
	tidy(fresh)
	tidy(reflect.ValueOf(used))
	if !reflect.DeepEqual(fresh.Interface(), used) {
		t.Fatalf("%x\n is %+v\nand %+v over an older value", body, fresh.Elem(), reflect.ValueOf(used).Elem())
	}
}

// TestReuse decodes whole and changed bodies over older values, those of failed
// decodings too.
func TestReuse(t *testing.T) {
	r, used, untidied := rand.New(rand.NewPCG(5, 6)), new(order), new(order)
	for range 300 {
		body, err := Append(nil, random(r))
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			b := append([]byte(nil), body...)
			for range r.IntN(3) {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
			b = b[:len(b)-r.IntN(2)*r.IntN(len(b))]
			compare(t, b[:len(b):len(b)], used)
			_ = Reuse(b, untidied)
		}
		// One whose lists were not made nil by the comparison.
		if err := Reuse(body, untidied); err != nil {
			t.Fatal(err)
		}
		want := new(order)
		if err := Decode(body, want); err != nil {
			t.Fatal(err)
		}
		a, b := reflect.ValueOf(untidied).Elem(), reflect.ValueOf(want).Elem()
		for i := range a.NumField() {
			if x, y := a.Field(i), b.Field(i); x.Kind() == reflect.Slice && x.Len() == y.Len() && x.Len() == 0 {
				continue
			} else if x.Kind() == reflect.Map && x.Len() == 0 && y.Len() == 0 || x.Kind() == reflect.Func {
				continue
			} else if !reflect.DeepEqual(x.Interface(), y.Interface()) {
				t.Fatalf("%s: %v, want %v", a.Type().Field(i).Name, x, y)
			}
		}
	}
}

// TestReuseMerges has a message that comes in two parts: together they are one, with
// nothing of what was there before.
func TestReuseMerges(t *testing.T) {
	part := func(i *item) []byte {
		body, err := Append(nil, i)
		if err != nil {
			t.Fatal(err)
		}
		return protowire.AppendBytes(protowire.AppendTag(nil, 16, protowire.BytesType), body)
	}
	used := &order{Item: item{Name: "old", N: 7, Sub: &item{Name: "old", N: 9}}}
	body := append(part(&item{Name: "new"}), part(&item{N: 3, Sub: &item{N: 5}})...)
	compare(t, body, used)
	if want := (item{Name: "new", N: 3, Sub: &item{N: 5}}); !reflect.DeepEqual(used.Item, want) {
		t.Errorf("%+v", used.Item)
	}
}

// TestReuseKeepsMemory also says what a decoding allocates: nothing.
func TestReuseKeepsMemory(t *testing.T) {
	body, err := Append(nil, &order{Text: "text", Bytes: []byte("bytes"), Maybe: &item{Name: "x"}, Opt: new(int32), OptText: new(string),
		Ints: []int32{1, 2}, Texts: []string{"a", "b"}, Items: []item{{Name: "y", Sub: &item{N: 1}}}, Ptrs: []*item{{N: 2}}, Blobs: [][]byte{{1}}})
	if err != nil {
		t.Fatal(err)
	}
	used := new(order)
	if err := Reuse(body, used); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = Reuse(body, used) }); n > 0 && !purego {
		t.Errorf("%v allocations", n)
	}
}

// TestReuseOfLargeMaps: a map that one message has made large is not emptied again and again, which takes as long as it was large.
func TestReuseOfLargeMaps(t *testing.T) {
	type holder struct {
		N     int32            `weft:"1"`
		Table map[int32]string `weft:"2"`
		Last  int32            `weft:"3"`
	}
	for _, n := range []int{10, 5000} {
		sent := &holder{Table: make(map[int32]string)}
		for i := range n {
			sent.Table[int32(i)] = "x"
		}
		body, err := Append(nil, sent)
		if err != nil {
			t.Fatal(err)
		}
		used := new(holder)
		for _, next := range []*holder{{N: 1}, {Last: 1}, {Table: map[int32]string{7: "y"}}} {
			if err := Reuse(body, used); err != nil || len(used.Table) != n {
				t.Fatalf("%d entries, want %d, %v", len(used.Table), n, err)
			}
			small, err := Append(nil, next)
			if err == nil {
				err = Reuse(small, used)
			}
			if err != nil || len(used.Table) != len(next.Table) || used.Table[7] != next.Table[7] || (used.Table != nil) != (n == 10 || next.Table != nil) {
				t.Errorf("%d entries, then %+v: %+v, %v", n, next, used, err)
			}
		}
	}
}

func TestReuseLongBodies(t *testing.T) {
	long := &order{Text: strings.Repeat("t", 100_000)}
	for i := range 3000 {
		long.Items = append(long.Items, item{Name: fmt.Sprint("item ", i), Sub: &item{Name: strings.Repeat("s", i%100)}})
		long.Texts = append(long.Texts, strings.Repeat("u", i%2000))
	}
	body, err := Append(nil, long)
	if err != nil {
		t.Fatal(err)
	}
	used := new(order)
	for range 2 {
		compare(t, body, used)
		compare(t, nil, used)
	}
}

// TestReuseResetsAll has fields that do not travel.
func TestReuseResetsAll(t *testing.T) {
	type inner struct {
		A    int32 `weft:"1"`
		note string
	}
	type outer struct {
		In   inner   `weft:"1"`
		List []inner `weft:"2"`
		Skip any     `weft:"-"`
		note string
	}
	body, err := Append(nil, &outer{List: []inner{{A: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	used := &outer{In: inner{1, "old"}, List: []inner{{2, "old"}}, Skip: "old", note: "old"}
	if err := Reuse(body, used); err != nil || !reflect.DeepEqual(used, &outer{List: []inner{{A: 1}}}) {
		t.Errorf("%+v, %v", used, err)
	}
}

// TestReuseOfShared has two parts of a message in one memory: both are decoded into it.
func TestReuseOfShared(t *testing.T) {
	type part struct {
		N    int32   `weft:"1"`
		Ints []int32 `weft:"2"`
	}
	type whole struct {
		First *part            `weft:"1"`
		Last  *part            `weft:"2"`
		Ints  []int32          `weft:"3"`
		More  []int32          `weft:"4"`
		Table map[string]int64 `weft:"5"`
		Other map[string]int64 `weft:"6"`
		Parts []part           `weft:"7"`
	}
	body, err := Append(nil, &whole{First: &part{N: 1}, Last: &part{Ints: []int32{2}}, Ints: []int32{1, 2}, More: []int32{3}, Table: map[string]int64{"a": 1}, Other: map[string]int64{"b": 2},
		Parts: []part{{Ints: []int32{1}}, {Ints: []int32{2}}, {Ints: []int32{3}}}})
	if err != nil {
		t.Fatal(err)
	}
	p, list, table := new(part), make([]int32, 2), make(map[string]int64)
	used := &whole{First: p, Last: p, Ints: list, More: list, Table: table, Other: table, Parts: make([]part, 3)}
	for i := range used.Parts {
		used.Parts[i].Ints = make([]int32, 1)
	}
	used.Parts = append(used.Parts[:0], used.Parts[1:]...)
	if err := Reuse(body, used); err != nil {
		t.Fatal(err)
	}
	later := &part{Ints: []int32{2}}
	want := &whole{First: later, Last: later, Ints: []int32{3, 2}, More: []int32{3}, Table: map[string]int64{"b": 2}, Other: map[string]int64{"b": 2},
		Parts: []part{{Ints: []int32{1}}, {Ints: []int32{3}}, {Ints: []int32{3}}}}
	if !reflect.DeepEqual(used, want) {
		t.Errorf("%+v, want %+v", used, want)
	}
}

func TestReuseOfManyFields(t *testing.T) {
	var fields []reflect.StructField
	for i := range 300 {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i+1), Type: reflect.TypeFor[int64](), Tag: reflect.StructTag(fmt.Sprintf(`weft:"%d"`, i+1))})
	}
	v := reflect.New(reflect.StructOf(fields))
	for i := range fields {
		v.Elem().Field(i).SetInt(int64(i))
	}
	body, err := Append(nil, v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	compare(t, body, v.Interface())
	compare(t, body[:10], v.Interface())
	compare(t, body[len(body)-3:], v.Interface())
}
