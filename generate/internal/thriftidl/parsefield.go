package thriftidl

import "math"

// fields reads fields up to a symbol, and that.
func (p *parser) fields(end string) ([]*Field, error) {
	var all []*Field
	for !p.is(end) {
		f, err := p.field(end)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, p.advance()
}

func (p *parser) field(end string) (*Field, error) {
	f := &Field{Head: Head{Doc: p.tok.doc}}
	numbered := p.tok.kind == integer
	if numbered {
		if n := p.tok.num; n < 1 || n > math.MaxInt16 {
			return nil, p.tok.pos.errorf("the number of a field is %d: expected one from 1 to %d", n, math.MaxInt16)
		}
		f.ID = int16(p.tok.num)
		if err := p.advance(); err != nil {
			return nil, err
		}
		if err := p.want(":", "behind the number of a field"); err != nil {
			return nil, err
		}
	}
	if p.tok.kind != word {
		if numbered {
			return nil, p.expected("the type of the field")
		}
		return nil, p.expected(`a field or "` + end + `"`)
	}
	for word, need := range map[string]Need{"required": Required, "optional": Optional} {
		if ok, err := p.take(word); err != nil {
			return nil, err
		} else if ok {
			f.Need = need
			break
		}
	}
	var err error
	if f.Type, err = p.fieldType(); err != nil {
		return nil, err
	}
	if _, err := p.take("&"); err != nil { // a mark for C++
		return nil, err
	}
	if err := p.name(&f.Head, "the name of the field"); err != nil {
		return nil, err
	}
	if !numbered {
		return nil, f.Pos.errorf("the field %s has no number: write one, such as \"1:\", before its type. "+
			"Thrift's compiler would give it a negative one, which changes when fields are added", f.Name)
	}
	if ok, err := p.take("="); err != nil {
		return nil, err
	} else if ok {
		if f.Value, err = p.value(); err != nil {
			return nil, err
		}
	}
	if err := p.xsd(); err != nil {
		return nil, err
	}
	return f, p.end(&f.Head)
}

// xsd goes on behind what is for XML schemas alone.
func (p *parser) xsd() error {
	for _, word := range []string{"xsd_optional", "xsd_nillable"} {
		if _, err := p.take(word); err != nil {
			return err
		}
	}
	ok, err := p.take("xsd_attrs")
	if !ok || err != nil {
		return err
	}
	if p.depth++; p.depth > maxDepth {
		return p.tok.pos.errorf("more than %d attributes stand in one another", maxDepth)
	}
	defer func() { p.depth-- }()
	if err := p.want("{", "behind xsd_attrs"); err != nil {
		return err
	}
	_, err = p.fields("}")
	return err
}

// fieldType reads a type.
func (p *parser) fieldType() (*Type, error) {
	if p.tok.kind != word {
		return nil, p.expected("a type")
	}
	if p.depth++; p.depth > maxDepth {
		return nil, p.tok.pos.errorf("more than %d types stand in one another", maxDepth)
	}
	defer func() { p.depth-- }()
	t := &Type{Pos: p.tok.pos, Name: p.tok.text, Kind: Named}
	name := p.tok.text
	if name == "slist" {
		return nil, p.tok.pos.errorf("Thrift has no slist any more: use string")
	}
	if name == "void" {
		return nil, p.tok.pos.errorf("void is the result of functions alone: expected a type")
	}
	if k, ok := kinds()[name]; ok {
		t.Kind, t.Name = k, ""
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	var err error
	switch name {
	case "list", "set", "map":
		err = p.container(t, name)
	}
	if err == nil {
		t.Annotations, err = p.annotations()
	}
	return t, err
}

// container reads what stands behind list, set and map.
func (p *parser) container(t *Type, name string) (err error) {
	t.Kind, t.Name = map[string]Kind{"list": List, "set": Set, "map": Map}[name], ""
	if err := p.cppType(); err != nil {
		return err
	}
	if err := p.want("<", "behind "+name); err != nil {
		return err
	}
	if t.Kind == Map {
		if t.Key, err = p.fieldType(); err != nil {
			return err
		}
		if err := p.want(",", "behind the type of the keys"); err != nil {
			return err
		}
	}
	if t.Elem, err = p.fieldType(); err != nil {
		return err
	}
	if err := p.want(">", "behind the type of the elements"); err != nil {
		return err
	}
	return p.cppType()
}

// cppType goes on behind a mark for C++.
func (p *parser) cppType() error {
	ok, err := p.take("cpp_type")
	if ok && err == nil {
		_, err = p.text("a type in quotes behind cpp_type")
	}
	return err
}

// annotations reads annotations, if there are any.
func (p *parser) annotations() (Annotations, error) {
	ok, err := p.take("(")
	if !ok || err != nil {
		return nil, err
	}
	var all Annotations
	for !p.is(")") {
		a := Annotation{Pos: p.tok.pos, Value: "1"}
		if a.Name, err = p.reference(`the name of an annotation, or ")"`); err != nil {
			return nil, err
		}
		if ok, err := p.take("="); err != nil {
			return nil, err
		} else if ok {
			if a.Value, err = p.text("the value of the annotation in quotes"); err != nil {
				return nil, err
			}
		}
		if err := p.separator(); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, p.advance()
}

// value reads the value of a constant.
func (p *parser) value() (*Value, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.tok.pos.errorf("more than %d values stand in one another", maxDepth)
	}
	defer func() { p.depth-- }()
	v := &Value{Pos: p.tok.pos, Int: p.tok.num, Double: p.tok.dbl}
	switch {
	case p.tok.kind == integer:
		v.Kind = IntValue
	case p.tok.kind == double:
		v.Kind = DoubleValue
	case p.tok.kind == literal:
		v.Kind, v.Text = TextValue, p.tok.text
	case p.tok.kind == word:
		v.Kind, v.Text = NameValue, p.tok.text
	case p.is("["):
		v.Kind = ListValue
		return v, p.elements(v)
	case p.is("{"):
		v.Kind = MapValue
		return v, p.entries(v)
	default:
		return nil, p.expected("a value: a number, a text in quotes, a name, a list in [] or a map in {}")
	}
	return v, p.advance()
}

func (p *parser) elements(v *Value) error {
	if err := p.advance(); err != nil {
		return err
	}
	for !p.is("]") {
		if p.tok.kind == endOfFile {
			return p.expected(`a value or "]"`)
		}
		e, err := p.value()
		if err != nil {
			return err
		}
		v.List = append(v.List, e)
		if err := p.separator(); err != nil {
			return err
		}
	}
	return p.advance()
}

func (p *parser) entries(v *Value) error {
	if err := p.advance(); err != nil {
		return err
	}
	for !p.is("}") {
		if p.tok.kind == endOfFile {
			return p.expected(`a key or "}"`)
		}
		key, err := p.value()
		if err != nil {
			return err
		}
		if err := p.want(":", "behind a key"); err != nil {
			return err
		}
		value, err := p.value()
		if err != nil {
			return err
		}
		v.Map = append(v.Map, Pair{key, value})
		if err := p.separator(); err != nil {
			return err
		}
	}
	return p.advance()
}
