package poison

import (
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

type part struct {
	Text  string
	N     int32
	Next  *part
	inner string
}

func TestValue(t *testing.T) {
	octets := []byte("bytes")
	p := &part{Text: "old", N: 1, inner: "kept"}
	p.Next = p
	v := &struct {
		Parts []part
		Ptr   *part
		Ring  *part
		Map   map[string]int
		U     [2]uint16
		F     float32
		B     bool
		Raw   []byte
		Any   any
		Nil   *part
	}{Parts: []part{{Text: "old", N: 2}}, Ptr: &part{Text: "old"}, Ring: p, Map: map[string]int{"a": 1}, F: 1, Raw: octets, Any: "kept"}
	Value(v)
	if v.Parts[0].Text != Text || v.Parts[0].N == 2 || v.Ptr.Text != Text || len(v.Map) != 0 || v.U != [2]uint16{0xdbdb, 0xdbdb} || v.F == 1 || !v.B {
		t.Errorf("%+v", v)
	}
	if p.Text != Text || p.inner != "kept" || string(octets) != "bytes" || v.Any != "kept" {
		t.Errorf("%q %q %q %v", p.Text, p.inner, octets, v.Any)
	}
	own := &part{Text: "own", Next: &part{Text: "own"}}
	top := &struct {
		part
		Name  string
		Pair  [2]part
		Parts []part
		Map   map[string]int
	}{Name: "old", Pair: [2]part{{Text: "old", Next: own}}, Parts: []part{{Text: "own"}}, Map: map[string]int{"own": 1}}
	Top(top)
	if top.Name != Text || top.Pair[0].Text != Text || own.Text != "own" || own.Next.Text != "own" || top.Parts[0].Text != "own" || top.Map["own"] != 1 {
		t.Errorf("%+v, %+v", top, own)
	}
	if Bytes(octets); octets[0] != Octet || octets[4] != Octet {
		t.Errorf("%q", octets)
	}
}
