// Package shamaton is the codec for MessagePack that weft had before its own: the library github.com/shamaton/msgpack, which
// looks at each value by package reflect. It is for comparison alone: it does not check bodies first, as weft did.
package shamaton

import (
	"bytes"

	"github.com/shamaton/msgpack/v3"

	"github.com/weftrpc/weft/codec"
)

// New returns the codec. Its name on the wire is that of weft's own, "msgpack".
func New() codec.Codec { return shamaton{} }

type shamaton struct{}

// Name implements codec.Codec.
func (shamaton) Name() string { return "msgpack" }

// Append implements codec.Codec.
func (shamaton) Append(dst []byte, v any) ([]byte, error) {
	b, err := msgpack.MarshalAsMap(v)
	return append(dst, b...), err
}

// Decode implements codec.Codec. The library lets strings point into what it decodes.
func (shamaton) Decode(body []byte, v any) error {
	target, err := codec.Target(v)
	if err != nil {
		return err
	}
	target.SetZero()
	return msgpack.UnmarshalAsMap(bytes.Clone(body), v)
}
