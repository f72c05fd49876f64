// Package gencode is the codec for types with methods from the gencode
// generator (github.com/andyleap/gencode), which writes the fields of a struct
// one behind the other, without names or numbers. It is among the fastest ways
// to encode, and both sides must have generated from the same schema. Any type
// with these methods will do; a value that contains itself cannot be encoded:
//
//	Size() uint64                             // of the encoding, in bytes
//	Marshal(buf []byte) ([]byte, error)       // fills buf if its capacity is enough
//	Unmarshal(buf []byte) (uint64, error)     // returns how many bytes it read
//
// # Hostile peers
//
// The generated code does not check lengths. Where it leaves the body, Decode
// returns an error; but for a slice it makes as many elements as the body
// claims, at a place that only the generated code knows. Offer messages with
// slices only to peers you trust.
package gencode

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/weftrpc/weft/codec"
)

// New returns a codec named "gencode".
func New() codec.Codec { return &gencode{nesting: codec.Nesting{Max: maxDepth}} }

type gencode struct{ nesting codec.Nesting }

var _ codec.Sizer = (*gencode)(nil)

type message interface {
	Size() uint64
	Marshal(buf []byte) ([]byte, error)
	Unmarshal(buf []byte) (uint64, error)
}

// maxDepth is how many structs, slices and maps may nest inside one another. The
// generated code recurses, and sets no bound.
const maxDepth = 10_000

// maxSize bounds what a wrong Size can make Append reserve.
const maxSize = 1<<31 - 1

func (*gencode) Name() string { return "gencode" }

// Size returns the length of the encoding of v; ok is false when v lacks the
// methods, is nil or contains itself.
func (g *gencode) Size(v any) (n int, ok bool) {
	defer func() {
		if recover() != nil {
			n, ok = 0, false // Append tells why
		}
	}()
	m, ok := v.(message)
	if !ok || g.nesting.Check(v) != nil {
		return 0, false
	}
	size := m.Size()
	return int(size), size <= maxSize
}

// Append appends the encoding of v.
func (g *gencode) Append(dst []byte, v any) (_ []byte, err error) {
	defer recovered(&err, "encoding", v)
	m, ok := v.(message)
	if !ok {
		return dst, errType(v)
	}
	if err := g.nesting.Check(v); err != nil {
		return dst, fmt.Errorf("codec/gencode: %w", err)
	}
	size := m.Size()
	if size > maxSize {
		return dst, fmt.Errorf("codec/gencode: a %T says its size is %d, the limit is %d", v, size, maxSize)
	}
	return g.AppendSized(dst, v, int(size))
}

// AppendSized is Append; n is what Size returned.
func (*gencode) AppendSized(dst []byte, v any, n int) (_ []byte, err error) {
	defer recovered(&err, "encoding", v)
	m, ok := v.(message)
	if !ok {
		return dst, errType(v)
	}
	dst = slices.Grow(dst, n)
	end := len(dst) + n
	room := dst[len(dst):len(dst):end]
	out, err := m.Marshal(room)
	if err != nil {
		return dst, err
	}
	if len(out) != n {
		return dst, fmt.Errorf("codec/gencode: a %T has %d bytes where %d were announced; it changed while it was encoded", v, len(out), n)
	}
	if n > 0 && &out[0] != &dst[:end][len(dst)] {
		return append(dst, out...), nil // Marshal chose a slice of its own
	}
	return dst[:end], nil
}

// Decode decodes body into v.
func (*gencode) Decode(body []byte, v any) (err error) {
	defer recovered(&err, "decoding into", v)
	m, ok := v.(message)
	if !ok {
		return errType(v)
	}
	// Without its spare capacity a body cannot be left unnoticed.
	n, err := m.Unmarshal(body[:len(body):len(body)])
	if err != nil {
		return err
	}
	if n != uint64(len(body)) {
		return fmt.Errorf("codec/gencode: a %T ends at byte %d of %d", v, n, len(body))
	}
	return nil
}

func recovered(err *error, doing string, v any) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("codec/gencode: %s a %T: %v", doing, v, r)
	}
}

func errType(v any) error {
	hint := "generate them or choose another codec"
	if t := reflect.TypeOf(v); t != nil && reflect.PointerTo(t).Implements(reflect.TypeFor[message]()) {
		hint = "pass a pointer to it"
	}
	return fmt.Errorf("codec/gencode: a %T has no Size, Marshal and Unmarshal methods; %s", v, hint)
}
