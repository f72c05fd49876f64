package texts

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestPieces(t *testing.T) {
	var p Pieces
	var all [][]byte
	body := []byte(strings.Repeat("0123456789", 2000))
	for i, n := 0, 1; i+n < len(body); i, n = i+n, n*3/2+1 {
		all = append(all, p.Bytes(body[i:i+n], len(body)-i))
	}
	want := bytes.Clone(body)
	clear(body) // nothing of it is kept
	at := 0
	for i, b := range all {
		if !bytes.Equal(b, want[at:at+len(b)]) || cap(b) != len(b) && len(b) < single {
			t.Fatalf("text %d is %.40q with room for %d", i, b, cap(b))
		}
		at += len(b)
		clear(b) // and none shows in another
	}
	if p.String(nil, 0) != "" || p.String([]byte("x"), 1) != "x" {
		t.Error("strings differ")
	}
}

func TestOneAllocation(t *testing.T) {
	body := []byte(strings.Repeat("name:text", 50))
	if n := testing.AllocsPerRun(100, func() {
		p := Pieces{Rest: 245}
		for i := range 50 {
			p.Bytes(body[9*i+5:9*i+9], len(body)-9*i-5)
		}
	}); n != 1 {
		t.Errorf("%v allocations for 50 texts", n)
	}
}
