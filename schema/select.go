package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Select returns the part of the model that is about services, or methods as "Service.Method", with these names. Without
// names it is that about all services but those of weft and gRPC themselves, whose names begin with "weft." and "grpc.".
func (m *Model) Select(names ...string) (*Model, error) {
	out := &Model{Format: m.Format}
	found := make(map[string]bool)
	var all []string
	for _, s := range m.Services {
		all = append(all, s.Name)
		if len(names) == 0 {
			if !strings.HasPrefix(s.Name, "weft.") && !strings.HasPrefix(s.Name, "grpc.") {
				out.Services = append(out.Services, s)
			}
			continue
		}
		part := *s
		part.Methods = nil
		for _, one := range s.Methods {
			for _, name := range append([]string{s.Name, s.Name + "." + one.Name}, one.Aliases...) {
				if slices.Contains(names, name) {
					found[name] = true
					if !slices.Contains(part.Methods, one) {
						part.Methods = append(part.Methods, one)
					}
				}
			}
		}
		if len(part.Methods) > 0 {
			out.Services = append(out.Services, &part)
		}
	}
	for _, name := range names {
		if !found[name] {
			return nil, fmt.Errorf("schema: there is no service or method %q, only %s", name, orNothing(strings.Join(all, ", ")))
		}
	}
	if len(out.Services) == 0 {
		return nil, fmt.Errorf("schema: there is no service but those of weft and gRPC themselves, which have to be named: %s", orNothing(strings.Join(all, ", ")))
	}
	out.Keep(m)
	return out, nil
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// Keep adds the messages and enumerations of another model that the services need, and no others.
func (m *Model) Keep(from *Model) {
	needed := make(map[string]bool)
	var need func(t *Type)
	need = func(t *Type) {
		if t.Kind != KindMessage && t.Kind != KindEnum || needed[t.Name] {
			return
		}
		needed[t.Name] = true
		if one := from.Message(t.Name); t.Kind == KindMessage && one != nil {
			for _, f := range one.Fields {
				f.Type.Each(need)
			}
		}
	}
	m.eachType(need)
	for _, one := range from.Messages {
		if needed[one.Name] {
			m.Messages = append(m.Messages, one)
		}
	}
	for _, e := range from.Enums {
		if needed[e.Name] {
			m.Enums = append(m.Enums, e)
		}
	}
}
