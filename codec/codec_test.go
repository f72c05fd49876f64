package codec_test

import (
	"fmt"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestTarget(t *testing.T) {
	n := 7
	target, err := codec.Target(&n)
	if err != nil {
		t.Fatal(err)
	}
	if target.SetZero(); n != 0 {
		t.Errorf("n is %d after SetZero on its target", n)
	}
	for v, want := range map[any]string{
		nil:         "codec: cannot decode into a <nil>, it must be a pointer",
		7:           "codec: cannot decode into a int, it must be a pointer",
		(*int)(nil): "codec: cannot decode into a nil *int",
	} {
		if _, err := codec.Target(v); err == nil || err.Error() != want {
			t.Errorf("Target(%T) = %v, want %s", v, err, want)
		}
	}
}

// A codec is a value, passed to the server or the client that uses it.
func ExampleCodec() {
	var c codec.Codec = json.New()
	body, err := c.Append([]byte("body: "), map[string]int{"answer": 42})
	fmt.Println(c.Name(), string(body), err)
	// Output: json body: {"answer":42} <nil>
}
