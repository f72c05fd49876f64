package growthtest_test

import (
	"hash/crc32"
	"testing"

	"github.com/weftrpc/weft/internal/growthtest"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// recorder notes that it was failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(string, ...any) { r.failed = true }

// Work in proportion to its input passes, work in proportion to the square does not.
func TestCheck(t *testing.T) {
	sum := func(b []byte, times int) {
		for range times {
			if crc32.ChecksumIEEE(b) == 1 {
				break
			}
		}
	}
	for _, test := range []struct {
		name  string
		times func(n int) int
		want  bool
	}{
		{"little", func(int) int { return 1 }, false},
		{"in proportion", func(int) int { return 40_000 }, false},
		{"square", func(n int) int { return 2 * n }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{TB: t}
			growthtest.Check(r, "the sum", 8<<10, growthtest.Repeat(nil, []byte{0}, nil), func(b []byte) { sum(b, test.times(len(b))) })
			if r.failed != test.want {
				t.Errorf("failed: %v, want %v", r.failed, test.want)
			}
		})
	}
}

func TestRepeat(t *testing.T) {
	for n, want := range map[int]string{0: "<>", 3: "<ab>", 6: "<ababab>"} {
		if got := string(growthtest.Repeat([]byte("<"), []byte("ab"), []byte(">"))(n)); got != want {
			t.Errorf("for %d bytes %q, want %q", n, got, want)
		}
	}
	if got := string(growthtest.Repeat([]byte("<"), nil, []byte(">"))(9)); got != "<>" {
		t.Errorf("without a piece %q", got)
	}
}
