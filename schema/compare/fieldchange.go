package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/schema"
)

// within compares the messages and enumerations that two types name.
func (d *differences) within(a, b *schema.Type) {
	switch {
	case a.Kind != b.Kind:
	case a.Kind == schema.KindMessage:
		if schema.WellKnown(a.Name) == nil && schema.WellKnown(b.Name) == nil && d.once(a, b) {
			d.messages(d.before.Message(a.Name), d.after.Message(b.Name))
		}
	case a.Kind == schema.KindEnum:
		if a.Name != schema.NullValue && b.Name != schema.NullValue && d.once(a, b) {
			d.enums(d.before.Enum(a.Name), d.after.Enum(b.Name))
		}
	case a.Kind == schema.KindMap:
		d.within(a.Elem, b.Elem)
	case a.Elem != nil:
		d.within(a.Elem, b.Elem)
	}
}

// once reports whether two types are compared for the first time.
func (d *differences) once(a, b *schema.Type) bool {
	pair := [2]string{a.Name, b.Name}
	if d.seen[pair] {
		return false
	}
	d.seen[pair] = true
	return true
}

// messages compares two messages.
func (d *differences) messages(old, now *schema.Message) {
	if old == nil || now == nil {
		return
	}
	same := old.Name == now.Name
	if !old.Stock() && !now.Stock() { // the package of a Go type depends on how it was read
		same = old.Local() == now.Local()
	}
	if !same {
		d.note(Change{Rule: MessageRenamed, Category: CategorySource, At: old.Name, Via: d.via, Text: "the message " + old.Name + " is " + now.Name + " now",
			Advice: "names of messages do not travel, but code that is generated uses them"})
	}
	d.refusal(old, MessageJSONRemoved, MessageJSONAdded, WireJSON, "JSON", old.NoJSON, now.NoJSON, `say with a tag json whether the field travels, as json:"-"`)
	d.refusal(old, MessageMessagePackRemoved, MessageMessagePackAdded, WireMessagePack, "MessagePack", old.NoMessagePack, now.NoMessagePack, `give one of the fields another name, or take it out with the tag msgpack:"-"`)
	switch {
	case old.NoProto == "" && now.NoProto != "":
		d.note(Change{Rule: MessageProtobufRemoved, Category: CategoryWire, Wires: []string{WireProtobuf}, At: old.Name, Via: d.via,
			Text: old.Name + " has no form in Protocol Buffers any more: " + now.NoProto, Advice: "clients of gRPC cannot use it: take the field out with the tag weft:\"-\", or give it another type"})
	case old.NoProto != "" && now.NoProto == "":
		d.note(Change{Rule: MessageProtobufAdded, Category: CategoryCompatible, At: old.Name, Via: d.via, Text: old.Name + " has a form in Protocol Buffers now"})
	}
	via := d.via
	pairs := match(old, now)
	for _, f := range old.Fields {
		if g := pairs[f]; g != nil {
			d.field(old, now, f, g)
			d.within(f.Type, g.Type)
			d.via = via
			continue
		}
		d.note(gone(Change{Rule: FieldRemoved, Category: CategoryWire, Wires: named(f), At: old.Name + "." + f.Label(), Via: d.via, Text: "the field " + f.Label() + " of " + old.Name + " is gone",
			Advice: "a value that is still sent is skipped, and readers that still want it get zero: remove it when no program reads it" + reserve(old, now, f)}, now.Reserved, user{f.Number, f.Proto}))
	}
	var users []user
	for _, g := range now.Fields {
		users = append(users, user{g.Number, g.Proto})
	}
	if now.Stock() { // a struct of Go reserves nothing
		d.unreserved(old.Name, old.Reserved, now.Reserved, users)
	}
	for _, g := range now.Fields {
		if !isPaired(pairs, g) {
			d.addedField(old, g)
		}
	}
}

