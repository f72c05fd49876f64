package archtest

// Exceptions are what the rules let pass: for a rule, by its name, the subjects
// and the reason for each. The comment of a rule says whether its subjects are
// files or names.
type Exceptions map[string]map[string]string

// Allowed returns the exceptions of this repository. One that is no longer
// needed fails the test too.
func Allowed() Exceptions {
	return Exceptions{
		"unsafe": {
			"codec/internal/memory/unsafe.go":   "reads and sets variables of types that package reflect has described; see docs/adr/0014",
			"internal/socket/transfer_linux.go": "gives the addresses of buffers to system calls",
		},
		"reflect": {
			"cluster/internal/twin":           "makes a second reply of the type of the first, for two attempts at once",
			"register.go":                     "finds the methods of a service, once, at registration",
			"handle.go":                       "names the types of a function's messages, once, at registration",
			"reuse.go":                        "the same",
			"internal/reuse":                  "compares codecs of any type",
			"door/rpcx/transfer/principal.go": "compares principals of any type",
			"internal/shape":                  "finds which methods can be called, once, at registration, and calls those",
			"internal/poison":                 "overwrites messages of any type, with the race detector alone",
			"generate/internal/source":        "names the kinds of types in sources as package schema does",
			"generate/gosource.go":            "reads the tags of fields in sources",
			"method.go":                       "keeps those types, for the description of services",
			"hookcheck.go":                    "finds hooks with a wrong signature, when a server or client is made",
			"internal/fit":                    "finds types that cannot be carried, at registration and before calls, and compares those of calls",
			"message.go":                      "finds values that are no messages",
			"internal/due/within.go":          "compares contexts, of which some cannot be compared",
			"internal/accept/accept.go":       "finds listeners that cannot be keys of a map",
			"codec":                           "checks that the target of a decode is a pointer, sets it to zero first, finds values that contain themselves, and counts what elements take",
			"schema":                          "describes the types of methods, once",
			"codec/gencode":                   "tells a message passed by value, to say in the error that a pointer is wanted",
			"codec/gob":                       "checks the types that a stream declares against the receiver's before encoding/gob builds them",
			"codec/msgpack":                   "examines types, once for each, and maps of uncommon types",
			"codec/protobuf":                  "tells nil pointers from messages, and sets messages to zero",
			"codec/internal/memory":           "is what codecs use in place of it",
			"codec/internal/bytype":           "tells types from one another",
			"codec/internal/cycle":            "tells types from one another",
			"codec/internal/numbered":         "examines types, once for each, and maps",
			"codec/internal/typecheck":        "examines types, once for each",
			"codec/internal/self":             "finds the methods of types, once for each",
			"codec/internal/plain":            "lists the fields of structs, once for each type",
			"codec/internal/tags":             "reads the tags of fields, once for each type",
			"codec/internal/coded":            "finds the generated code of types, once for each",
			"codec/internal/wellknown":        "encodes what is in an any, of types that are not common",
			"codec/json":                      "names the types that the library cannot encode, and those that decode themselves; tells nil pointers from messages",
			"codec/cbor":                      "names the types that the library cannot encode, and those that encode or decode themselves",

			"plugin/internal/encoded/encoded.go": "makes a message of the type of another one, to decode an answer for comparison",
			"codec/protobuf/descriptors":         "describes types, once for each",
			"door/thrift/internal/plan":          "is a codec: examines types, once for each, and reads and sets their fields",
			"door/thrift/exceptions.go":          "tells which exception of a method an error is, and makes one to decode it",
			"door/thrift/idl.go":                 "hands the types of methods to the codec, for their description",
			"cmd/weft/internal/calls/gob.go":     "makes types of JSON, since gob has no messages without them",
			"cmd/weft/internal/calls/thrift.go":  "makes types of JSON, since Thrift has no messages without them",
		},
		"package variables": {
			"weft.defaultTransports":             "what addresses can name without configuration; only read",
			"weft.codeNames":                     "the names of the status codes; only read",
			"codec/internal/numbered.plans":      "what is known of Go types, which do not change, by all clients and servers",
			"codec/internal/numbered.stockPlans": "the same of generated messages",
			"codec/json.types":                   "what is known of Go types, which do not change, by all clients and servers",
			"codec/cbor.types":                   "the same",
			"codec/protobuf.types":               "what is known of Go types, which do not change, by all clients and servers",
			"codec/protobuf.compiledTypes":       "the same",
			"codec/msgpack.plans":                "what is known of Go types, which do not change, by all clients and servers",
			"codec/msgpack.scratch":              "a pool of buffers: which call gets which changes no result",
			"internal/buffer.buffers":            "a pool of buffers: which connection gets which changes no result",
			"internal/buffer.largeBuffers":       "the same for large ones",
			"internal/inbuf.bulkReads":           "the same for those that readers borrow",
			"internal/inbuf.smallReads":          "the same for those of connections that have ended",
			"internal/session.unmet":             "what may be assumed of a server whose hello has not come; only read",
			"internal/session.epoch":             "the origin of a clock that never goes back; only read",
			"internal/wire.castagnoli":           "the table of CRC-32C; only read",
			"admin.secrets":                      "expressions, compiled when the first value is masked; only read",
			"cmd/weft-vet/reuse.keepers":         "functions of the standard library that store arguments; only read",
			"cmd/weft-vet/reuse.sharing":         "functions of the standard library whose results share memory of arguments; only read",
			"cmd/weft-vet/reuse.sharingAt":       "the same of other arguments than the first; only read",
			"cmd/weft-vet/reuse.sharingElements": "the same of elements of arguments; only read",
		},
	}
}
