package export

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrpc/weft/codec/protobuf/descriptors"
	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/internal/naming"
)

// writeProto writes .proto files. Messages and services that come from .proto files stay in files of these names; Go types
// are in the file of the services, if these are of one package, and otherwise in a file for each Go package. All are
// written as proto3.
func writeProto(m *schema.Model) (*Result, error) {
	w := &protoWriter{model: m, files: make(map[string]*protoFile), at: make(map[string]string), in: make(map[string]string)}
	for _, s := range m.Services {
		if naming.Identifiers(s.Name) != s.Name {
			w.leave("%s: the name of the service cannot be that of one in a .proto file", s.Name)
			continue
		}
		methods := slices.DeleteFunc(slices.Clone(s.Methods), func(one *schema.Method) bool { return !w.fits(s, one) })
		if len(methods) > 0 {
			w.services = append(w.services, &schema.Service{Name: s.Name, Doc: s.Doc, File: s.File, Methods: methods})
		}
	}
	if len(w.services) == 0 {
		return nil, fmt.Errorf("export: no method has a form in Protocol Buffers: %w", errors.New(strings.Join(w.leftOut, "; ")))
	}
	reachable := &schema.Model{Services: w.services}
	reachable.Keep(m)
	w.travelling(reachable)
	w.place(reachable)
	for _, e := range reachable.Enums {
		w.file(w.in[e.Name], w.pkg(e.Name)).add(w.local(e.Name), func(f *protoFile, indent string) { w.enum(f, e, indent) })
	}
	for _, one := range reachable.Messages {
		w.file(w.in[one.Name], w.pkg(one.Name)).add(w.local(one.Name), func(f *protoFile, indent string) { w.message(f, one, indent) })
	}
	for _, s := range w.services {
		pkg, local := cut(s.Name)
		f := w.file(cmp.Or(s.File, fileOf(pkg)), pkg)
		f.services = append(f.services, func() { w.service(f, s, local) })
	}
	out := &Result{LeftOut: w.leftOut}
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		if !strings.HasPrefix(name, "google/protobuf/") { // protoc has these
			out.Files = append(out.Files, File{name, []byte(w.files[name].text())})
		}
	}
	return out, nil
}

// travelling leaves out the messages that are in others only as bytes or as a string, or not at all in Protocol Buffers.
func (w *protoWriter) travelling(m *schema.Model) {
	needed := make(map[string]bool)
	var need func(t *schema.Type)
	need = func(t *schema.Type) {
		if t.Kind != schema.KindMessage || t.Proto == schema.ProtoBytes || t.Proto == schema.ProtoString || needed[t.Name] {
			return
		}
		needed[t.Name] = true
		if one := m.Message(t.Name); one != nil {
			for _, f := range one.Fields {
				if f.Number > 0 {
					f.Type.Each(need)
				}
			}
		}
	}
	for _, s := range m.Services {
		for _, one := range s.Methods {
			need(one.Request)
			need(one.Reply)
		}
	}
	m.Messages = slices.DeleteFunc(m.Messages, func(one *schema.Message) bool { return !one.Stock() && !needed[one.Name] })
}

type protoWriter struct {
	model    *schema.Model
	services []*schema.Service
	files    map[string]*protoFile
	at       map[string]string // full names in the files, by name in the model
	in       map[string]string // names of files, by name in the model
	locals   map[string]int    // how many messages and enumerations are called so, without what is before the last dot
	members  map[string]bool   // names of fields and methods
	leftOut  []string
}

func (w *protoWriter) leave(format string, args ...any) {
	w.leftOut = append(w.leftOut, fmt.Sprintf(format, args...))
}

// cut divides a full name at its last dot.
func cut(name string) (pkg, local string) {
	i := strings.LastIndexByte(name, '.')
	return name[:max(i, 0)], name[i+1:]
}

// fileOf is the name of the file of a package.
func fileOf(pkg string) string {
	if pkg == "" {
		return "schema.proto"
	}
	return strings.ReplaceAll(pkg, ".", "/") + ".proto"
}

// fits reports whether a method has a form in Protocol Buffers, and notes why not.
func (w *protoWriter) fits(s *schema.Service, one *schema.Method) bool {
	if !naming.IsIdentifier(one.Name) {
		w.leave("%s.%s: the name cannot be that of a method in a .proto file", s.Name, one.Name)
		return false
	}
	for i, t := range []*schema.Type{one.Request, one.Reply} {
		what, why := [...]string{"request", "reply"}[i], ""
		switch known := w.model.Message(t.Name); {
		case t.Kind != schema.KindMessage:
			why = "of the kind " + string(t.Kind) + ", which is no message of Protocol Buffers, as structs are"
		case known != nil && known.NoProto != "":
			why = known.Name + ", which has no form in Protocol Buffers: " + known.NoProto
		}
		if why != "" {
			w.leave("%s.%s: its %s is %s", s.Name, one.Name, what, why)
			return false
		}
	}
	return true
}