// refusal notes that a wire refuses a message that it took, or the other way round. was and is say why.
func (d *differences) refusal(old *schema.Message, removed, added, wire, name, was, is, advice string) {
	switch {
	case was == "" && is != "":
		d.note(Change{Rule: removed, Category: CategoryWire, Wires: []string{wire}, At: old.Name, Via: d.via,
			Text: name + " refuses " + old.Name + ": " + is, Advice: "all its calls fail there: " + advice})
	case was != "" && is == "":
		d.note(Change{Rule: added, Category: CategoryCompatible, At: old.Name, Via: d.via, Text: name + " takes " + old.Name + ", which it refused"})
	}
}

// reserve is what is to be done about the number of a field that is gone.
func reserve(old, now *schema.Message, f *schema.Field) string {
	switch {
	case f.Number == 0 || old.Hashed:
		return ""
	case now.Stock():
		return fmt.Sprintf(", and reserve its number and its name: reserved %d; reserved %q;", f.Number, f.Proto)
	}
	return fmt.Sprintf(", and do not give its number %d to another", f.Number)
}

// addedField notes a field that is new.
func (d *differences) addedField(old *schema.Message, g *schema.Field) {
	at, what := old.Name+"."+g.Label(), "the new field "+g.Label()+" of "+old.Name
	reserved := d.usesReserved(old.Reserved, at, what, user{g.Number, g.Proto}, [2]string{FieldNumberReused, FieldNameReused})
	for _, f := range old.Fields {
		if f.Number == g.Number && f.Number > 0 {
			d.note(Change{Rule: FieldNumberReused, Category: CategoryWire, Wires: []string{WireProtobuf}, At: at, Via: d.via,
				Text:   fmt.Sprintf("%s has the number %d, which was that of %s, a %s", what, g.Number, f.Label(), value{f.Type, old.Stock()}.text("")),
				Advice: "give it a number that no field had"})
			return
		}
	}
	if !reserved {
		d.note(Change{Rule: FieldAdded, Category: CategoryCompatible, At: at, Via: d.via, Text: "the field " + g.Label() + " of " + old.Name + " is new",
			Advice: "programs that do not know it send zero"})
	}
}

// travels lists the wires that a field of a message travels on. A message without a form in Protocol Buffers has no numbers, unless it is of a
// .proto file, and then it travels.
func travels(m *schema.Message, f *schema.Field) []string {
	return slices.DeleteFunc(named(f), func(wire string) bool { return wire != WireProtobuf && refused(m, wire) })
}

// refused reports whether a message has no form on a wire.
func refused(m *schema.Message, wire string) bool {
	switch wire {
	case WireJSON:
		return m.NoJSON != ""
	case WireMessagePack:
		return m.NoMessagePack != ""
	}
	return m.NoProto != ""
}

// named lists the wires on which a field has a name or a number.
func named(f *schema.Field) []string {
	var wires []string
	for _, wire := range every() {
		if wire == WireJSON && f.Name != "" || wire == WireMessagePack && f.MessagePack != "" || wire == WireProtobuf && f.Number > 0 {
			wires = append(wires, wire)
		}
	}
	return wires
}

// match finds for the fields of a message those of another one that they have become: by the name in JSON, by a
// number that is no hash, by the name in Go.
func match(old, now *schema.Message) map[*schema.Field]*schema.Field {
	pairs := make(map[*schema.Field]*schema.Field)
	by := func(same func(f, g *schema.Field) bool) {
		for _, f := range old.Fields {
			if pairs[f] != nil {
				continue
			}
			for _, g := range now.Fields {
				if same(f, g) && !isPaired(pairs, g) {
					pairs[f] = g
					break
				}
			}
		}
	}
	by(func(f, g *schema.Field) bool { return f.Name == g.Name && f.Name != "" })
	if !old.Hashed && !now.Hashed {
		by(func(f, g *schema.Field) bool {
			wires, _ := value{f.Type, old.Stock()}.breaks(value{g.Type, now.Stock()})
			return f.Number == g.Number && f.Number > 0 && !slices.Contains(wires, WireProtobuf)
		})
	}
	by(func(f, g *schema.Field) bool { return f.Go == g.Go && f.Go != "" })
	return pairs
}

