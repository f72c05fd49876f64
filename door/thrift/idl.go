package thrift

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift/internal/plan"
)

// IDLConfig says what stands in a document beside the methods. The zero value, and a nil pointer to one, mean nothing.
type IDLConfig struct {
	// Namespaces are by language, such as "py": "orders".
	Namespaces map[string]string
	// Exceptions are those of methods whose replies are not structs of results.
	Exceptions Exceptions
}

// IDL describes the unary methods of a server in Thrift's language, for its compiler: those of a Server are in its field Services.
// Streaming methods are left out, and so are those that take raw bytes. A type that has no form in Thrift is an error.
func IDL(s *weft.Services, cfg *IDLConfig) (string, error) {
	if cfg == nil {
		cfg = &IDLConfig{}
	}
	set := new(plan.Set)
	d := plan.NewDocument(set)
	var services strings.Builder
	for _, service := range s.Describe() {
		text, err := describe(d, &service, cfg.Exceptions)
		if err != nil {
			return "", err
		}
		services.WriteString(text)
	}
	var b strings.Builder
	for _, language := range slices.Sorted(maps.Keys(cfg.Namespaces)) {
		fmt.Fprintf(&b, "namespace %s %s\n", language, cfg.Namespaces[language])
	}
	for _, text := range d.Structs() {
		b.WriteString("\n" + text)
	}
	b.WriteString(services.String())
	return strings.TrimPrefix(b.String(), "\n"), nil
}

// describe is the declaration of a service; "": it has no method for Thrift.
func describe(d *plan.Document, service *weft.ServiceInfo, exceptions Exceptions) (string, error) {
	var b strings.Builder
	for _, m := range service.Methods {
		if m.Kind != weft.Unary || m.Request == reflect.TypeFor[[]byte]() {
			continue
		}
		var throws []plan.Throws
		for _, e := range exceptions[m.Name] {
			throws = append(throws, plan.Throws{ID: e.ID, Name: e.Name, Type: indirect(reflect.TypeOf(e.Value))})
		}
		parameter, single := m.Annotations[singleKey]
		_, name := split(m.Name)
		if named := m.Annotations[nameKey]; named != "" {
			name = named
		}
		method := &plan.Method{Set: d.Set, Name: m.Name, Single: single}
		text, err := d.Declare(method, indirect(m.Request), indirect(m.Reply), name, parameter, m.Annotations[onewayKey] != "", throws)
		if err != nil {
			return "", weft.Errorf(weft.InvalidArgument, "thrift: describe %s: %w", m.Name, err)
		}
		if m.Doc != "" {
			doc := strings.ReplaceAll(m.Doc, "*/", "* /")
			b.WriteString("  /** " + strings.ReplaceAll(doc, "\n", "\n   * ") + " */\n")
		}
		b.WriteString("  " + text + "\n")
	}
	if b.Len() == 0 {
		return "", nil
	}
	name := plan.Safe(strings.ReplaceAll(service.Name, ".", "_"))
	return fmt.Sprintf("\n// In messages its name is %q.\nservice %s {\n%s}\n", service.Name, name, b.String()), nil
}
