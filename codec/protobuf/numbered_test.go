package protobuf_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/codec/protobuf"
)

type (
	order struct {
		ID    int64             `weft:"1"`
		Note  string            `weft:"2"`
		Items []item            `weft:"3"`
		By    map[string]string `weft:"4"`
		At    time.Time         `weft:"5"`
		Took  time.Duration     `weft:"6"`
		Sizes []int32           `weft:"7"`
		Data  []byte            `weft:"8"`
		Next  *order            `weft:"9"`
		Skip  func()            `weft:"-"`
	}
	item struct {
		Name  string  `weft:"1"`
		Price float64 `weft:"2"`
		Count *uint32 `weft:"3"`
	}
	// half has a field that would be lost.
	half struct {
		A int `weft:"1"`
		B int
	}
)

func numbered() *order {
	count := uint32(7)
	return &order{
		ID: -5, Note: text, Items: []item{{text, 1.5, &count}, {}}, By: map[string]string{"a": "b", "": text},
		At: time.Unix(1_700_000_000, 5).UTC(), Took: -time.Hour, Sizes: []int32{1, -1, 1 << 30}, Data: []byte{0, 255}, Next: &order{ID: 1},
	}
}

func TestNumberedConformance(t *testing.T) {
	codectest.Run(t, protobuf.New(), codectest.Config{
		Values:    []any{numbered(), &order{}, &item{Name: "x"}},
		Refused:   []any{half{}, &half{}, (*order)(nil), &struct{ C chan int }{}},
		OpenEnded: true,
		SameBits:  true,
	})
}

// A numbered struct has the wire of the message that a .proto file describes.
func TestNumberedIsProtobuf(t *testing.T) {
	type value struct {
		Value int64 `weft:"1"`
	}
	c := protobuf.New()
	theirs, err := c.Append(nil, wrapperspb.Int64(-7))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{value{-7}, &value{-7}} {
		if ours, err := c.Append(nil, v); err != nil || !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%x, %v; want %x", ours, err, theirs)
		}
	}
	var got value
	if err := c.Decode(theirs, &got); err != nil || got.Value != -7 {
		t.Errorf("%+v, %v; want -7", got, err)
	}
	if err := c.Decode([]byte("\x08"), &got); err == nil || !strings.Contains(err.Error(), "codec/protobuf: decoding into a *protobuf_test.value: Value: at byte 1: no varint") {
		t.Errorf("half a value: %v", err)
	}
}

func TestCheckType(t *testing.T) {
	checker := protobuf.New().(codec.TypeChecker)
	for v, want := range map[any]string{
		numbered(): "", new(order): "", wrapperspb.Int64(1): "", new(gogo): "", new(vtMessage): "",
		new(half): "half.B has no field number", new(int): "a int is no Protocol Buffers message", 7: "a int is no",
	} {
		if err := checker.CheckType(reflect.TypeOf(v)); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("CheckType of a %T: %v, want %q", v, err, want)
		}
	}
	if err := checker.CheckType(nil); err != nil {
		t.Error(err)
	}
}

func BenchmarkNumberedAppend(b *testing.B) {
	c, v, dst := protobuf.New(), numbered(), make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Append(dst, v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNumberedDecode(b *testing.B) {
	c := protobuf.New()
	body, err := c.Append(nil, numbered())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Decode(body, new(order)); err != nil {
			b.Fatal(err)
		}
	}
}

// TestHalfVT has a struct that encodes itself and does not decode itself.
func TestHalfVT(t *testing.T) {
	for _, c := range []codec.Codec{protobuf.New(), protobuf.NewCompiled()} {
		body, err := c.Append(nil, &halfVT{7})
		if err != nil {
			t.Fatal(err)
		}
		got, used := new(halfVT), &halfVT{9}
		if err := c.Decode(body, got); err != nil || got.A != 7 {
			t.Errorf("%+v, %v", got, err)
		}
		if err := c.(codec.Reuser).DecodeReuse(body, used); err != nil || used.A != 7 {
			t.Errorf("over an older value: %+v, %v", used, err)
		}
		for _, v := range []any{(*halfVT)(nil), halfVT{}} {
			if err := c.Decode(body, v); err == nil || !strings.Contains(err.Error(), "pointer") {
				t.Errorf("into %#v: %v", v, err)
			}
		}
	}
}

// TestEmbeddedMessage: that the compiled codec leaves a struct with an embedded message to other code is found out once.
func TestEmbeddedMessage(t *testing.T) {
	var counts []int
	for _, c := range []codec.Codec{protobuf.New(), protobuf.NewCompiled()} {
		calls := 0
		v := &outer{wrapperspb.Int64(7), &calls}
		for range 2 {
			calls = 0
			body, err := c.Append(nil, v)
			if err == nil {
				err = c.Decode(body, v)
			}
			if err != nil || v.Value != 7 {
				t.Fatalf("%d, %v", v.Value, err)
			}
		}
		counts = append(counts, calls)
	}
	if counts[0] != counts[1] {
		t.Errorf("ProtoReflect is called %d times, by the compiled codec %d times", counts[0], counts[1])
	}
}
