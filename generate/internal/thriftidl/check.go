package thriftidl

import (
	"errors"
	"strings"
)

// checker resolves the names in a document, and checks it. The documents that it includes have been checked.
type checker struct {
	d        *Document
	includes map[string]*Include
	errs     []error
}

// maxErrors is how many errors of a document are told.
const maxErrors = 20

func (c *checker) fail(err *Error) {
	if len(c.errs) < maxErrors {
		c.errs = append(c.errs, err)
	}
}

// check does the work. Later steps rely on what the steps before have found right.
func (c *checker) check() error {
	for _, step := range []func(){c.define, c.types, c.circles, c.members, c.services, c.values} {
		step()
		if len(c.errs) > 0 {
			return errors.Join(c.errs...)
		}
	}
	return nil
}

// define enters all definitions under their names.
func (c *checker) define() {
	c.d.names = make(map[string]any)
	seen := make(map[string]Pos)
	enter := func(h *Head, what any) {
		if _, builtin := kinds()[h.Name]; builtin || h.Name == "list" || h.Name == "set" || h.Name == "map" || h.Name == "void" {
			c.fail(h.Pos.errorf("%s is a type of Thrift's own: choose another name", h.Name))
			return
		}
		if at, ok := seen[h.Name]; ok {
			c.fail(h.Pos.errorf("%s is defined already at %s", h.Name, at))
			return
		}
		seen[h.Name], c.d.names[h.Name] = h.Pos, what
	}
	for _, x := range c.d.Typedefs {
		enter(&x.Head, x)
	}
	for _, x := range c.d.Consts {
		enter(&x.Head, x)
	}
	for _, x := range c.d.Enums {
		enter(&x.Head, x)
	}
	for _, x := range c.d.Structs {
		enter(&x.Head, x)
	}
	for _, x := range c.d.Services {
		enter(&x.Head, x)
	}
}

// find returns the definition that a name leads to, and the document that has it; rest is what stands behind the
// name of the definition, such as the value of an enum.
func (c *checker) find(name string) (what any, in *Document, rest string) {
	for i := len(name); i > 0; i = strings.LastIndexByte(name[:i], '.') {
		if include := c.includes[name[:i]]; include != nil && i < len(name) {
			first, rest, _ := strings.Cut(name[i+1:], ".")
			if what := include.Document.names[first]; what != nil {
				return what, include.Document, rest
			}
		}
	}
	first, rest, _ := strings.Cut(name, ".")
	return c.d.names[first], c.d, rest
}

// unknown is the error of a name that leads nowhere.
func (c *checker) unknown(pos Pos, what, name string) *Error {
	if prefix, _, ok := strings.Cut(name, "."); ok && c.includes[prefix] == nil {
		return pos.errorf("there is no %s %s, and no include is called %q", what, name, prefix)
	}
	return pos.errorf("there is no %s %s", what, name)
}

// types resolves the names of all types.
func (c *checker) types() {
	for _, x := range c.d.Typedefs {
		c.resolve(x.Type)
	}
	for _, x := range c.d.Consts {
		c.resolve(x.Type)
	}
	fields := func(all []*Field) {
		for _, f := range all {
			c.resolve(f.Type)
		}
	}
	for _, x := range c.d.Structs {
		fields(x.Fields)
	}
	for _, x := range c.d.Services {
		for _, f := range x.Functions {
			if f.Result != nil {
				c.resolve(f.Result)
			}
			fields(f.Params)
			fields(f.Throws)
		}
	}
}

func (c *checker) resolve(t *Type) {
	if t.Key != nil {
		c.resolve(t.Key)
	}
	if t.Elem != nil {
		c.resolve(t.Elem)
	}
	if t.Kind != Named {
		return
	}
	what, in, rest := c.find(t.Name)
	t.Document = in
	if rest != "" {
		what = nil
	}
	switch x := what.(type) {
	case *Typedef:
		t.Typedef = x
	case *Enum:
		t.Enum = x
	case *Struct:
		t.Struct = x
	case nil:
		c.fail(c.unknown(t.Pos, "type", t.Name))
	default:
		c.fail(t.Pos.errorf("%s is no type", t.Name))
	}
}

