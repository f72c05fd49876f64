package protobuf

import "google.golang.org/protobuf/proto"

// Name is the full name of a protobuf message, such as "google.rpc.Status"; "" for what
// is none, see [Is], or does not know its name, as older generated code does not.
func Name(v any) (name string) {
	m, ok := v.(proto.Message)
	if !ok || !Is(v) {
		return ""
	}
	defer func() {
		if recover() != nil { // it is a struct that embeds an interface, or a pointer, which is nil
			name = ""
		}
	}()
	return string(m.ProtoReflect().Descriptor().FullName())
}
