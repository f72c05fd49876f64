package wiretag_test

import (
	"testing"

	"github.com/weftrpc/weft/generate/internal/wiretag"
)

func TestParse(t *testing.T) {
	if number, options, err := wiretag.Parse("7,zigzag"); number != 7 || options != "zigzag" || err != nil {
		t.Errorf("%d, %q, %v", number, options, err)
	}
	for _, tag := range []string{"", "0", "-1", "+1", "one", ",fixed", "19000", "19999", "536870912", "4294967297"} {
		if number, _, err := wiretag.Parse(tag); err == nil {
			t.Errorf("%q has the number %d", tag, number)
		}
	}
}

func TestExpressions(t *testing.T) {
	one, two, three := wiretag.New(1, 2), wiretag.New(16, 0), wiretag.New(3000, 5)
	for got, want := range map[string]string{
		one.Bytes(): "0x0a", two.Bytes(): "0x80, 0x01", one.Word(): "0xa", two.Word(): "0x180",
		one.At(): "len(b)-i > 1 && b[i] == 0x0a", two.At(): "len(b)-i > 2 && b[i] == 0x80 && b[i+1] == 0x01",
		one.In("x"): "uint8(x) == 0xa", three.In("x"): "uint32(x)&0xffffff == 0x1bbc5",
		wiretag.New(1<<28, 0).In("x"):        "x&0xffffffffff == 0x880808080",
		one.Store("p"):                       "binary.LittleEndian.PutUint16(p, 0xa)",
		append(two[:2:2], 1).Store("p", "n"): "binary.LittleEndian.PutUint32(p, 0x10180|uint32(n)<<16)",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
