package reflection

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/protobuf/descriptors"
)

// index is what is registered, with its descriptors. It does not change.
type index struct {
	services []Service
	files    *protoregistry.Files
	missing  map[string]string // why a service or a method has no descriptor, by full name

	mu      sync.Mutex
	encoded map[string][]byte // files, by path
}

// method is one name of a method.
type method struct {
	name string // without that of the service
	info weft.MethodInfo
}

// newIndex describes what is registered.
func newIndex(all []weft.ServiceInfo, names func(weft.MethodInfo) []string) *index {
	x := &index{missing: make(map[string]string), encoded: make(map[string][]byte)}
	methods := make(map[string][]method) // by service
	for _, service := range all {
		for _, m := range service.Methods {
			for _, name := range names(m) {
				i := strings.LastIndexByte(name, '.')
				methods[name[:max(i, 0)]] = append(methods[name[:max(i, 0)]], method{name[i+1:], m})
			}
		}
	}
	set, known := descriptors.NewSet(), knownFiles()
	var made []*descriptorpb.FileDescriptorProto
	for _, service := range slices.Sorted(maps.Keys(methods)) {
		x.services = append(x.services, Service{service})
		of := methods[service]
		slices.SortFunc(of, func(a, b method) int { return strings.Compare(a.name, b.name) })
		if d := generated(service, of, known); d != nil && set.Include(d) == nil {
			continue
		}
		if d := x.describe(service, of, set); d != nil {
			made = append(made, d)
		}
	}
	var wrong error
	x.files, wrong = set.Files(made...)
	for _, s := range x.services {
		if _, err := x.files.FindDescriptorByName(protoreflect.FullName(s.Name)); err != nil && wrong != nil && x.missing[s.Name] == "" {
			x.missing[s.Name] = wrong.Error()
		}
	}
	return x
}

// generated finds the file of a service of which the program has generated code, or that is one of gRPC's
// own, and that has the methods; nil: there is none.
func generated(service string, methods []method, known *protoregistry.Files) protoreflect.FileDescriptor {
	for _, files := range []*protoregistry.Files{protoregistry.GlobalFiles, known} {
		d, err := files.FindDescriptorByName(protoreflect.FullName(service))
		if err != nil {
			continue
		}
		s, ok := d.(protoreflect.ServiceDescriptor)
		if ok && !slices.ContainsFunc(methods, func(m method) bool { return s.Methods().ByName(protoreflect.Name(m.name)) == nil }) {
			return d.ParentFile()
		}
	}
	return nil
}

// describe makes the file of a service; nil if its name is none of Protocol Buffers.
func (x *index) describe(service string, methods []method, set *descriptors.Set) *descriptorpb.FileDescriptorProto {
	full := protoreflect.FullName(service)
	if !full.IsValid() {
		x.missing[service] = "the service " + quoted(service) + " has no descriptor: its name cannot be one of Protocol Buffers"
		return nil
	}
	out := &descriptorpb.ServiceDescriptorProto{Name: proto.String(string(full.Name()))}
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("services/" + service + ".proto"), Package: proto.String(string(full.Parent())), Syntax: proto.String("proto3"),
		Service: []*descriptorpb.ServiceDescriptorProto{out}, SourceCodeInfo: &descriptorpb.SourceCodeInfo{},
	}
	for _, m := range methods {
		d, imports, why := describeMethod(&m, set)
		if why != "" {
			x.missing[service+"."+m.name] = "the method " + service + "." + m.name + " has no descriptor: " + why
			continue
		}
		for _, path := range imports {
			if !slices.Contains(file.Dependency, path) {
				file.Dependency = append(file.Dependency, path)
			}
		}
		if m.info.Doc != "" {
			const services, methods = 6, 2 // the numbers of the fields in descriptor.proto
			file.SourceCodeInfo.Location = append(file.SourceCodeInfo.Location, &descriptorpb.SourceCodeInfo_Location{
				Path: []int32{services, 0, methods, int32(len(out.Method))}, Span: []int32{0, 0, 0}, LeadingComments: proto.String(" " + m.info.Doc + "\n")})
		}
		out.Method = append(out.Method, d)
	}
	return file
}

