package schema

// jsonForms makes schemas of types, and definitions of the messages and enumerations that they refer to.
type jsonForms struct {
	prefix  string
	named   map[string]*Schema // the definitions so far, by name
	message func(name string) *Message
	enum    func(name string) *Enum
}

// of is the schema of a type. stock says that it is within a message whose JSON is that of protojson.
func (w *jsonForms) of(t *Type, stock bool) *Schema {
	if stock {
		return w.stock(t)
	}
	if t.Optional {
		c := *t
		c.Optional = false
		return nullable(w.of(&c, false))
	}
	switch t.JSON {
	case JSONText:
		return &Schema{Type: "string"}
	case JSONAny, JSONNone:
		return &Schema{}
	case JSONNumber:
		return &Schema{Type: "number"}
	case JSONInteger:
		return &Schema{Type: "integer"}
	case JSONBytes:
		return &Schema{Type: "string", ContentEncoding: "base64", Nullable: true}
	}
	switch t.Kind {
	case KindInt64:
		return &Schema{Type: "integer", Format: "int64"}
	case KindInt8, KindInt16:
		return &Schema{Type: "integer", Format: "int32"}
	case KindUint8, KindUint16, KindUint64:
		return &Schema{Type: "integer", Minimum: new(float64)}
	case KindBytes:
		return &Schema{Type: "string", ContentEncoding: "base64", Nullable: true}
	case KindDuration:
		return &Schema{Type: "integer", Format: "int64", Description: "a duration in nanoseconds", Duration: true}
	case KindList:
		return &Schema{Type: "array", Items: w.of(t.Elem, false), Nullable: true}
	case KindArray:
		return &Schema{Type: "array", Items: w.of(t.Elem, false), MinItems: t.Length, MaxItems: t.Length}
	case KindMap:
		return &Schema{Type: "object", AdditionalProperties: w.of(t.Elem, false), Nullable: true}
	}
	return w.both(t)
}

// stock is of for a type within a message whose JSON is that of protojson.
func (w *jsonForms) stock(t *Type) *Schema {
	switch t.Kind {
	case KindInt64:
		return &Schema{Type: "string", Format: "int64"}
	case KindUint64:
		return &Schema{Type: "string", Format: "uint64"}
	case KindBytes:
		return &Schema{Type: "string", ContentEncoding: "base64"}
	case KindList:
		return &Schema{Type: "array", Items: w.stock(t.Elem)}
	case KindMap:
		return &Schema{Type: "object", AdditionalProperties: w.stock(t.Elem)}
	}
	return w.both(t)
}

// both is of for a type that is the same everywhere.
func (w *jsonForms) both(t *Type) *Schema {
	switch t.Kind {
	case KindBool:
		return &Schema{Type: "boolean"}
	case KindInt32:
		return &Schema{Type: "integer", Format: "int32"}
	case KindUint32:
		return &Schema{Type: "integer", Minimum: new(float64)}
	case KindFloat32:
		return &Schema{Type: "number", Format: "float"}
	case KindFloat64:
		return &Schema{Type: "number", Format: "double"}
	case KindString:
		return &Schema{Type: "string"}
	case KindTime:
		return &Schema{Type: "string", Format: "date-time"}
	case KindEnum:
		if t.Name == NullValue {
			return &Schema{Type: "null"}
		}
		return w.ofEnum(t.Name)
	case KindMessage:
		if known := WellKnown(t.Name); known != nil {
			return known
		}
		return w.ofMessage(t.Name)
	}
	return &Schema{}
}

// ofEnum is a reference to the definition of an enumeration.
func (w *jsonForms) ofEnum(name string) *Schema {
	if w.named[name] == nil {
		d := &Schema{Type: "string"}
		w.named[name] = d
		if e := w.enum(name); e != nil {
			d.Description = e.Doc
			for _, v := range e.Values {
				d.Enum = append(d.Enum, v.Name)
			}
		}
	}
	return &Schema{Ref: w.prefix + name}
}

// ofMessage is a reference to the definition of a message, which is made when it is met for the first time.
func (w *jsonForms) ofMessage(name string) *Schema {
	if w.named[name] == nil {
		d := &Schema{Type: "object"}
		w.named[name] = d
		if m := w.message(name); m != nil {
			d.Description = m.Doc
			for _, f := range m.Fields {
				if f.Name != "" {
					d.property(f.Name, described(w.of(f.Type, m.Stock()), f.Doc))
				}
			}
		}
	}
	return &Schema{Ref: w.prefix + name}
}
