package schema

import (
	"fmt"
	"reflect"
)

// refusedByJSON says why codec/json refuses a struct: what the tag of weft keeps on its side would travel, as far as encoding/json can tell.
// What the structs in its fields are is not looked at; see reader.settle.
func refusedByJSON(t GoType, seen map[any]bool) string {
	f := t.Facts()
	if f.MarshalsJSON || f.MarshalsText || seen[f.ID] {
		return ""
	}
	seen[f.ID] = true
	for _, field := range t.Fields() {
		embeds := field.Embedded && isStruct(field.Type)
		inner := field.Type
		if embeds && inner.Facts().Kind == reflect.Pointer {
			inner = inner.Elem()
		}
		if kept(&field, "json") && (field.Exported || embeds && anyExported(inner.Fields())) {
			return fmt.Sprintf("the field %s has the tag weft:\"-\" and none of JSON", field.Name)
		}
		if _, flat, ok := asJSON(&field); ok && flat {
			if why := refusedByJSON(inner, seen); why != "" {
				return why
			}
		}
	}
	return ""
}

// refusedByMessagePack says why codec/msgpack refuses a struct: of two fields with one name, equally deep, one would be lost. What the
// structs in its fields are is not looked at.
func refusedByMessagePack(t GoType) string {
	if f := t.Facts(); f.Foreign || own(t) != "" {
		return ""
	}
	var all []member
	collect(t, asMessagePack, nil, make(map[any]bool), &all)
	for i, m := range all {
		first, least, tied := true, len(m.path), 0
		for k, o := range all {
			if o.name != m.name {
				continue
			}
			first = first && k >= i
			switch {
			case len(o.path) < least:
				least, tied = len(o.path), 1
			case len(o.path) == least:
				tied++
			}
		}
		if first && tied > 1 {
			return fmt.Sprintf("two fields are called %q", m.name)
		}
	}
	return ""
}

// settleNames says of messages that contain others which JSON or MessagePack refuses that they are refused too.
func settleNames(messages []*Message, byName map[string]*Message) {
	for changed := true; changed; {
		changed = false
		for _, m := range messages {
			for _, f := range m.Fields {
				f.Type.Each(func(t *Type) {
					inner := byName[t.Name]
					if t.Kind != KindMessage || inner == nil {
						return
					}
					if m.NoJSON == "" && inner.NoJSON != "" && f.Name != "" && t.JSON == "" {
						m.NoJSON, changed = fmt.Sprintf("the field %s: %s: %s", f.Label(), t.Name, inner.NoJSON), true
					}
					if m.NoMessagePack == "" && inner.NoMessagePack != "" && f.MessagePack != "" {
						m.NoMessagePack, changed = fmt.Sprintf("the field %s: %s: %s", f.Label(), t.Name, inner.NoMessagePack), true
					}
				})
			}
		}
	}
}
