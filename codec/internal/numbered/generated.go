package numbered

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/weftrpc/weft/codec/generated"
	"github.com/weftrpc/weft/codec/internal/memory"
)

// generated decodes the body with generated code, and returns where that has stopped.
func (d *decoder) generated(m generated.Message) int {
	r := generated.Reader{Body: d.body, Reuse: d.reuse, Texts: d.texts}
	i := m.DecodeWeft(memory.Hidden(&r), 0, len(d.body), MaxDepth)
	d.texts = r.Texts
	return i
}

// hasCode reports whether there is generated code for the struct n. Code that was generated
// for other fields than it has now is an error.
func hasCode(n *node) (bool, error) {
	m, ok := reflect.New(n.typ).Interface().(generated.Message)
	if !ok {
		return false, nil
	}
	got, want := m.FieldsWeft(), n.describe()
	if name, _, _ := strings.Cut(got, "{"); name != n.typ.Name() {
		return false, nil // of a struct that is embedded in it
	}
	if got != want {
		return false, fmt.Errorf("the code of %s is for other fields than it has: run weft generate again (it is for %s, and there is %s)", n.typ, got, want)
	}
	return true, nil
}

// describe returns what FieldsWeft of generated code for the struct n returns.
func (n *node) describe() string {
	parts := make([]string, len(n.fields))
	for i, f := range n.fields {
		parts[i] = fmt.Sprintf("%d %s %s", f.number, f.name, f.node.form())
	}
	return n.typ.Name() + "{" + strings.Join(parts, "; ") + "}"
}

// form says how a field is encoded.
func (n *node) form() string {
	switch n.op {
	case opBool:
		return "bool"
	case opInt:
		return fmt.Sprint("int", n.bits)
	case opZigzag:
		return fmt.Sprint("zigzag", n.bits)
	case opUint:
		return fmt.Sprint("uint", n.bits)
	case opFixed:
		return fmt.Sprint("fixed", n.bits)
	case opFloat:
		return fmt.Sprint("float", n.bits)
	case opText:
		return "string"
	case opBytes:
		return "bytes"
	case opMessage:
		return "struct " + n.typ.Name()
	case opTime:
		return "time"
	case opDuration:
		return "duration"
	case opPointer:
		return "*" + n.elem.form()
	case opList:
		return "[]" + n.elem.form()
	}
	return "map"
}
