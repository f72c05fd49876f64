package fields

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestEach reads a message with fields of all kinds, whole and cut everywhere.
func TestEach(t *testing.T) {
	var b []byte
	b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), 300)
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), "two")
	b = protowire.AppendFixed64(protowire.AppendTag(b, 3, protowire.Fixed64Type), 3)
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), "again")
	for n := range len(b) + 1 {
		var got []string
		Each(b[:n], func(n protowire.Number, value []byte) {
			if n != 2 {
				t.Errorf("field %d has bytes", n)
			}
			got = append(got, string(value))
		})
		want := []string{}
		if n >= 8 {
			want = append(want, "two")
		}
		if n == len(b) {
			want = append(want, "again")
		}
		if !slices.Equal(got, want) {
			t.Errorf("of %d bytes %q were read, want %q", n, got, want)
		}
	}
}
