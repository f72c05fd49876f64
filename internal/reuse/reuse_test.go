package reuse_test

import (
	"bytes"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/reuse"
)

func TestMain(m *testing.M) { leak.Main(m) }

type message struct {
	Text string
	List []int
}

// What is decoded does not refer to the reader's memory, and nothing of the last message shows.
func TestMemory(t *testing.T) {
	for _, c := range []codec.Codec{msgpack.New(), json.New()} {
		var m reuse.Memory
		var v message
		around := m.Around(c)
		if again := m.Around(c); again != around {
			t.Errorf("%s: Around makes a second codec", c.Name())
		}
		if _, sized := c.(codec.Sizer); sized {
			if _, ok := around.(codec.Sizer); !ok {
				t.Errorf("%s: the codec around it is no Sizer", c.Name())
			}
		}
		for i, sent := range []message{{"first", []int{1, 2, 3}}, {"", nil}, {"third", []int{4}}} {
			m.Forget(&v)
			body, err := around.Append(nil, &sent)
			if err != nil {
				t.Fatal(err)
			}
			if err := around.Decode(body, &v); err != nil {
				t.Fatal(err)
			}
			copy(body, bytes.Repeat([]byte{0xc1}, len(body)))
			if v.Text != sent.Text || len(v.List) != len(sent.List) {
				t.Errorf("%s: message %d is %+v, want %+v", c.Name(), i, v, sent)
			}
		}
	}
}

// listed is a codec that cannot be compared, which its type alone does not show: around holds it.
type listed []codec.Codec

func (listed) Name() string                               { return "listed" }
func (l listed) Append(dst []byte, v any) ([]byte, error) { return l[0].Append(dst, v) }
func (l listed) Decode(body []byte, v any) error          { return l[0].Decode(body, v) }

type around struct{ codec.Codec }

func TestCodecThatCannotBeCompared(t *testing.T) {
	var m reuse.Memory
	for range 2 {
		if c := m.Around(around{listed{json.New()}}); c.Name() != "listed" {
			t.Errorf("the codec is called %q", c.Name())
		}
	}
}

type panics struct{ codec.Codec }

func (panics) Decode([]byte, any) error { panic("no") }

func TestDecodePanics(t *testing.T) {
	if err := reuse.Decode(panics{json.New()}, nil, new(int)); err == nil || err.Error() != "panic: no" {
		t.Errorf("a panic of the codec gives %v", err)
	}
}
