package schema

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weftrpc/weft/schema/internal/naming"
)

// A Builder makes a Model. It is for one goroutine at a time.
type Builder struct {
	reader   *reader
	services map[string]*Service
}

// NewBuilder returns a Builder without services.
func NewBuilder() *Builder {
	return &Builder{reader: newReader(), services: make(map[string]*Service)}
}

// Reflect is the type of the model for a Go type of this program. at names what has no name in Go, such as
// "Arith.Mul.Request".
func (b *Builder) Reflect(t reflect.Type, at string) *Type {
	if t == nil {
		return &Type{Kind: KindAny}
	}
	return b.Go(reflected{t}, at)
}

// Go is Reflect for a type that is known otherwise.
func (b *Builder) Go(t GoType, at string) *Type {
	out := b.reader.goType(t, place{name: at})
	if !out.Optional {
		return out
	}
	c := *out // a pointer to a message is the message
	c.Optional = false
	return &c
}

// Descriptor is the type of the model for a message of Protocol Buffers.
func (b *Builder) Descriptor(d protoreflect.MessageDescriptor) *Type { return b.reader.descriptor(d) }

// Describe gives a service a documentation.
func (b *Builder) Describe(service, doc string) { b.service(service).Doc = naming.Clean(doc) }

func (b *Builder) service(name string) *Service {
	s := b.services[name]
	if s == nil {
		s = &Service{Name: name, Methods: []*Method{}}
		b.services[name] = s
	}
	return s
}

// Add adds a method to a service. The first of two with one name counts.
func (b *Builder) Add(service string, m Method) {
	s := b.service(service)
	if slices.ContainsFunc(s.Methods, func(o *Method) bool { return o.Name == m.Name }) {
		return
	}
	m.Doc = naming.Clean(m.Doc)
	s.Methods = append(s.Methods, &m)
}

// AddDescriptor adds a service of a .proto file.
func (b *Builder) AddDescriptor(d protoreflect.ServiceDescriptor) {
	name := string(d.FullName())
	b.Describe(name, comment(d))
	b.services[name].File = d.ParentFile().Path()
	for i := range d.Methods().Len() {
		m := d.Methods().Get(i)
		one := Method{Name: string(m.Name()), Kind: kindOf(m), Doc: comment(m), Request: b.Descriptor(m.Input()), Reply: b.Descriptor(m.Output())}
		if options, ok := m.Options().(*descriptorpb.MethodOptions); ok {
			one.Idempotent = options.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
		}
		b.Add(name, one)
	}
}

func kindOf(m protoreflect.MethodDescriptor) string {
	switch {
	case m.IsStreamingClient() && m.IsStreamingServer():
		return BidiStream
	case m.IsStreamingClient():
		return ClientStream
	case m.IsStreamingServer():
		return ServerStream
	}
	return Unary
}

// Model returns the model of what was added, which is then complete: the Builder must not be used any more. The error
// names types that no codec carries.
func (b *Builder) Model() (*Model, error) {
	if len(b.reader.wrong) > 0 {
		return nil, fmt.Errorf("schema: %w", errors.Join(b.reader.wrong...))
	}
	b.reader.settle()
	m := &Model{Format: modelFormat, Messages: b.reader.messages, Enums: b.reader.enums, Services: []*Service{}}
	for _, s := range b.services {
		m.Services = append(m.Services, s)
	}
	m.unify(b.reader.inFiles)
	m.sort()
	return m, nil
}

// unify gives what comes from .proto files the names that it has there, which inFiles has by those so far, and Go types of one
// name in packages of one name longer package names, so that what a type is called does not depend on which was met first.
func (m *Model) unify(inFiles map[string]string) {
	groups := make(map[string][]*Message)
	taken, names := make(map[string]bool), make(map[string]string)
	keep := func(name string) string {
		full := inFiles[name]
		taken[full], names[name] = true, full
		return full
	}
	for _, e := range m.Enums {
		e.Name = keep(e.Name)
	}
	for _, one := range m.Messages {
		if one.Stock() {
			one.Name = keep(one.Name)
			continue
		}
		wanted := join(longName(one, 1))
		groups[wanted] = append(groups[wanted], one)
	}
	for _, wanted := range slices.Sorted(maps.Keys(groups)) {
		group := groups[wanted]
		slices.SortStableFunc(group, func(a, b *Message) int { return strings.Compare(a.Go, b.Go) })
		parts := 1
		for ; parts < maxPathParts && !distinct(group, parts); parts++ {
		}
		for _, one := range group {
			pkg, local := longName(one, parts)
			name := join(pkg, local)
			for n := 2; taken[name]; n++ {
				name = join(pkg, local) + "_" + strconv.Itoa(n)
			}
			taken[name] = true
			names[one.Name] = name
			one.Name, one.Package = name, pkg
		}
	}
	renamed := make(map[*Type]bool) // types are shared
	m.eachType(func(t *Type) {
		if name, ok := names[t.Name]; ok && !renamed[t] {
			renamed[t] = true
			t.Name = name
		}
	})
}

// maxPathParts is how many parts of an import path can be part of a name.
const maxPathParts = 8

// longName is the name of a Go type, with a package that is made of the last parts of the import path.
func longName(m *Message, parts int) (pkg, local string) {
	at := strings.LastIndexByte(m.Go, '.')
	importPath := m.Go[:at]
	pkg = packageName(importPath)
	for rest := path.Dir(importPath); parts > 1 && rest != "." && rest != "/"; rest = path.Dir(rest) {
		if last := packageName(rest); last != pkg {
			pkg = last + "_" + pkg
			parts--
		}
	}
	return pkg, m.Go[at+1:]
}

// distinct reports whether names of so many parts tell Go types of different packages apart.
func distinct(group []*Message, parts int) bool {
	of := make(map[string]string) // Go types by name
	for _, one := range group {
		name := join(longName(one, parts))
		if known, ok := of[name]; ok && known != one.Go {
			return false
		}
		of[name] = one.Go
	}
	return true
}
