package msgpack_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/msgpack"
)

// secret travels as bytes, by methods of package codec. Those of package encoding, and MarshalMsg, do not count then.
type secret struct{ Text string }

var (
	_ codec.Marshaler   = secret{}
	_ codec.Unmarshaler = (*secret)(nil)
)

func (s secret) MarshalWeft(dst []byte) ([]byte, error) {
	if s.Text == "unknown" {
		return nil, errors.New("it is unknown")
	}
	return append(append(dst, '<'), s.Text...), nil
}

func (s *secret) UnmarshalWeft(b []byte) error {
	if s.Text != "" || len(b) == 0 || b[0] != '<' {
		return fmt.Errorf("%q over %q is no secret", b, s.Text)
	}
	s.Text = string(b[1:])
	return nil
}

func (secret) MarshalMsg([]byte) ([]byte, error)   { return nil, errors.New("MarshalMsg is called") }
func (secret) UnmarshalMsg([]byte) ([]byte, error) { return nil, errors.New("UnmarshalMsg is called") }
func (secret) MarshalBinary() ([]byte, error)      { return nil, errors.New("MarshalBinary is called") }
func (secret) UnmarshalBinary([]byte) error        { return errors.New("UnmarshalBinary is called") }

type secrets struct {
	One   secret
	Next  *secret
	None  *secret
	List  []secret
	Pair  [2]secret
	Named map[string]secret
	Of    map[secret]int
	Addr  netip.Addr
	Any   any
}

// octets is secrets as a program has them that knows nothing of the methods.
type octets struct {
	One   []byte
	Next  []byte
	None  []byte
	List  [][]byte
	Pair  [2][]byte
	Named map[string][]byte
	Of    map[string]int
	Addr  []byte
	Any   []byte
}

func TestMarshalWeft(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	v := &secrets{One: secret{"one"}, Next: &secret{}, List: []secret{{long}, {}}, Pair: [2]secret{{"a"}}, Named: map[string]secret{"n": {long[:300]}}, Of: map[secret]int{{"k"}: 5},
		Addr: netip.MustParseAddr("10.0.0.1"), Any: secret{"any"}}
	c := msgpack.New()
	for _, dst := range [][]byte{nil, make([]byte, 0, 100), make([]byte, 3, 200_000)} {
		body, err := c.Append(dst, v)
		if err != nil {
			t.Fatal(err)
		}
		body = body[len(dst):]
		var plain octets
		if err := c.Decode(body, &plain); err != nil || string(plain.One) != "<one" || string(plain.List[0]) != "<"+long || string(plain.Pair[1]) != "<" || plain.Of["<k"] != 5 ||
			!bytes.Equal(plain.Addr, []byte{10, 0, 0, 1}) || plain.None != nil {
			t.Fatalf("%.200v, %v", plain, err)
		}
		want := *v
		want.Any = []byte("<any")
		got, used := new(secrets), &secrets{One: secret{"old"}, Next: &secret{"old"}, List: []secret{{"old"}}, Named: map[string]secret{"old": {}}, Pair: [2]secret{{"old"}, {"old"}}}
		if err := c.Decode(body, got); err != nil || !reflect.DeepEqual(got, &want) {
			t.Errorf("%.200v, %v", got, err)
		}
		if err := c.(codec.Reuser).DecodeReuse(body, used); err != nil || !reflect.DeepEqual(used, &want) {
			t.Errorf("over an older value: %.200v, %v", used, err)
		}
	}
	var alone secret
	body, err := c.Append(nil, &secret{"alone"})
	if err == nil {
		err = c.Decode(body, &alone)
	}
	if err != nil || alone.Text != "alone" || string(body) != "\xc4\x06<alone" {
		t.Errorf("%q, %q, %v", body, alone, err)
	}
}

// lame has one of the methods in another form.
type lame struct{ A int }

func (lame) MarshalWeft() ([]byte, error) { return nil, nil }
func (*lame) UnmarshalWeft([]byte) error  { return nil }

// both has other methods beside one of package codec alone.
type both struct{ A int }

func (both) MarshalWeft(dst []byte) ([]byte, error) { return dst, nil }
func (both) MarshalBinary() ([]byte, error)         { return nil, nil }
func (*both) UnmarshalBinary([]byte) error          { return nil }

func TestMarshalWeftErrors(t *testing.T) {
	c := msgpack.New()
	for want, v := range map[string]any{
		"MarshalWeft: it is unknown": &secrets{Next: &secret{"unknown"}},
		"a msgpack_test.lame needs both of MarshalWeft(dst []byte) ([]byte, error) and UnmarshalWeft(b []byte) error": &struct{ A []lame }{},
		"a msgpack_test.both needs both of MarshalWeft(":                                                              &struct{ A both }{},
	} {
		if _, err := c.Append(nil, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := c.Decode([]byte("\x81\xa3One\xc4\x01x"), new(secrets)); err == nil || !strings.Contains(err.Error(), `in One: at byte 5: UnmarshalWeft of a msgpack_test.secret: "x" over "" is no secret`) {
		t.Error(err)
	}
}

// MsgpInner has the methods that the msgp generator writes.
type MsgpInner struct{ A byte }

func (v *MsgpInner) MarshalMsg(b []byte) ([]byte, error) { return append(b, v.A), nil }

func (v *MsgpInner) UnmarshalMsg(b []byte) ([]byte, error) { v.A = b[0]; return b[1:], nil }

// The methods of an embedded type know nothing of the other fields.
func TestEmbeddedMarshalMsg(t *testing.T) {
	type outer struct {
		MsgpInner
		B string
	}
	type named struct {
		MsgpInner `msgpack:"inner"`
		B         string
	}
	if body, err := msgpack.New().Append(nil, &outer{MsgpInner{5}, "text"}); err == nil || !strings.Contains(err.Error(), "needs a tag with a name") {
		t.Errorf("with the methods of an embedded type: %q, %v", body, err)
	}
	want, got := named{MsgpInner{5}, "text"}, named{}
	body, err := msgpack.New().Append(nil, &want)
	if err == nil {
		err = msgpack.New().Decode(body, &got)
	}
	if err != nil || got != want {
		t.Errorf("with a name: %q is %+v, %v", body, got, err)
	}
}

// A key that Go cannot compare is an error, also within a struct.
func TestKeysWithAny(t *testing.T) {
	type key struct{ A any }
	body := []byte("\x81\x81\xa1A\x90\x01")
	for _, v := range []any{new(map[key]int), new(map[[1]any]int)} {
		if _, array := v.(*map[[1]any]int); array {
			body = []byte("\x81\x91\x90\x01")
		}
		if err := msgpack.New().Decode(body, v); err == nil || !strings.Contains(err.Error(), "a key of a map cannot be") {
			t.Errorf("%T: %v", v, err)
		}
	}
}
