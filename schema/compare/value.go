package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/schema"
)

// value is a type with what its form depends on.
type value struct {
	*schema.Type
	stock bool // it is within a message whose JSON is that of protojson
}

// values are two types that stand in methods, for a comparison.
func (d *differences) values(a, b *schema.Type) (value, value) {
	return value{a, false}, value{b, false}
}

// text names the type, for people. form comes behind the innermost element.
func (v value) text(form string) string {
	prefix := ""
	if v.Optional {
		prefix = "optional "
	}
	switch v.Kind {
	case schema.KindMessage, schema.KindEnum:
		return prefix + v.Name
	case schema.KindList:
		return prefix + "list of " + v.elem().text(form)
	case schema.KindArray:
		return fmt.Sprintf("%sarray of %d %s", prefix, v.Length, v.elem().text(form))
	case schema.KindMap:
		return prefix + "map of " + v.key().text("") + " to " + v.elem().text(form)
	}
	text := prefix + string(v.Kind)
	if v.Proto != "" {
		text += " (" + v.Proto + ")"
	}
	if v.JSON != "" {
		text += " (" + v.JSON + " in JSON)"
	}
	return text + form
}

// became says what a type was and is. Where JSON has an integer as a number on one side and as a string on the other, it says that too: the
// names of the types may be the same.
func became(old, now value) string {
	was, is := old.integer(), now.integer()
	if was == is || was == "" || is == "" {
		was, is = "", ""
	}
	return " was " + old.text(was) + " and is " + now.text(is)
}

// integer is how JSON has the integers of the type, for people; "" when it holds none in a form of their kind.
func (v value) integer() string {
	for v.Elem != nil {
		v = v.elem()
	}
	form := v.jsonForm()
	what, bits := numbersOf(form)
	switch {
	case form == textual(v.Kind):
		return " (a string in JSON)"
	case bits > 0 && what != "float":
		return " (a number in JSON)"
	}
	return ""
}

// textual is the form of an integer that protojson writes as a string.
func textual(k schema.Kind) string { return string(k) + " as text" }

func (v value) elem() value { return value{v.Elem, v.stock} }

// key is the key of a map, which JSON has as a string everywhere.
func (v value) key() value { return value{v.Key, false} }

// jsonForm is what kind of value JSON has for the type: equal for types that read each other's.
func (v value) jsonForm() string {
	switch v.JSON {
	case schema.JSONText:
		return "text"
	case schema.JSONAny:
		return "value"
	case schema.JSONNumber:
		return "float64"
	case schema.JSONInteger:
		return "integer"
	case schema.JSONBytes:
		return "bytes"
	case schema.JSONNone:
		return "none"
	}
	switch v.Kind {
	case schema.KindMessage:
		switch v.Name {
		case schema.Timestamp:
			return "time"
		case schema.Duration:
			return "duration as text"
		}
		switch known := schema.WellKnown(v.Name); {
		case known == nil || known.Type == "object":
			return "object"
		case known.Type == "":
			return "value"
		}
		return v.Name // which is encoded in a form of its own
	case schema.KindEnum, schema.KindString:
		return string(v.Kind)
	case schema.KindDuration:
		return "int64"
	case schema.KindAny:
		return "value"
	}
	if v.stock && (v.Kind == schema.KindInt64 || v.Kind == schema.KindUint64) {
		return textual(v.Kind)
	}
	return string(v.Kind)
}

// packForm is the same for MessagePack.
func (v value) packForm() string {
	if v.Proto == schema.ProtoBytes || v.Proto == schema.ProtoString {
		return "string" // by methods of the type, or an array of bytes
	}
	switch v.Kind {
	case schema.KindDuration:
		return "int64"
	case schema.KindString, schema.KindBytes:
		return "string" // each is taken for the other
	case schema.KindMessage:
		if v.JSON == schema.JSONText || v.Proto != "" {
			return "string"
		}
	}
	return string(v.Kind)
}

// protoForm is the same for Protocol Buffers.
func (v value) protoForm() string {
	switch v.Proto {
	case schema.ProtoBytes, schema.ProtoString, schema.Value:
		return v.Proto
	}
	switch v.Kind {
	case schema.KindTime:
		return schema.Timestamp
	case schema.KindDuration:
		return schema.Duration
	case schema.KindInt8, schema.KindInt16:
		return "int32" + v.Proto
	case schema.KindUint8, schema.KindUint16:
		return "uint32" + v.Proto
	case schema.KindEnum:
		return "int32"
	case schema.KindMessage:
		if schema.WellKnown(v.Name) != nil {
			return v.Name
		}
		return "message" + v.Proto
	}
	return string(v.Kind) + v.Proto
}

// numbersOf divides the form of a number into what it is and how many bits it has; bits is 0 for other forms.
func numbersOf(form string) (what string, bits int) {
	for _, prefix := range []string{"int", "uint", "float"} {
		rest, ok := strings.CutPrefix(form, prefix)
		if !ok {
			continue
		}
		encoding := strings.TrimLeft(rest, "0123456789")
		if _, err := fmt.Sscan(strings.TrimSuffix(rest, encoding), &bits); err == nil {
			return prefix + encoding, bits
		}
	}
	return form, 0
}

// widens reports whether values of one form are those of another one too.
func widens(from, to string, wire string) bool {
	what, bits := numbersOf(from)
	next, more := numbersOf(to)
	switch {
	case bits == 0 || more == 0:
		return false
	case what == next:
		return more > bits && (wire != WireProtobuf || what == "int" || what == "uint" || what == "intzigzag")
	}
	return what == "uint" && next == "int" && more > bits // such as uint32 to int64
}

// form is what kind of value a wire has for the type.
func (v value) form(wire string) string {
	switch wire {
	case WireMessagePack:
		return v.packForm()
	case WireProtobuf:
		return v.protoForm()
	}
	return v.jsonForm()
}

// breaks lists the wires on which readers and writers of the two types do not understand each other. wider says that
// on the others the second type has all values of the first one, and more.
func (v value) breaks(to value) (wires []string, wider bool) {
	var parts []string
	alike := v.Elem != nil && v.Kind == to.Kind && v.Length == to.Length
	if alike {
		parts, wider = v.partsBreak(to)
	}
	arrays := v.Kind == schema.KindArray || to.Kind == schema.KindArray
	for _, wire := range every() {
		a, b := v.form(wire), to.form(wire)
		switch {
		case widens(a, b, wire):
			wider = true
		case a != b && !(wire == WireProtobuf && a == schema.ProtoString && b == schema.ProtoBytes), // a reader of a string refuses what is not UTF-8
			arrays && !alike, a == string(v.Kind) && slices.Contains(parts, wire): // the last has parts on this wire
			wires = append(wires, wire)
		}
	}
	return wires, wider
}

// partsBreak is breaks for the elements of two lists, arrays or maps, and for the keys.
func (v value) partsBreak(to value) (wires []string, wider bool) {
	wires, wider = v.elem().breaks(to.elem())
	if v.Kind != schema.KindMap {
		return wires, wider
	}
	keys, wide := v.key().breaks(to.key())
	return append(wires, keys...), wider || wide
}
