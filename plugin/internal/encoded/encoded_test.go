package encoded_test

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/plugin/internal/encoded"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestMessages(t *testing.T) {
	body := []byte{1, 2}
	for _, c := range []struct {
		v, into any
		other   string
		codec   string
		json    string
	}{
		{&plugintest.Args{A: 6, B: 7}, &plugintest.Args{}, "msgpack", "msgpack", `{"A":6,"B":7}`},
		{&plugintest.Args{A: 6, B: 7}, &plugintest.Args{}, "json", "json", `{"A":6,"B":7}`},
		{durationpb.New(1e9), &durationpb.Duration{}, "json", "protobuf", `"1s"`},
		{&body, new([]byte), "raw", "raw", `"AQI="`},
	} {
		m, err := encoded.Encode(c.v, c.other)
		if err != nil || m.Codec != c.codec {
			t.Errorf("%T: %v, %v", c.v, m, err)
			continue
		}
		if err := m.Decode(c.into); err != nil {
			t.Errorf("%T: %v", c.v, err)
		}
		if got, err := encoded.JSON(c.into); string(got) != c.json || err != nil {
			t.Errorf("%T: %s, %v", c.v, got, err)
		}
	}
	if _, err := encoded.Encode(&plugintest.Args{}, "gob"); err == nil {
		t.Error("gob is encoded")
	}
	if (encoded.Message{Codec: "json"}).Decode(&durationpb.Duration{}) == nil {
		t.Error("JSON is decoded as protobuf")
	}
}

func TestMaker(t *testing.T) {
	if a, ok := encoded.Maker(&plugintest.Args{A: 1})().(*plugintest.Args); !ok || a.A != 0 {
		t.Error("it makes another value")
	}
	for _, v := range []any{nil, 7, (*int)(nil)} {
		if encoded.Maker(v) != nil {
			t.Errorf("%#v is a message", v)
		}
	}
}

// A call with bytes reaches a method with types, and its reply comes as bytes.
func TestCall(t *testing.T) {
	c := plugintest.Serve(t, nil).Dial(t, nil)
	for _, name := range []string{"msgpack", "json"} {
		args, err := encoded.Encode(&plugintest.Args{A: 6, B: 7}, name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := encoded.Encode(&plugintest.Result{C: 42}, name)
		if err != nil {
			t.Fatal(err)
		}
		var reply []byte
		if err := c.Call(t.Context(), "Arith.Mul", &args.Body, &reply, weft.WithCodec(encoded.Codec(name))); err != nil || !bytes.Equal(reply, want.Body) {
			t.Errorf("%s: %x, %v", name, reply, err)
		}
	}
}

// fragile panics wherever it is asked for itself.
type fragile struct{}

func (fragile) MarshalJSON() ([]byte, error) { panic("as asked") }
func (*fragile) UnmarshalJSON([]byte) error  { panic("as asked") }

func TestPanics(t *testing.T) {
	_, encoding := encoded.Encode(&fragile{}, "json")
	_, text := encoded.JSON(&fragile{})
	for _, err := range []error{encoding, text, encoded.Message{Codec: "json", Body: []byte("{}")}.Decode(&fragile{})} {
		if err == nil || !strings.Contains(err.Error(), "fragile") {
			t.Error(err)
		}
	}
}

// timed has the methods of a generated message, which know nothing of its own field.
type timed struct {
	*durationpb.Duration
	Name string
}

// A struct that embeds a generated message is shown with its own fields.
func TestJSONOfEmbeddedMessage(t *testing.T) {
	if b, err := encoded.JSON(&timed{durationpb.New(5), "x"}); err != nil || !bytes.Contains(b, []byte(`"Name":"x"`)) {
		t.Errorf("%s, %v", b, err)
	}
}
