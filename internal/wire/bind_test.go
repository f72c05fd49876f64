package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/wire"
)

func TestBindRoundTrip(t *testing.T) {
	for _, c := range []struct{ codec, method string }{
		{"json", "Arith.Mul"},
		{"x", "m"},
		{strings.Repeat("c", wire.MaxCodecName), strings.Repeat("m", wire.MaxMethodName)},
		{"x-1.2", "/pkg.Service/Method"},
		{"raw", "Räder.Zähle"},
	} {
		b := wire.AppendBind([]byte("before"), c.codec, c.method)[len("before"):]
		codec, method, err := wire.ParseBind(b)
		if err != nil || string(codec) != c.codec || string(method) != c.method {
			t.Errorf("%+v came back as %q, %q, %v", c, codec, method, err)
		}
	}
}

// TestBindTruncated: a binding cut short is refused, or is one with a shorter
// method, never one with something that was not sent.
func TestBindTruncated(t *testing.T) {
	b := wire.AppendBind(nil, "json", "Arith.Mul")
	for n := range b {
		codec, method, err := wire.ParseBind(b[:n:n])
		if n <= len("_json") && err == nil {
			t.Errorf("%d bytes were accepted", n)
		}
		if err == nil && (string(codec) != "json" || !strings.HasPrefix("Arith.Mul", string(method))) {
			t.Errorf("%d bytes mean %q, %q", n, codec, method)
		}
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{
		"json": true, "x-1.2": true, "0": true, strings.Repeat("a", 32): true,
		"": false, strings.Repeat("a", 33): false, "JSON": false, "a b": false, "a,b": false, "a_b": false,
		"ä": false, "a\x00": false, "a/b": false,
	} {
		if err := wire.CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestCheckMethod(t *testing.T) {
	for name, ok := range map[string]bool{
		"Arith.Mul": true, "a": true, "/a/b": true, "zähle": true, strings.Repeat("a", 255): true,
		"": false, strings.Repeat("a", 256): false, "A B": false, "A\tB": false, "A\n": false, "A\x00": false,
		"A\x7f": false, "A\xff": false, "\xc3": false,
	} {
		if err := wire.CheckMethod(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzBind(f *testing.F) {
	f.Add(wire.AppendBind(nil, "json", "Arith.Mul"))
	f.Add([]byte{0xff})
	f.Add([]byte("\x04jsonA B"))
	f.Fuzz(func(t *testing.T, b []byte) {
		codec, method, err := wire.ParseBind(b)
		if err != nil {
			return
		}
		if wire.CheckName(string(codec)) != nil || wire.CheckMethod(string(method)) != nil {
			t.Fatalf("accepted %q, %q", codec, method)
		}
		if back := wire.AppendBind(nil, string(codec), string(method)); !bytes.Equal(back, b) {
			t.Fatalf("% x became % x", b, back)
		}
	})
}
