// Package fields reads encoded Protocol Buffers messages whose types are not known to the program.
package fields

import "google.golang.org/protobuf/encoding/protowire"

// Each calls f with the fields of a message that hold bytes, texts or messages, in their order. It ends where the message is wrong.
func Each(b []byte, f func(n protowire.Number, value []byte)) {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return
		}
		b = b[size:]
		if kind == protowire.BytesType {
			if value, size := protowire.ConsumeBytes(b); size >= 0 {
				f(n, value)
			}
		}
		if size = protowire.ConsumeFieldValue(n, kind, b); size < 0 {
			return
		}
		b = b[size:]
	}
}