// circles finds typedefs that lead to themselves.
func (c *checker) circles() {
	// Those of other documents lead to no typedef of this one.
	state := make(map[*Typedef]int) // 1: begun, 2: done
	var visit func(t *Type) bool
	visit = func(t *Type) bool {
		if t == nil {
			return true
		}
		if t.Typedef == nil {
			return visit(t.Key) && visit(t.Elem)
		}
		if t.Document != c.d || state[t.Typedef] == 2 {
			return true
		}
		if state[t.Typedef] == 1 {
			c.fail(t.Pos.errorf("the typedef %s leads to itself", t.Name))
			return false
		}
		state[t.Typedef] = 1
		ok := visit(t.Typedef.Type)
		state[t.Typedef] = 2
		return ok
	}
	for _, x := range c.d.Typedefs {
		if !visit(&Type{Kind: Named, Pos: x.Pos, Name: x.Name, Typedef: x, Document: c.d}) {
			return
		}
	}
}

// members checks the names and the numbers within definitions.
func (c *checker) members() {
	for _, e := range c.d.Enums {
		seen := make(map[string]Pos)
		for _, v := range e.Values {
			c.once(seen, &v.Head, "the enum "+e.Name)
		}
	}
	for _, s := range c.d.Structs {
		c.fields(s.Fields, "the "+s.Kind.String()+" "+s.Name)
		for _, f := range s.Fields {
			if s.Kind == Union && f.Need == Required {
				c.fail(f.Pos.errorf("the field %s of the union %s is required: at most one field of a union is there", f.Name, s.Name))
			}
		}
	}
}

// once notes a name, which must be another than all before.
func (c *checker) once(seen map[string]Pos, h *Head, where string) {
	if at, ok := seen[h.Name]; ok {
		c.fail(h.Pos.errorf("%s has %s already, at %s", where, h.Name, at))
	}
	seen[h.Name] = h.Pos
}

func (c *checker) fields(all []*Field, where string) {
	seen := make(map[string]Pos)
	numbers := make(map[int16]*Field)
	for _, f := range all {
		c.once(seen, &f.Head, where)
		if other := numbers[f.ID]; other != nil {
			c.fail(f.Pos.errorf("the field %s of %s has the number %d, as %s has at %s", f.Name, where, f.ID, other.Name, other.Pos))
		}
		numbers[f.ID] = f
	}
}

// services resolves what services extend, and checks their functions.
func (c *checker) services() {
	for _, s := range c.d.Services {
		if s.Extends == "" {
			continue
		}
		what, _, rest := c.find(s.Extends)
		base, ok := what.(*Service)
		if !ok || rest != "" {
			c.fail(c.unknown(s.extendsPos, "service", s.Extends))
			continue
		}
		s.Base = base
	}
	for _, s := range c.d.Services {
		for slow, fast := s, s; fast.Base != nil && fast.Base.Base != nil; {
			slow, fast = slow.Base, fast.Base.Base
			if slow == fast {
				c.fail(s.extendsPos.errorf("the service %s extends itself", s.Name))
				return
			}
		}
	}
	for _, s := range c.d.Services {
		seen := make(map[string]Pos)
		for base := s.Base; base != nil; base = base.Base {
			for _, f := range base.Functions {
				seen[f.Name] = f.Pos
			}
		}
		for _, f := range s.Functions {
			c.once(seen, &f.Head, "the service "+s.Name)
			c.function(s, f)
		}
	}
}

func (c *checker) function(s *Service, f *Function) {
	where := s.Name + "." + f.Name
	c.fields(f.Params, "the function "+where)
	seen := make(map[string]Pos)
	numbers := make(map[int16]bool)
	for _, t := range f.Throws {
		c.once(seen, &t.Head, "the list of what "+where+" throws")
		if numbers[t.ID] {
			c.fail(t.Pos.errorf("%s throws two exceptions with the number %d", where, t.ID))
		}
		numbers[t.ID] = true
		if u := t.Type.Underlying(); u.Struct == nil || u.Struct.Kind != Exception {
			c.fail(t.Type.Pos.errorf("%s throws %s, which is no exception", where, t.Type))
		}
	}
	switch {
	case f.Oneway && f.Result != nil:
		c.fail(f.Pos.errorf("%s is oneway and has a result: expected void", where))
	case f.Oneway && len(f.Throws) > 0:
		c.fail(f.Pos.errorf("%s is oneway and throws: its callers get no answer", where))
	}
}
