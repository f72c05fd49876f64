package protovalidate

import (
	"iter"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// reached are a message and all that are in its fields, and in theirs, each once.
func reached(d protoreflect.MessageDescriptor) iter.Seq[protoreflect.MessageDescriptor] {
	return func(yield func(protoreflect.MessageDescriptor) bool) {
		seen := map[protoreflect.FullName]bool{d.FullName(): true}
		for queue := []protoreflect.MessageDescriptor{d}; len(queue) > 0; {
			next := queue[0]
			if queue = queue[1:]; !yield(next) {
				return
			}
			for i := range next.Fields().Len() {
				if m := next.Fields().Get(i).Message(); m != nil && !seen[m.FullName()] {
					seen[m.FullName()] = true
					queue = append(queue, m)
				}
			}
		}
	}
}

// rulesNumber is the number of the extensions that rules are, in the options of messages, fields and
// oneofs.
const rulesNumber = 1159

// ruled reports whether a message has rules of its own. What it does not know counts as a rule.
func ruled(d protoreflect.MessageDescriptor) bool {
	if hasRules(d) {
		return true
	}
	for i := range d.Oneofs().Len() {
		if hasRules(d.Oneofs().Get(i)) {
			return true
		}
	}
	for i := range d.Fields().Len() {
		if hasRules(d.Fields().Get(i)) {
			return true
		}
	}
	return false
}

// hasRules reports whether there are rules among the options of a part of a .proto file.
func hasRules(d protoreflect.Descriptor) bool {
	options := d.Options().ProtoReflect()
	found := len(options.GetUnknown()) > 0
	options.Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		found = found || f.Number() == rulesNumber
		return !found
	})
	return found
}
