package protobuf

import (
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft/codec/internal/cycle"
)

// maxContainers bounds the structs, slices and maps of Go inside one another in a
// message that is known by its methods alone: a message within a message takes
// up to four of them.
const maxContainers = 4 * cycle.MaxDepth

// check returns an error for a message that contains itself.
func (p *protobuf) check(v any) error {
	switch m := v.(type) {
	case proto.Message:
		return p.types.cycles.Check(m)
	case vtMarshaler, gogoMessage:
		return p.plain.Check(v)
	}
	return nil // a struct with numbers is checked as it is encoded
}

// unsent reports whether generated code leaves out a field.
func unsent(f reflect.StructField) bool {
	return !f.IsExported() && !f.Anonymous || strings.HasPrefix(f.Name, "XXX_")
}
