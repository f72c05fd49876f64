package depot

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/weftrpc/weft/codec"
	codecjson "github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
)

// TestWire has google.golang.org/protobuf read what the structs are encoded as, by the
// .proto file, and the structs what it writes.
func TestWire(t *testing.T) {
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{})}
	files, err := compiler.Compile(t.Context(), "depot.proto")
	if err != nil {
		t.Fatal(err)
	}
	shelf, waits, person, signature := int32(-3), 90*time.Second, "p", []byte{}
	want := &Parcel{
		ParcelId: 1 << 40, Label_2D: "label", Kind: Kind_KIND_BOX, Sides: []Parcel_Side{{1, 2}, {Height: 3}}, Weights: map[string]int64{"a": 1, "b": -2},
		Shelf: &shelf, Arrived: time.Unix(1e9, 7).UTC(), Waits: &waits, Seal: []byte("seal"), Marks: []uint64{1, 1 << 60}, Top: &Parcel_Side{5, 6},
		Person: &person, ByFace: map[int32]Parcel_Side{-1: {7, 8}}, Kinds: []Kind{0, 1}, State: Parcel_OUT,
		Note: map[string]any{"fragile": true}, More: []any{nil, 1.5, "x"}, Signature: &signature,
	}
	c := protobuf.New()
	body, err := c.Append(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	theirs := dynamicpb.NewMessage(files[0].Messages().ByName("Parcel"))
	if err := proto.Unmarshal(body, theirs); err != nil || len(theirs.GetUnknown()) > 0 {
		t.Fatalf("%v, %x is not known", err, theirs.GetUnknown())
	}
	fields := theirs.Descriptor().Fields()
	if !theirs.Has(fields.ByName("signature")) || theirs.Has(fields.ByName("passport")) {
		t.Errorf("empty bytes are not there, or no bytes are: %v", theirs)
	}
	if got := theirs.Get(fields.ByName("sides")).List(); got.Len() != 2 {
		t.Errorf("%v", theirs)
	}
	again, err := proto.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	got := new(Parcel)
	if err := c.Decode(again, got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
}

// planned is a Parcel without generated code, which goes by its plan.
type planned Parcel

// TestEmptyBytes: bytes with presence that are empty are told from none, by the code, the plan and the codecs that go by name.
func TestEmptyBytes(t *testing.T) {
	for _, c := range []codec.Codec{protobuf.New(), msgpack.New(), codecjson.New()} {
		for _, want := range []*Parcel{{}, {Passport: &[]byte{}}, {Signature: &[]byte{}}, {Passport: &[]byte{1}, Signature: &[]byte{}}} {
			body, err := c.Append(nil, want)
			if err != nil {
				t.Fatal(err)
			}
			got, plan, used := new(Parcel), new(planned), &Parcel{Passport: &[]byte{2}, Signature: &[]byte{3}}
			over := c.Decode
			if r, ok := c.(codec.Reuser); ok {
				over = r.DecodeReuse
			}
			if err := errors.Join(c.Decode(body, got), c.Decode(body, plan), over(body, used)); err != nil {
				t.Fatal(err)
			}
			for what, p := range map[string]*Parcel{"the code": got, "the plan": (*Parcel)(plan), "an older value": used} {
				if !reflect.DeepEqual(p.Passport, want.Passport) || !reflect.DeepEqual(p.Signature, want.Signature) {
					t.Errorf("%s, %s: %v %v, want %v %v", c.Name(), what, p.Passport, p.Signature, want.Passport, want.Signature)
				}
			}
		}
	}
}

// TestJSON has google.golang.org/protobuf read what the structs are as JSON: the names of the fields are those of Protocol Buffers, and zero is left out.
func TestJSON(t *testing.T) {
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{})}
	files, err := compiler.Compile(t.Context(), "depot.proto")
	if err != nil {
		t.Fatal(err)
	}
	shelf := int32(0)
	p := &Parcel{
		ParcelId: 1 << 40, Label_2D: "label", Kind: Kind_KIND_BOX, Shelf: &shelf, Arrived: time.Unix(1e9, 7).UTC(), Seal: []byte("seal"),
		Top: &Parcel_Side{Width: 5}, ByFace: map[int32]Parcel_Side{-1: {}}, State: Parcel_OUT, Note: map[string]any{"fragile": true},
	}
	for want, v := range map[string]any{
		`{"parcelId":1099511627776,"label2d":"label","kind":1,"shelf":0,"arrived":"2001-09-09T01:46:40.000000007Z","seal":"c2VhbA==",` +
			`"top":{"width":5},"byFace":{"-1":{}},"state":1,"note":{"fragile":true}}`: p,
		"{}": &Parcel{},
	} {
		body, err := json.Marshal(v)
		if err != nil || string(body) != want {
			t.Errorf("%v\n got %s\nwant %s", err, body, want)
		}
		theirs := dynamicpb.NewMessage(files[0].Messages().ByName("Parcel"))
		if err := protojson.Unmarshal(body, theirs); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	if body, err := json.Marshal(&Empty{}); err != nil || string(body) != "{}" {
		t.Errorf("%s %v", body, err)
	}
}