// describeMethod describes a method; why tells why it cannot be described.
func describeMethod(m *method, set *descriptors.Set) (d *descriptorpb.MethodDescriptorProto, imports []string, why string) {
	if !protoreflect.Name(m.name).IsValid() {
		return nil, nil, "its name cannot be one of Protocol Buffers"
	}
	request, err := set.Add(m.info.Request, m.name+"Request")
	if err != nil {
		return nil, nil, err.Error()
	}
	reply, err := set.Add(m.info.Reply, m.name+"Reply")
	if err != nil {
		return nil, nil, err.Error()
	}
	d = &descriptorpb.MethodDescriptorProto{Name: &m.name, InputType: proto.String("." + request.Name), OutputType: proto.String("." + reply.Name)}
	if k := m.info.Kind; k == weft.ClientStream || k == weft.BidiStream {
		d.ClientStreaming = proto.Bool(true)
	}
	if k := m.info.Kind; k == weft.ServerStream || k == weft.BidiStream {
		d.ServerStreaming = proto.Bool(true)
	}
	if m.info.Idempotent {
		d.Options = &descriptorpb.MethodOptions{IdempotencyLevel: descriptorpb.MethodOptions_IDEMPOTENT.Enum()}
	}
	return d, []string{request.File, reply.File}, ""
}

// file finds a file by its path.
func (x *index) file(path string) (protoreflect.FileDescriptor, string) {
	for _, files := range x.all() {
		if d, err := files.FindFileByPath(path); err == nil {
			return d, ""
		}
	}
	return nil, "there is no file " + quoted(path) + " here"
}

// symbol finds the file that declares a name.
func (x *index) symbol(name string) (protoreflect.FileDescriptor, string) {
	for _, files := range x.all() {
		if d, err := files.FindDescriptorByName(protoreflect.FullName(name)); err == nil {
			return d.ParentFile(), ""
		}
	}
	if why := x.missing[name]; why != "" {
		return nil, why
	}
	return nil, "there is no symbol " + quoted(name) + " here"
}

// all are the files of what is registered, and those of all generated code of the program, since messages may
// hold any of those in a google.protobuf.Any.
func (x *index) all() []*protoregistry.Files {
	return []*protoregistry.Files{x.files, protoregistry.GlobalFiles}
}

// extension finds the file that declares an extension.
func (x *index) extension(message string, number int32) (protoreflect.FileDescriptor, string) {
	e, err := protoregistry.GlobalTypes.FindExtensionByNumber(protoreflect.FullName(message), protoreflect.FieldNumber(number))
	if err != nil {
		return nil, "there is no such extension of " + quoted(message) + " here"
	}
	return e.TypeDescriptor().ParentFile(), ""
}

// extensions lists the numbers of the extensions of a message.
func (x *index) extensions(message string) (*Extensions, string) {
	_, why := x.symbol(message)
	if why != "" {
		return nil, why
	}
	out := &Extensions{BaseTypeName: message}
	protoregistry.GlobalTypes.RangeExtensionsByMessage(protoreflect.FullName(message), func(e protoreflect.ExtensionType) bool {
		out.ExtensionNumber = append(out.ExtensionNumber, int32(e.TypeDescriptor().Number()))
		return true
	})
	slices.Sort(out.ExtensionNumber)
	return out, ""
}

// whole returns what encodes a file that was found, and those that it imports which have not been sent; why
// tells why there is none.
func (x *index) whole(d protoreflect.FileDescriptor, why string) func(sent map[string]bool) (*Files, string) {
	return func(sent map[string]bool) (*Files, string) {
		if why != "" {
			return nil, why
		}
		out := new(Files)
		queue := []protoreflect.FileDescriptor{d}
		for len(queue) > 0 {
			next := queue[0]
			queue = queue[1:]
			if next.IsPlaceholder() || next != d && sent[next.Path()] {
				continue
			}
			b, err := x.encode(next)
			if err != nil {
				return nil, "the file " + quoted(next.Path()) + " cannot be encoded: " + err.Error()
			}
			sent[next.Path()] = true
			out.FileDescriptorProto = append(out.FileDescriptorProto, b)
			for i := range next.Imports().Len() {
				queue = append(queue, next.Imports().Get(i).FileDescriptor)
			}
		}
		return out, ""
	}
}

// encode encodes a file, once.
func (x *index) encode(d protoreflect.FileDescriptor) ([]byte, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if b := x.encoded[d.Path()]; b != nil {
		return b, nil
	}
	b, err := proto.Marshal(protodesc.ToFileDescriptorProto(d))
	if err == nil {
		x.encoded[d.Path()] = b
	}
	return b, err
}
