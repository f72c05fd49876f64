package fit_test

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/internal/fit"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// Types are known once they were added, as pairs; those for which there is no room are not, and do no harm.
func TestKnown(t *testing.T) {
	var k fit.Known
	values := []any{1, "", 2.0, 'x', uint8(1), uint16(1), uint32(1), uint64(1), int8(1), int16(1), nil}
	if k.Has(1, "") {
		t.Error("types are known that were not added")
	}
	var wg sync.WaitGroup
	for _, v := range values {
		wg.Go(func() {
			k.Add(v, "")
			k.Has(v, "")
		})
	}
	wg.Wait()
	known := 0
	for _, v := range values {
		if k.Has(v, "") {
			known++
		}
		if k.Has("", v) && v != "" {
			t.Errorf("%T is known as a reply", v)
		}
	}
	if known != 8 {
		t.Errorf("%d of %d types are known, want 8", known, len(values))
	}
	if n := testing.AllocsPerRun(100, func() { k.Has("a", "b"); k.Add("a", "b") }); n > 1 {
		t.Errorf("a look allocates %v times", n)
	}
}

func TestCarries(t *testing.T) {
	type bad struct{ Part struct{ F func() } }
	if err := fit.Carries(json.New(), &bad{}); err == nil || !strings.Contains(err.Error(), "Part.F") {
		t.Errorf("a function in a message: %v, want the field", err)
	}
	for _, v := range []any{nil, &struct{ A int }{}, 1} {
		if err := fit.Carries(json.New(), v); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}
	if err := fit.Carries(raw.New(), &bad{}); err != nil {
		t.Errorf("a codec that does not check types: %v", err)
	}
}

// closed encodes itself, so that it may hold what no codec can carry.
type closed struct{ C chan int }

func (closed) MarshalWeft(dst []byte) ([]byte, error) { return dst, nil }
func (*closed) UnmarshalWeft([]byte) error            { return nil }

func TestEncodesItself(t *testing.T) {
	if why := fit.Wrong(reflect.TypeFor[struct{ A closed }]()); why != "" {
		t.Errorf("a type with MarshalWeft: %s", why)
	}
	if why := fit.Wrong(reflect.TypeFor[struct{ A struct{ C chan int } }]()); why == "" {
		t.Error("a channel is a message")
	}
}
