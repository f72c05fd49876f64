package thriftidl

import (
	"math"
	"strconv"
	"strings"
)

// values resolves the names in all values and checks that the values fit their types.
func (c *checker) values() {
	for _, x := range c.d.Consts {
		c.names(x.Value, x.Type)
	}
	each := func(all []*Field) {
		for _, f := range all {
			if f.Value != nil {
				c.names(f.Value, f.Type)
			}
		}
	}
	for _, s := range c.d.Structs {
		each(s.Fields)
	}
	for _, s := range c.d.Services {
		for _, f := range s.Functions {
			each(f.Params)
		}
	}
	if len(c.errs) == 0 {
		c.constCircles()
	}
	if len(c.errs) > 0 {
		return
	}
	for _, x := range c.d.Consts {
		c.fits(x.Value, x.Type, "the constant "+x.Name)
	}
	fit := func(all []*Field, where string) {
		for _, f := range all {
			if f.Value != nil {
				c.fits(f.Value, f.Type, "the default of "+where+"."+f.Name)
			}
		}
	}
	for _, s := range c.d.Structs {
		fit(s.Fields, s.Name)
	}
	for _, s := range c.d.Services {
		for _, f := range s.Functions {
			fit(f.Params, s.Name+"."+f.Name)
		}
	}
}

// names resolves the names in a value of a type. In a value of an enum those of its values may stand alone.
func (c *checker) names(v *Value, t *Type) {
	u := t.Underlying()
	switch v.Kind {
	case ListValue:
		elem := u
		if u.Kind == List || u.Kind == Set {
			elem = u.Elem
		}
		for _, e := range v.List {
			c.names(e, elem)
		}
	case MapValue:
		for _, e := range v.Map {
			key, elem := u, u
			if u.Kind == Map {
				key, elem = u.Key, u.Elem
			} else if f := fieldOf(u, e.Key); f != nil {
				elem = f.Type
			}
			c.names(e.Key, key)
			c.names(e.Value, elem)
		}
	case NameValue:
		c.name(v, u)
	}
}

// fieldOf is the field of a struct that a key names.
func fieldOf(u *Type, key *Value) *Field {
	if u.Struct == nil || key.Kind != TextValue {
		return nil
	}
	for _, f := range u.Struct.Fields {
		if f.Name == key.Text {
			return f
		}
	}
	return nil
}

func (c *checker) name(v *Value, u *Type) {
	what, _, rest := c.find(v.Text)
	switch x := what.(type) {
	case *Const:
		if rest == "" {
			v.Const = x
			return
		}
	case *Enum:
		if v.Enum = x.value(rest); v.Enum != nil {
			return
		}
		c.fail(v.Pos.errorf("the enum %s has no value %q", x.Name, rest))
		return
	case nil:
		if v.Text == "true" || v.Text == "false" {
			v.Kind, v.Int = IntValue, 0
			if v.Text == "true" {
				v.Int = 1
			}
			return
		}
		if u.Enum != nil {
			if v.Enum = u.Enum.value(v.Text); v.Enum != nil {
				return
			}
		}
	}
	c.fail(c.unknown(v.Pos, "constant", v.Text))
}

