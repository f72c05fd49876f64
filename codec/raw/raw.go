// Package raw is the codec for bytes that need no encoding: a file, an image, a
// message encoded elsewhere.
//
// It carries []byte and *[]byte. The body on the wire is those bytes and nothing
// else. Both directions cost one copy and, once the receiving slice is large
// enough, no allocation. Passing a *[]byte also saves the allocation that Go
// makes to put a []byte into an any.
package raw

import (
	"fmt"

	"github.com/weftrpc/weft/codec"
)

// New returns the codec named "raw". All values it returns are equal.
func New() codec.Codec { return raw{} }

type raw struct{}

var _ codec.Sizer = raw{}

func (raw) Name() string { return "raw" }

// Append appends the bytes of v, a []byte or a non-nil *[]byte.
func (raw) Append(dst []byte, v any) ([]byte, error) {
	b, ok := bytesOf(v)
	if !ok {
		return dst, errType("encode", v)
	}
	return append(dst, b...), nil
}

// Decode copies body into v, a non-nil *[]byte, whose capacity it reuses.
func (raw) Decode(body []byte, v any) error {
	p, ok := v.(*[]byte)
	if !ok || p == nil {
		return errType("decode into", v)
	}
	*p = append((*p)[:0], body...)
	return nil
}

// Size returns the length of v, a []byte or a non-nil *[]byte.
func (raw) Size(v any) (n int, ok bool) {
	b, ok := bytesOf(v)
	return len(b), ok
}

// AppendSized is Append; n must be the length of v.
func (raw) AppendSized(dst []byte, v any, n int) ([]byte, error) {
	b, ok := bytesOf(v)
	if !ok {
		return dst, errType("encode", v)
	}
	if len(b) != n {
		return dst, fmt.Errorf("codec/raw: value has %d bytes where %d were announced", len(b), n)
	}
	return append(dst, b...), nil
}

func bytesOf(v any) ([]byte, bool) {
	switch v := v.(type) {
	case *[]byte:
		if v == nil {
			return nil, false
		}
		return *v, true
	case []byte:
		return v, true
	}
	return nil, false
}

func errType(verb string, v any) error {
	if p, ok := v.(*[]byte); ok && p == nil {
		return fmt.Errorf("codec/raw: cannot %s a nil *[]byte", verb)
	}
	return fmt.Errorf("codec/raw: cannot %s a %T, only a []byte or *[]byte; choose another codec for other types", verb, v)
}
