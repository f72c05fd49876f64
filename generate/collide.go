package generate

import (
	"errors"
	"fmt"
)

// collisions returns an error for names that the output would declare twice, or that the package has already.
func (f *file) collisions() error {
	c := &collider{names: make(map[string]string)}
	for name := range f.imports.Declared {
		c.names[name] = "the package"
	}
	for _, e := range f.enums {
		what := "the enumeration " + e.name
		c.claim(e.name, what)
		for _, v := range e.values {
			c.claim(v.name, "the value "+v.name+" of "+what)
		}
	}
	for _, r := range f.structs {
		c.claim(r.name, "the message "+r.name)
	}
	records := f.structs
	if len(records) == 0 { // those of Go are declared
		records = f.coded
	}
	for _, r := range records {
		c.members(r, len(f.coded) > 0)
	}
	for _, s := range f.services {
		c.service(s)
	}
	return errors.Join(c.wrong...)
}

// collider knows what names stand for.
type collider struct {
	names map[string]string
	wrong []error
}

func (c *collider) claim(name, what string) {
	if other, ok := c.names[name]; ok {
		c.wrong = append(c.wrong, fmt.Errorf("%s needs the name %s in Go, which %s has: rename one", what, name, other))
		return
	}
	c.names[name] = what
}

// members finds fields of one name, and, of a record with code, fields with the names of its methods.
func (c *collider) members(r *record, coded bool) {
	within := &collider{names: make(map[string]string)}
	if coded {
		for _, method := range []string{"FieldsWeft", "AppendWeft", "DecodeWeft", "putWeft", "restWeft"} {
			within.names[method] = "a method of its code"
		}
	}
	for _, f := range r.fields {
		within.claim(f.name, fmt.Sprintf("the field %d of %s", f.number, r.name))
	}
	c.wrong = append(c.wrong, within.wrong...)
}

func (c *collider) service(s *service) {
	what := "the service " + s.name
	if !s.declared {
		c.claim(s.goName, what)
	}
	for _, name := range []string{s.goName + "Client", "New" + s.goName + "Client", "Register" + s.goName} {
		c.claim(name, what)
	}
	within := &collider{names: map[string]string{optionsMethod: "a method of every client, which adds options,"}}
	for _, m := range s.methods {
		within.claim(m.name, "the method "+m.wireName+" of "+what)
	}
	c.wrong = append(c.wrong, within.wrong...)
}