// value returns the value with a name; nil: there is none.
func (e *Enum) value(name string) *EnumValue {
	for _, v := range e.Values {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// constCircles finds constants that lead to themselves.
func (c *checker) constCircles() {
	state := make(map[*Const]int) // 1: begun, 2: done
	var visit func(x *Const) bool
	var within func(v *Value) bool
	within = func(v *Value) bool {
		for _, e := range v.List {
			if !within(e) {
				return false
			}
		}
		for _, e := range v.Map {
			if !within(e.Key) || !within(e.Value) {
				return false
			}
		}
		return v.Const == nil || visit(v.Const)
	}
	visit = func(x *Const) bool {
		switch state[x] {
		case 1:
			c.fail(x.Pos.errorf("the constant %s leads to itself", x.Name))
			return false
		case 2:
			return true
		}
		state[x] = 1
		ok := within(x.Value)
		state[x] = 2
		return ok
	}
	for _, x := range c.d.Consts {
		if !visit(x) {
			return
		}
	}
}

// maxValues is how many values stand in one, with those that constants are in the place of their names.
const maxValues = 1 << 16

// fits checks that a value fits a type. what is of what it is the value.
func (c *checker) fits(v *Value, t *Type, what string) {
	left := maxValues
	c.fit(v, t, what, &left)
}

func (c *checker) fit(v *Value, t *Type, what string, left *int) {
	if *left--; *left < 0 {
		if *left == -1 {
			c.fail(v.Pos.errorf("%s has more than %d values in it", what, maxValues))
		}
		return
	}
	u, f := t.Underlying(), v.Final()
	wrong := func() { c.fail(v.Pos.errorf("%s is %s: expected a value of the type %s", what, f.describe(), t)) }
	switch u.Kind {
	case Bool:
		if f.Kind != IntValue || f.Int != 0 && f.Int != 1 {
			wrong()
		}
	case I8, I16, I32, I64:
		n, ok := f.integer()
		if !ok {
			wrong()
			return
		}
		if bits := map[Kind]int{I8: 8, I16: 16, I32: 32, I64: 64}[u.Kind]; n < math.MinInt64>>(64-bits) || n > math.MaxInt64>>(64-bits) {
			c.fail(v.Pos.errorf("%s is %d, which does not fit the type %s", what, n, t))
		}
	case Double:
		if f.Kind != DoubleValue && f.Kind != IntValue {
			wrong()
		}
	case String, Binary:
		if f.Kind != TextValue {
			wrong()
		}
	case UUID:
		if _, ok := f.UUID(); f.Kind != TextValue || !ok {
			wrong()
		}
	case List, Set:
		if f.Kind != ListValue && !f.empty() {
			wrong()
		}
		for _, e := range f.List {
			c.fit(e, u.Elem, what, left)
		}
	case Map:
		if f.Kind != MapValue && !f.empty() {
			wrong()
		}
		seen := make(map[string]bool)
		for _, e := range f.Map {
			c.fit(e.Key, u.Key, what, left)
			c.fit(e.Value, u.Elem, what, left)
			if key := e.Key.Final().key(u.Key.Underlying()); key != "" && seen[key] {
				c.fail(e.Key.Pos.errorf("%s has the key %s twice", what, e.Key.Final().describe()))
			} else {
				seen[key] = true
			}
		}
	case Named:
		if u.Enum != nil {
			c.fitEnum(v, f, u.Enum, what, wrong)
		} else {
			c.fitStruct(f, u, what, wrong, left)
		}
	}
}

// key tells the keys of a map apart; "": it does not.
func (v *Value) key(u *Type) string {
	n, ok := v.integer()
	switch {
	case u.Kind == Double && v.Kind == DoubleValue:
		return strconv.FormatFloat(v.Double, 'g', -1, 64)
	case u.Kind == Double && ok:
		return strconv.FormatFloat(float64(n), 'g', -1, 64)
	case ok:
		return strconv.FormatInt(n, 10)
	case u.Kind == UUID:
		id, _ := v.UUID()
		return string(id[:])
	case v.Kind == TextValue:
		return strconv.Quote(v.Text)
	}
	return ""
}

// empty reports whether a value is an empty list or map, which may stand for each other.
func (v *Value) empty() bool {
	return (v.Kind == ListValue || v.Kind == MapValue) && len(v.List)+len(v.Map) == 0
}

// integer is the number that a value is.
func (v *Value) integer() (n int64, ok bool) {
	if v.Enum != nil {
		return int64(v.Enum.Number), true
	}
	return v.Int, v.Kind == IntValue
}

// UUID is the uuid that a text is.
func (v *Value) UUID() (id [16]byte, ok bool) {
	digits := strings.ReplaceAll(strings.Trim(v.Text, "{}"), "-", "")
	if len(digits) != 32 {
		return id, false
	}
	for i, c := range []byte(strings.ToLower(digits)) {
		n := strings.IndexByte("0123456789abcdef", c)
		if n < 0 {
			return id, false
		}
		id[i/2] |= byte(n) << (4 * (1 - i%2))
	}
	return id, true
}

func (c *checker) fitEnum(v, f *Value, e *Enum, what string, wrong func()) {
	n, ok := f.integer()
	if !ok {
		wrong()
		return
	}
	for _, known := range e.Values {
		if int64(known.Number) == n {
			return
		}
	}
	c.fail(v.Pos.errorf("%s is %d, which is no value of the enum %s", what, n, e.Name))
}

func (c *checker) fitStruct(f *Value, u *Type, what string, wrong func(), left *int) {
	if f.Kind != MapValue {
		wrong()
		return
	}
	seen := make(map[string]bool)
	for _, e := range f.Map {
		field := fieldOf(u, e.Key.Final())
		switch {
		case field == nil:
			c.fail(e.Key.Pos.errorf("%s has the key %s: expected the name of a field of %s in quotes", what, e.Key.Final().describe(), u.Struct.Name))
			continue
		case seen[field.Name]:
			c.fail(e.Key.Pos.errorf("%s has the field %s twice", what, field.Name))
		}
		seen[field.Name] = true
		c.fit(e.Value, field.Type, what+"."+field.Name, left)
	}
	if u.Struct.Kind == Union && len(f.Map) > 1 {
		c.fail(f.Pos.errorf("%s has %d fields of the union %s: at most one is there", what, len(f.Map), u.Struct.Name))
	}
}

// describe names a value in an error.
func (v *Value) describe() string {
	switch v.Kind {
	case ListValue:
		return "a list"
	case MapValue:
		return "a map"
	case NameValue:
		return v.Text
	}
	t := token{kind: map[ValueKind]tokenKind{IntValue: integer, DoubleValue: double, TextValue: literal}[v.Kind], num: v.Int, dbl: v.Double, text: v.Text}
	return t.describe()
}