// place decides where messages and enumerations are, and what they are called there.
func (w *protoWriter) place(m *schema.Model) {
	home, alone := "", true // the package of the services
	taken := make(map[string]bool)
	file := ""
	for i, s := range w.services {
		pkg, _ := cut(s.Name)
		alone = alone && (i == 0 || pkg == home)
		home, file = pkg, cmp.Or(s.File, fileOf(pkg))
		taken[s.Name] = true
	}
	for _, one := range m.Messages {
		if one.Stock() {
			w.at[one.Name], w.in[one.Name] = one.Name, one.File
			taken[one.Name] = true
		}
	}
	for _, e := range m.Enums {
		w.at[e.Name], w.in[e.Name] = e.Name, e.File
		taken[e.Name] = true
	}
	for _, one := range m.Messages {
		if one.Stock() {
			continue
		}
		pkg, local := naming.Identifiers(one.Package), naming.Identifier(one.Local())
		choices := []string{local}
		if alone {
			choices = append(choices, naming.Identifier(pkg)+"_"+local)
			pkg = home
		}
		if isProtoWord(local) {
			choices = choices[1:]
			local += "_"
		}
		for choices = append(choices, local+"_"); ; choices = append(choices, choices[len(choices)-1]+"_") {
			i := slices.IndexFunc(choices, func(name string) bool { return !taken[join(pkg, name)] })
			if i >= 0 {
				w.at[one.Name] = join(pkg, choices[i])
				break
			}
		}
		taken[w.at[one.Name]] = true
		w.in[one.Name] = fileOf(pkg)
		if alone {
			w.in[one.Name] = file
		}
	}
}

// isProtoWord reports whether a type cannot be called so: it begins a statement, or is a type already.
func isProtoWord(name string) bool {
	return slices.Contains([]string{"message", "enum", "option", "extensions", "reserved", "oneof", "extend", "group", "optional", "required", "repeated", "map",
		"rpc", "stream", "returns", "service", "import", "package", "syntax", "edition", "export", "local", "double", "float", "int32", "int64", "uint32", "uint64",
		"sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes", "google"}, name)
}

// pkg is the package that a message or an enumeration is in.
func (w *protoWriter) pkg(name string) string {
	full := w.at[name]
	switch one, e := w.model.Message(name), w.model.Enum(name); {
	case one != nil && one.Stock():
		return one.Package
	case e != nil:
		return e.Package
	}
	pkg, _ := cut(full)
	return pkg
}

// local is the name of a message or an enumeration within its package; one within another has a dot.
func (w *protoWriter) local(name string) string {
	if pkg := w.pkg(name); pkg != "" {
		return strings.TrimPrefix(w.at[name], pkg+".")
	}
	return w.at[name]
}

// protoFile is a file that is written.
type protoFile struct {
	name, pkg string
	imports   map[string]bool
	services  []func()
	top       protoScope
	b         strings.Builder
}

// protoScope is a declaration with those within.
type protoScope struct {
	write  func(f *protoFile, indent string)
	within map[string]*protoScope
}

func (w *protoWriter) file(name, pkg string) *protoFile {
	f := w.files[name]
	if f == nil {
		f = &protoFile{name: name, pkg: pkg, imports: make(map[string]bool)}
		w.files[name] = f
	}
	return f
}

// add adds a declaration, whose name has a dot if it is within another.
func (f *protoFile) add(local string, write func(f *protoFile, indent string)) {
	at := &f.top
	for part := range strings.SplitSeq(local, ".") {
		if at.within == nil {
			at.within = make(map[string]*protoScope)
		}
		if at.within[part] == nil {
			at.within[part] = &protoScope{}
		}
		at = at.within[part]
	}
	at.write = write
}

// text is the content of the file.
func (f *protoFile) text() string {
	for _, write := range f.services {
		write()
	}
	f.declarations(&f.top, "")
	var head strings.Builder
	fmt.Fprintf(&head, "// %s\n\nsyntax = \"proto3\";\n", header)
	if f.pkg != "" {
		fmt.Fprintf(&head, "\npackage %s;\n", f.pkg)
	}
	for i, name := range slices.Sorted(maps.Keys(f.imports)) {
		if i == 0 {
			head.WriteString("\n")
		}
		fmt.Fprintf(&head, "import %q;\n", name)
	}
	return head.String() + f.b.String()
}

func (f *protoFile) declarations(s *protoScope, indent string) {
	for _, name := range slices.Sorted(maps.Keys(s.within)) {
		one := s.within[name]
		if one.write != nil {
			one.write(f, indent)
			continue
		}
		fmt.Fprintf(&f.b, "\n%smessage %s {\n", indent, name)
		f.declarations(one, indent+"  ")
		fmt.Fprintf(&f.b, "%s}\n", indent)
	}
}

