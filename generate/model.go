package generate

import "github.com/weftrpc/weft/generate/internal/names"

// file is what is generated from one source.
type file struct {
	source   string // its name, without folders
	header   string // the first line; "": that of weft generate
	build    string // its build constraint, a line
	pkg      string
	imports  *names.Imports
	services []*service
	enums    []*enum
	structs  []*record // to be declared, those of .proto files
	coded    []*record // that get code
	thrift   *thriftSource
}

// service is a set of methods.
type service struct {
	name     string // on the wire, "Arith" or "shop.Orders"
	goName   string
	pos      string // in the source
	doc      string
	declared bool // as a Go interface, which is not to be written
	methods  []*method
}

// kind says how many messages a method gets and sends.
type kind int

const (
	unary   kind = iota
	filling      // unary, with the reply as a parameter
	serverStream
	clientStream
	bidiStream
)

// method is one method of a service.
type method struct {
	name       string
	wireName   string // without the service
	doc        string
	kind       kind
	req, res   string // types of the messages, without the pointers
	idempotent bool
	reuse      bool
}

func (m *method) streams() bool { return m.kind >= serverStream }

// streams reports whether a method of the service does.
func (s *service) streams() bool {
	for _, m := range s.methods {
		if m.streams() {
			return true
		}
	}
	return false
}

// wireNames are the names of the methods on the wire, without the service.
func (s *service) wireNames() (all []string) {
	for _, m := range s.methods {
		all = append(all, m.wireName)
	}
	return all
}

// enum is an enumeration of a .proto file.
type enum struct {
	name, doc string
	values    []enumValue
}

type enumValue struct {
	name, doc string
	number    int32
}

// record is a struct with numbered fields.
type record struct {
	name, doc string
	fields    []*field // as declared, by number in its code
	others    []string // fields that do not travel
}

// field is one field of a record.
type field struct {
	name, doc string
	json      string // the name in JSON of a field of a .proto file
	number    int
	form      *form
	pos       string // in the Go source
	left      string // what it holds that keeps code from being generated; "": nothing
}

// formKind says how a value is encoded.
type formKind int

const (
	formBool formKind = iota
	formInt
	formZigzag
	formUint
	formFixed
	formFloat
	formText
	formBytes
	formStruct
	formTime
	formDuration
	formOwn    // bytes or a string, by methods of the type
	formOctets // an array of bytes
	formAny
	formPointer
	formList
	formArray
	formMap
)

// form is how a type is encoded.
type form struct {
	kind     formKind
	bits     int
	unsigned bool
	native   bool   // a fixed int or uint, which may not fit
	typ      string // in Go
	name     string // of a struct, without its package
	tag      string // what the tag says behind the number
	own      string // the end of the names of its methods
	length   int64  // of an array
	elem     *form
}

// into reports whether such values are read by what gets their address.
func (f *form) into() bool { return f.kind == formOwn || f.kind == formOctets }

// packs reports whether a list of such values is one field.
func (f *form) packs() bool { return f.kind <= formFloat }
