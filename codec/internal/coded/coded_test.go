package coded

import (
	"reflect"
	"testing"

	"github.com/weftrpc/weft/codec/generated"
)

type record struct{ A int }

func (*record) FieldsWeft() string                              { return "record{1 A int64}" }
func (*record) AppendWeft(b []byte, _ int) (_ []byte, ok bool)  { return b, true }
func (*record) DecodeWeft(_ *generated.Reader, i, _, _ int) int { return i }

type (
	outer  struct{ record }
	within struct{ *record }
)

func TestFields(t *testing.T) {
	for typ, want := range map[reflect.Type]string{
		reflect.TypeFor[record](): "record{1 A int64}", reflect.TypeFor[outer](): "", reflect.TypeFor[within](): "", reflect.TypeFor[struct{ A int }](): "",
	} {
		if got, ok := Fields(typ); got != want && ok || ok != (want != "") {
			t.Errorf("%v: %q, %v, want %q", typ, got, ok, want)
		}
	}
}