// scope is the declaration with a name.
func (f *protoFile) scope(local string) *protoScope {
	at := &f.top
	for part := range strings.SplitSeq(local, ".") {
		at = at.within[part]
	}
	return at
}

// doc writes comments.
func (f *protoFile) doc(indent string, texts ...string) {
	if text := paragraphs(texts...); text != "" {
		for line := range strings.SplitSeq(text, "\n") {
			f.b.WriteString(strings.TrimRight(indent+"// "+line, " ") + "\n")
		}
	}
}

func (w *protoWriter) service(f *protoFile, s *schema.Service, local string) {
	f.b.WriteString("\n")
	f.doc("", s.Doc)
	fmt.Fprintf(&f.b, "service %s {\n", local)
	for i, m := range s.Methods {
		if i > 0 && m.Doc != "" {
			f.b.WriteString("\n")
		}
		f.doc("  ", m.Doc)
		request, reply := w.reference(f, m.Request.Name), w.reference(f, m.Reply.Name)
		if m.Sends() {
			request = "stream " + request
		}
		if m.Receives() {
			reply = "stream " + reply
		}
		fmt.Fprintf(&f.b, "  rpc %s(%s) returns (%s)", m.Name, request, reply)
		if m.Idempotent {
			f.b.WriteString(" {\n    option idempotency_level = IDEMPOTENT;\n  }\n")
		} else {
			f.b.WriteString(";\n")
		}
	}
	f.b.WriteString("}\n")
}

// reference is a message or an enumeration as the file names it, and has the file import it.
func (w *protoWriter) reference(f *protoFile, name string) string {
	if schema.WellKnown(name) != nil || name == schema.NullValue {
		f.imports[wellKnownFile(name)] = true
		if strings.HasPrefix(f.pkg+".", "google.") || strings.Contains(f.pkg, ".google") {
			return "." + name
		}
		return name
	}
	if w.in[name] != f.name {
		f.imports[w.in[name]] = true
	}
	full := w.at[name]
	if w.pkg(name) == f.pkg && !strings.Contains(w.local(name), ".") && w.single(w.local(name)) {
		return w.local(name)
	}
	return "." + full
}

// single reports whether nothing else that is written has this name in a scope where it could be meant.
func (w *protoWriter) single(local string) bool {
	if w.locals == nil {
		w.locals, w.members = make(map[string]int), make(map[string]bool)
		for _, full := range w.at {
			_, last := cut(full)
			w.locals[last]++
		}
		for _, m := range w.model.Messages {
			for _, f := range m.Fields {
				w.members[f.Proto] = true
			}
		}
		for _, s := range w.services {
			for _, m := range s.Methods {
				w.members[m.Name] = true
			}
		}
	}
	return w.locals[local] == 1 && !isProtoWord(local) && !w.members[local]
}

func (w *protoWriter) enum(f *protoFile, e *schema.Enum, indent string) {
	_, local := cut(w.at[e.Name])
	f.b.WriteString("\n")
	f.doc(indent, e.Doc)
	fmt.Fprintf(&f.b, "%senum %s {\n", indent, local)
	values, numbers := slices.Clone(e.Values), make(map[int32]bool)
	zero := slices.IndexFunc(values, func(v *schema.EnumValue) bool { return v.Number == 0 })
	if zero < 0 { // proto3 wants one
		values = append([]*schema.EnumValue{{Name: strings.ToUpper(local) + "_UNSPECIFIED", Doc: "There is no value of this number."}}, values...)
	} else {
		values[0], values[zero] = values[zero], values[0]
	}
	for _, v := range values {
		if numbers[v.Number] {
			fmt.Fprintf(&f.b, "%s  option allow_alias = true;\n", indent)
			break
		}
		numbers[v.Number] = true
	}
	for _, v := range values {
		f.doc(indent+"  ", v.Doc)
		fmt.Fprintf(&f.b, "%s  %s = %d;\n", indent, naming.Identifier(v.Name), v.Number)
	}
	if zero >= 0 || !e.Reserved.HasNumber(0) {
		f.reserved(e.Reserved, indent+"  ")
	}
	fmt.Fprintf(&f.b, "%s}\n", indent)
}

// reserved writes the numbers and names that nothing may have.
func (f *protoFile) reserved(r *schema.Reserved, indent string) {
	if r == nil {
		return
	}
	var numbers, names []string
	for _, s := range r.Numbers {
		text := strconv.Itoa(int(s.First))
		if s.First < s.Last {
			text += " to " + strconv.Itoa(int(s.Last))
		}
		numbers = append(numbers, text)
	}
	for _, name := range r.Names {
		names = append(names, quote(name))
	}
	for _, all := range [][]string{numbers, names} {
		if len(all) > 0 {
			fmt.Fprintf(&f.b, "%sreserved %s;\n", indent, strings.Join(all, ", "))
		}
	}
}

