package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weftrpc/weft/schema/internal/naming"
)

// modelFormat is the version of the JSON form of a Model.
const modelFormat = 1

// maxTypeDepth is how deep lists and maps may nest in a model that is decoded.
const maxTypeDepth = 32

// Encode returns the JSON form of the model, which Decode reads: the same for the same model.
func (m *Model) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(m)
	return b.Bytes(), err
}

// Decode reads the JSON form of a model, and checks it.
func Decode(text []byte) (*Model, error) {
	m := new(Model)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("schema: this is no saved schema: %w", err)
	}
	if m.Format != modelFormat {
		return nil, fmt.Errorf("schema: this is no saved schema of version %d: its member weft_schema is %d", modelFormat, m.Format)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("schema: the saved schema is wrong: %w", err)
	}
	m.sort()
	for i := 1; i < len(m.Messages); i++ {
		if m.Messages[i-1].Name == m.Messages[i].Name {
			return nil, fmt.Errorf("schema: the saved schema is wrong: two messages are called %s", m.Messages[i].Name)
		}
	}
	for i := 1; i < len(m.Enums); i++ {
		if m.Enums[i-1].Name == m.Enums[i].Name {
			return nil, fmt.Errorf("schema: the saved schema is wrong: two enumerations are called %s", m.Enums[i].Name)
		}
	}
	for _, one := range m.Messages {
		for _, f := range one.Fields {
			if err := m.known(f.Type); err != nil {
				return nil, fmt.Errorf("schema: the saved schema is wrong: %s.%s: %w", one.Name, f.Label(), err)
			}
		}
	}
	for _, s := range m.Services {
		for _, one := range s.Methods {
			if err := errors.Join(m.known(one.Request), m.known(one.Reply)); err != nil {
				return nil, fmt.Errorf("schema: the saved schema is wrong: %s.%s: %w", s.Name, one.Name, err)
			}
		}
	}
	return m, nil
}

// check finds what is missing in a model.
func (m *Model) check() error {
	for _, s := range m.Services {
		if s == nil || s.Name == "" {
			return errors.New("a service has no name")
		}
		for _, one := range s.Methods {
			switch {
			case one == nil || one.Name == "":
				return fmt.Errorf("a method of %s has no name", s.Name)
			case !slices.Contains([]string{Unary, ServerStream, ClientStream, BidiStream}, one.Kind):
				return fmt.Errorf("%s.%s is of no kind %q", s.Name, one.Name, one.Kind)
			}
			for _, t := range []*Type{one.Request, one.Reply} {
				if err := t.check(0); err != nil {
					return fmt.Errorf("%s.%s: %w", s.Name, one.Name, err)
				}
			}
		}
	}
	for _, one := range m.Messages {
		if one == nil || naming.Identifiers(one.Name) != one.Name {
			return errors.New("a message has no name, or one with other characters than letters, digits, dots and underscores")
		}
		if err := one.Reserved.check(); err != nil {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
		for _, f := range one.Fields {
			if f == nil {
				return fmt.Errorf("a field of %s is null", one.Name)
			}
			if f.Number < 0 || f.Number >= 1<<29 {
				return fmt.Errorf("%s.%s has the number %d", one.Name, f.Label(), f.Number)
			}
			if err := f.Type.check(0); err != nil {
				return fmt.Errorf("%s.%s: %w", one.Name, f.Label(), err)
			}
		}
	}
	for _, e := range m.Enums {
		if e == nil || naming.Identifiers(e.Name) != e.Name || slices.Contains(e.Values, nil) {
			return errors.New("an enumeration has no name, or one with other characters than letters, digits, dots and underscores, or a value that is null")
		}
		if err := e.Reserved.check(); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return nil
}

// check finds what is wrong with a type that was decoded.
func (t *Type) check(depth int) error {
	switch {
	case t == nil:
		return errors.New("a type is missing")
	case depth > maxTypeDepth:
		return fmt.Errorf("a type nests deeper than %d", maxTypeDepth)
	}
	switch t.Kind {
	case KindMessage, KindEnum:
		if t.Name == "" {
			return fmt.Errorf("a type of the kind %s has no name", t.Kind)
		}
	case KindMap:
		if err := t.Key.check(depth + 1); err != nil {
			return err
		}
		return t.Elem.check(depth + 1)
	case KindList, KindArray:
		return t.Elem.check(depth + 1)
	case KindBool, KindInt8, KindInt16, KindInt32, KindInt64, KindUint8, KindUint16, KindUint32, KindUint64, KindFloat32, KindFloat64,
		KindString, KindBytes, KindTime, KindDuration, KindAny:
	default:
		return fmt.Errorf("there is no kind of type %q", t.Kind)
	}
	if t.Elem != nil || t.Key != nil {
		return fmt.Errorf("a type of the kind %s has elements", t.Kind)
	}
	return nil
}

// known finds the names in a type that the model does not have.
func (m *Model) known(t *Type) (err error) {
	t.Each(func(t *Type) {
		switch {
		case t.Kind == KindMessage && WellKnown(t.Name) == nil && m.Message(t.Name) == nil:
			err = fmt.Errorf("there is no message %s", t.Name)
		case t.Kind == KindEnum && t.Name != NullValue && m.Enum(t.Name) == nil:
			err = fmt.Errorf("there is no enumeration %s", t.Name)
		}
	})
	return err
}
