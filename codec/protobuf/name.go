package protobuf

import "google.golang.org/protobuf/proto"

// Name is the full name of a protobuf message, such as "google.rpc.Status"; "" for what
// is none, or does not know its name, as older generated code does not.
func Name(v any) string {
	if m, ok := v.(proto.Message); ok && m != nil {
		return string(m.ProtoReflect().Descriptor().FullName())
	}
	return ""
}
