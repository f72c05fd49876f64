package protobuf

import (
	"reflect"

	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft/codec/internal/numbered"
)

// form is what is known of messages of one type.
type form struct {
	plan *numbered.Plan // nil: generated methods encode and decode them, or they are none
}

// planOf returns the plan of v; nil when v has generated methods to be used instead, or is no message.
func (p *protobuf) planOf(v any) *numbered.Plan {
	if f, ok := p.types.forms.Load(v).(*form); ok {
		return f.plan
	}
	return p.findPlan(v)
}

//go:noinline
func (p *protobuf) findPlan(v any) *numbered.Plan {
	f := new(form)
	switch m := v.(type) {
	case nil:
		return nil
	case vtMarshaler, vtUnmarshaler, gogoMessage:
	case proto.Message:
		if p.compiled {
			f.plan = numbered.OfStock(m)
		}
	default:
		f.plan = numbered.Of(reflect.TypeOf(v))
	}
	return p.types.forms.Store(reflect.TypeOf(v), f).(*form).plan
}