func isPaired(pairs map[*schema.Field]*schema.Field, g *schema.Field) bool {
	for _, other := range pairs {
		if other == g {
			return true
		}
	}
	return false
}

// field compares two fields.
func (d *differences) field(old, now *schema.Message, f, g *schema.Field) {
	at := old.Name + "." + f.Label()
	what := "the field " + f.Label() + " of " + old.Name
	had, has := travels(old, f), travels(now, g)
	var lost, renamed []string
	for _, wire := range had {
		switch {
		case !slices.Contains(has, wire):
			if !refused(now, wire) { // else the message says so
				lost = append(lost, wire)
			}
		case wire == WireJSON && f.Name != g.Name, wire == WireMessagePack && f.MessagePack != g.MessagePack:
			renamed = append(renamed, wire)
		}
	}
	if len(lost) > 0 {
		d.note(Change{Rule: FieldRemoved, Category: CategoryWire, Wires: lost, At: at, Via: d.via, Text: what + " does not travel by " + list(lost) + " any more",
			Advice: "readers get zero: take it out when no program reads it"})
	}
	number := f.Number != g.Number && f.Number > 0 && g.Number > 0
	if len(renamed) > 0 {
		var names []string
		for _, wire := range renamed {
			name := g.Name
			if wire == WireMessagePack {
				name = g.MessagePack
			}
			names = append(names, name+" in "+wire)
		}
		wires, tag := renamed, oldNames(now, f, renamed)
		advice := "these wires match fields by name: keep the name with " + tag
		if number && old.Hashed && now.Hashed {
			wires, number = append(slices.Clone(renamed), WireProtobuf), false
			advice = "JSON and MessagePack match fields by name, and the number in Protocol Buffers is a hash of the name: keep the name with " + tag
		}
		d.note(Change{Rule: FieldRenamed, Category: CategoryWire, Wires: wires, At: at, Via: d.via, Text: what + " is " + list(names) + " now", Advice: advice})
	}
	if number {
		d.note(Change{Rule: FieldNumberChanged, Category: CategoryWire, Wires: []string{WireProtobuf}, At: at, Via: d.via,
			Text:   fmt.Sprintf("%s had the number %d and has %d", what, f.Number, g.Number),
			Advice: fmt.Sprintf("Protocol Buffers match fields by number: give it back the number %d, by the tag weft:\"%d\" or in the .proto file", f.Number, f.Number)})
	}
	d.fieldType(what, at, value{f.Type, old.Stock()}, value{g.Type, now.Stock()}, intersect(had, has))
	if f.Type.Optional != g.Type.Optional || f.Omitted != g.Omitted {
		d.note(Change{Rule: FieldPresenceChanged, Category: CategorySource, At: at, Via: d.via, Text: what + " was " + presence(f) + " and is " + presence(g),
			Advice: "programs that are checked by types see another type"})
	}
	if f.Oneof != g.Oneof {
		d.note(Change{Rule: FieldOneofChanged, Category: CategoryWire, Wires: intersect([]string{WireJSON, WireProtobuf}, has), At: at, Via: d.via,
			Text:   what + " was " + oneof(f) + " and is " + oneof(g),
			Advice: "a reader keeps one field of a oneof, so that the others are lost: add a field in place of moving one"})
	}
}

// oldNames is how the field f, which has become one of the message now, gets its names on some wires back.
func oldNames(now *schema.Message, f *schema.Field, wires []string) string {
	if now.Stock() {
		return fmt.Sprintf("the option json_name = %q in the .proto file", f.Name)
	}
	var tags []string
	if slices.Contains(wires, WireJSON) {
		tags = append(tags, fmt.Sprintf("json:%q", f.Name))
	}
	if slices.Contains(wires, WireMessagePack) {
		tags = append(tags, fmt.Sprintf("msgpack:%q", f.MessagePack))
	}
	return "the tag " + strings.Join(tags, " ")
}