func (w *protoWriter) message(f *protoFile, m *schema.Message, indent string) {
	_, local := cut(w.at[m.Name])
	hashed := ""
	if m.Hashed {
		hashed = "The numbers of the fields are hashes of their names in JSON."
	}
	f.b.WriteString("\n")
	f.doc(indent, m.Doc, hashed)
	fmt.Fprintf(&f.b, "%smessage %s {\n", indent, local)
	done := make(map[string]bool)
	for _, field := range m.Fields {
		switch {
		case field.Number == 0 || done[field.Oneof]:
		case field.Oneof == "":
			w.field(f, field, indent+"  ", true)
		default:
			done[field.Oneof] = true
			fmt.Fprintf(&f.b, "%s  oneof %s {\n", indent, naming.Identifier(field.Oneof))
			for _, other := range m.Fields {
				if other.Oneof == field.Oneof && other.Number > 0 {
					w.field(f, other, indent+"    ", false)
				}
			}
			fmt.Fprintf(&f.b, "%s  }\n", indent)
		}
	}
	f.reserved(m.Reserved, indent+"  ")
	f.declarations(f.scope(w.local(m.Name)), indent+"  ")
	fmt.Fprintf(&f.b, "%s}\n", indent)
}

// field writes a field. presence says that the word optional may stand there.
func (w *protoWriter) field(f *protoFile, field *schema.Field, indent string, presence bool) {
	f.doc(indent, field.Doc)
	typ := ""
	switch t := field.Type; {
	case t.Kind == schema.KindMap && t.Proto == "":
		typ = "map<" + w.scalar(f, t.Key) + ", " + w.scalar(f, t.Elem) + ">"
	case (t.Kind == schema.KindList || t.Kind == schema.KindArray) && t.Proto == "":
		typ = "repeated " + w.scalar(f, t.Elem)
	case presence && t.Optional && (t.Proto == schema.ProtoBytes || t.Proto == schema.ProtoString):
		typ = "optional " + t.Proto
	case presence && t.Optional && t.Kind != schema.KindMessage && t.Kind != schema.KindTime && t.Kind != schema.KindDuration && t.Proto != schema.Value:
		typ = "optional " + w.scalar(f, t)
	default:
		typ = w.scalar(f, t)
	}
	name, json := naming.Identifier(field.Proto), ""
	if field.Name != "" && field.Name != descriptors.JSONName(name) {
		json = fmt.Sprintf(" [json_name = %s]", quote(field.Name))
	}
	fmt.Fprintf(&f.b, "%s%s %s = %d%s;\n", indent, typ, name, field.Number, json)
}

// scalar is the type of one value.
func (w *protoWriter) scalar(f *protoFile, t *schema.Type) string {
	encodings := map[string]map[schema.Kind]string{
		"zigzag": {schema.KindInt8: "sint32", schema.KindInt16: "sint32", schema.KindInt32: "sint32", schema.KindInt64: "sint64"},
		"fixed":  {schema.KindInt32: "sfixed32", schema.KindInt64: "sfixed64", schema.KindUint32: "fixed32", schema.KindUint64: "fixed64"},
		"": {schema.KindInt8: "int32", schema.KindInt16: "int32", schema.KindInt32: "int32", schema.KindInt64: "int64", schema.KindUint8: "uint32", schema.KindUint16: "uint32", schema.KindUint32: "uint32",
			schema.KindUint64: "uint64", schema.KindFloat32: "float", schema.KindFloat64: "double", schema.KindBool: "bool", schema.KindBytes: "bytes", schema.KindString: "string"},
	}
	switch t.Proto {
	case schema.ProtoBytes, schema.ProtoString:
		return t.Proto
	case schema.Value:
		return w.reference(f, schema.Value)
	}
	switch t.Kind {
	case schema.KindMessage, schema.KindEnum:
		return w.reference(f, t.Name)
	case schema.KindTime:
		return w.reference(f, schema.Timestamp)
	case schema.KindDuration:
		return w.reference(f, schema.Duration)
	}
	if name := encodings[t.Proto][t.Kind]; name != "" {
		return name
	}
	return "bytes" // a decoded model may have what no codec carries
}

// wellKnownFile is the file that a message is in of which a model has only the name.
func wellKnownFile(name string) string {
	switch local := strings.TrimPrefix(name, "google.protobuf."); local {
	case "Timestamp", "Duration", "Empty", "Any":
		return "google/protobuf/" + strings.ToLower(local) + ".proto"
	case "FieldMask":
		return "google/protobuf/field_mask.proto"
	case "Struct", "ListValue", "Value", "NullValue":
		return "google/protobuf/struct.proto"
	}
	return "google/protobuf/wrappers.proto"
}
