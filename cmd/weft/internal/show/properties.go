package show

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// properties are the fields of an object in the order in which the schema has them.
type properties struct {
	names []string
	nodes map[string]*node
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *properties) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &p.nodes); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t == nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		p.names = append(p.names, fmt.Sprint(name))
		if err := d.Decode(new(json.RawMessage)); err != nil {
			return err
		}
	}
	return nil
}

// template is an object with its fields in order.
type template struct {
	names  []string
	values []any
}

func (t *template) add(name string, value any) {
	t.names, t.values = append(t.names, name), append(t.values, value)
}

// MarshalJSON implements json.Marshaler.
func (t *template) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for n, name := range t.names {
		if n > 0 {
			b.WriteByte(',')
		}
		for i, part := range []any{name, t.values[n]} {
			text, err := json.Marshal(part)
			if err != nil {
				return nil, err
			}
			b.Write(text)
			if i == 0 {
				b.WriteByte(':')
			}
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