// fieldType compares the types of a field that travels on some wires.
func (d *differences) fieldType(what, at string, old, now value, wires []string) {
	broken, wider := old.breaks(now)
	broken = intersect(broken, wires)
	was := what + became(old, now)
	switch {
	case len(broken) > 0:
		d.note(Change{Rule: FieldTypeChanged, Category: CategoryWire, Wires: broken, At: at, Via: d.via, Text: was, Advice: "add a field of the new type, and fill both for a while"})
	case wider:
		d.note(Change{Rule: FieldTypeWidened, Category: CategoryCompatible, At: at, Via: d.via, Text: was, Advice: "readers first, then writers: an older reader refuses a number that it cannot hold"})
	}
}

func intersect(a, b []string) []string {
	var both []string
	for _, one := range a {
		if slices.Contains(b, one) {
			both = append(both, one)
		}
	}
	return both
}

func presence(f *schema.Field) string {
	var all []string
	if f.Type.Optional {
		all = append(all, "optional")
	}
	if f.Omitted {
		all = append(all, "left out of JSON when zero")
	}
	if len(all) == 0 {
		return "always there"
	}
	return strings.Join(all, " and ")
}

func oneof(f *schema.Field) string {
	if f.Oneof == "" {
		return "in no oneof"
	}
	return "in the oneof " + f.Oneof
}

// enums compares two enumerations.
func (d *differences) enums(old, now *schema.Enum) {
	if old == nil || now == nil {
		return
	}
	if old.Name != now.Name {
		d.note(Change{Rule: EnumRenamed, Category: CategorySource, At: old.Name, Via: d.via, Text: "the enumeration " + old.Name + " is " + now.Name + " now",
			Advice: "names of enumerations do not travel, but code that is generated uses them"})
	}
	named := func(e *schema.Enum, name string) *schema.EnumValue {
		for _, v := range e.Values {
			if v.Name == name {
				return v
			}
		}
		return nil
	}
	numbered := func(e *schema.Enum, number int32) *schema.EnumValue {
		for _, v := range e.Values {
			if v.Number == number {
				return v
			}
		}
		return nil
	}
	for _, v := range old.Values {
		at := old.Name + "." + v.Name
		what := "the value " + v.Name + " of " + old.Name
		switch same, other := named(now, v.Name), numbered(now, v.Number); {
		case same != nil && same.Number != v.Number:
			d.note(Change{Rule: EnumValueNumberChanged, Category: CategoryWire, Wires: []string{WireProtobuf}, At: at, Via: d.via,
				Text: fmt.Sprintf("%s had the number %d and has %d", what, v.Number, same.Number), Advice: fmt.Sprintf("give it back the number %d", v.Number)})
		case same != nil:
		case other != nil:
			d.note(Change{Rule: EnumValueRenamed, Category: CategoryWire, Wires: []string{WireJSON}, At: at, Via: d.via, Text: what + " is " + other.Name + " now",
				Advice: "JSON has values by name: keep the old name as an alias, with the option allow_alias"})
		default:
			d.note(gone(Change{Rule: EnumValueRemoved, Category: CategoryWire, Wires: []string{WireJSON, WireProtobuf}, At: at, Via: d.via, Text: what + " is gone",
				Advice: "readers of JSON refuse its name or take it for zero, and those of Protocol Buffers get a number without a name: keep it until no program sends it, and reserve its number and its name"}, now.Reserved, user{v.Number, v.Name}))
		}
	}
	var users []user
	for _, v := range now.Values {
		at, what := old.Name+"."+v.Name, "the new value "+v.Name+" of "+old.Name
		u := user{v.Number, v.Name}
		users = append(users, u)
		if named(old, v.Name) == nil && numbered(old, v.Number) == nil && !d.usesReserved(old.Reserved, at, what, u, [2]string{EnumValueNumberReused, EnumValueNameReused}) {
			d.note(Change{Rule: EnumValueAdded, Category: CategoryCompatible, At: at, Via: d.via, Text: "the value " + v.Name + " of " + old.Name + " is new",
				Advice: "readers first, then writers: older readers of JSON refuse a value that they do not know"})
		}
	}
	d.unreserved(old.Name, old.Reserved, now.Reserved, users)
}
