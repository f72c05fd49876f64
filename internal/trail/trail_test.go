package trail_test

import (
	"errors"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/trail"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestIn(t *testing.T) {
	wrong := errors.New("wrong")
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	for n, want := range map[int]string{
		1:  "a: wrong",
		3:  "c: b: a: wrong",
		8:  "h: g: f: e: d: c: b: a: wrong",
		9:  "i: h: g: f: e: d: c: b: a: wrong",
		10: "j: i: h: g: (2 more): d: c: b: a: wrong",
	} {
		err := wrong
		for _, name := range names[:n] {
			err = trail.In(name, err)
		}
		if err.Error() != want || !errors.Is(err, wrong) {
			t.Errorf("%q, want %q", err, want)
		}
	}
}
