package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weftrpc/weft/schema"
)

// user is a field or a value of an enumeration: what uses a number and a name.
type user struct {
	number int32
	name   string
}

// unreserved notes the numbers and names of a message or an enumeration that are not reserved any more, without those that a field or a value
// uses now, which is noted where that is new.
func (d *differences) unreserved(at string, old, now *schema.Reserved, users []user) {
	if old == nil {
		return
	}
	note := func(wire, text string) {
		d.note(Change{Rule: ReservedRemoved, Category: CategoryWire, Wires: []string{wire}, At: at, Via: d.via, Text: at + " does not reserve " + text + " any more",
			Advice: "what older programs send under it is taken for what has it next: keep it reserved"})
	}
	var taken []schema.Range
	if now != nil {
		taken = slices.Clone(now.Numbers)
	}
	for _, u := range users {
		taken = append(taken, schema.Range{First: u.number, Last: u.number})
	}
	slices.SortFunc(taken, func(a, b schema.Range) int { return cmp.Compare(a.First, b.First) })
	for _, r := range old.Numbers {
		for _, left := range without(r, taken) {
			text := fmt.Sprintf("the number %d", left.First)
			if left.First < left.Last {
				text = fmt.Sprintf("the numbers %d to %d", left.First, left.Last)
			}
			note(WireProtobuf, text)
		}
	}
	for _, name := range old.Names {
		if !now.HasName(name) && !slices.ContainsFunc(users, func(u user) bool { return u.name == name }) {
			note(WireJSON, "the name "+name)
		}
	}
}

// without is the range without those that are taken, which are in ascending order.
func without(r schema.Range, taken []schema.Range) (left []schema.Range) {
	for _, t := range taken {
		if t.Last < r.First || t.First > r.Last {
			continue
		}
		if t.First > r.First {
			left = append(left, schema.Range{First: r.First, Last: t.First - 1})
		}
		if t.Last >= r.Last {
			return left
		}
		r.First = t.Last + 1
	}
	return append(left, r)
}

// usesReserved notes that something new has a number or a name that was reserved, by the one rule or the other, and reports whether it does.
func (d *differences) usesReserved(old *schema.Reserved, at, what string, u user, rules [2]string) bool {
	number, name := old.HasNumber(u.number), old.HasName(u.name)
	if number {
		d.note(Change{Rule: rules[0], Category: CategoryWire, Wires: []string{WireProtobuf}, At: at, Via: d.via, Text: fmt.Sprintf("%s has the number %d, which was reserved", what, u.number),
			Advice: "give it a number that was never used"})
	}
	if name {
		d.note(Change{Rule: rules[1], Category: CategoryWire, Wires: []string{WireJSON}, At: at, Via: d.via, Text: what + " has the name " + u.name + ", which was reserved",
			Advice: "give it a name that was never used"})
	}
	return number || name
}

// gone is a change by which a field or a value is gone that travels on some wires. Where its number and its name are reserved, which is how a
// .proto file says that this is on purpose, it breaks no wire, but code that is generated.
// A value of an enumeration breaks JSON all the same: it travels there by its name, for which a reader that does not know it has no value.
func gone(c Change, now *schema.Reserved, u user) Change {
	c.Wires = slices.DeleteFunc(c.Wires, func(wire string) bool {
		return wire == WireProtobuf && now.HasNumber(u.number) || wire == WireJSON && c.Rule == FieldRemoved && now.HasName(u.name)
	})
	if len(c.Wires) == 0 {
		c.Category, c.Advice = CategorySource, "remove it when no program uses it"
	}
	return c
}
