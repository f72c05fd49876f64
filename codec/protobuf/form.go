package protobuf

import (
	"reflect"

	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft/codec/internal/numbered"
	"github.com/weftrpc/weft/internal/stock"
)

// form is what is known of messages of one type.
type form struct {
	plan  *numbered.Plan // nil: generated methods encode and decode them, or they are none
	usual bool           // see Is
}

// planOf returns the plan of v; nil when v has generated methods to be used instead, or is no message.
func (p *protobuf) planOf(v any) *numbered.Plan {
	if f, ok := p.types.forms.Load(v).(*form); ok {
		return f.plan
	}
	return p.types.find(v, p.compiled).plan
}

// find returns what is known of the type of v, which it finds out the first time; compiled says what is of stock messages.
//
//go:noinline
func (k *known) find(v any, compiled bool) *form {
	if v == nil {
		return new(form)
	}
	f := &form{usual: isUsual(v)}
	switch m := v.(type) {
	case vtMarshaler, vtUnmarshaler, gogoMessage:
	case proto.Message:
		if compiled {
			f.plan = numbered.OfStock(m)
		}
	default:
		f.plan = numbered.Of(reflect.TypeOf(v))
	}
	return k.forms.Store(reflect.TypeOf(v), f).(*form)
}

// isUsual is Is for a type that is not known yet.
func isUsual(v any) bool {
	switch v.(type) {
	case proto.Message:
		return hidden(reflect.TypeOf(v)) == ""
	case gogoMessage:
		return true
	case vtMarshaler:
		if _, ok := v.(vtUnmarshaler); ok {
			return true
		}
	}
	return numbered.Is(reflect.TypeOf(v))
}

// hidden returns a field of the struct that t points to of which its methods know nothing, since they are those of a generated message
// that it embeds; "": there is none.
func hidden(t reflect.Type) string {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return ""
	}
	if m, is := stock.Message(reflect.New(t.Elem()).Interface()); is || m == nil {
		return ""
	}
	for f := range t.Elem().Fields() {
		if f.IsExported() && !f.Anonymous {
			return f.Name
		}
	}
	return ""
}
