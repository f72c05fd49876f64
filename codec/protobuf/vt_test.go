package protobuf_test

import (
	"bytes"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/protobuf"
)

// pooled has the methods that vtprotobuf writes for a message of one field of bytes, which is kept for later messages.
type pooled struct{ data []byte }

func (m *pooled) Reset()                                       { *m = pooled{} }
func (m *pooled) ResetVT()                                     { m.data = m.data[:0] }
func (m *pooled) SizeVT() int                                  { return len(m.data) }
func (m *pooled) MarshalToSizedBufferVT(b []byte) (int, error) { return copy(b, m.data), nil }
func (m *pooled) UnmarshalVT(b []byte) error                   { m.data = append(m.data[:0], b...); return nil }
func (m *pooled) UnmarshalVTUnsafe(b []byte) error             { m.data = b; return nil }

// Nothing writes into a body that was decoded before, of which a message of vtprotobuf may have parts.
func TestReuseVT(t *testing.T) {
	c := protobuf.New().(codec.Reuser)
	older := []byte("the body of another connection")
	m := &pooled{older[:8]}
	if err := c.DecodeReuse([]byte("EVIL"), m); err != nil || string(m.data) != "EVIL" {
		t.Fatalf("%q, %v", m.data, err)
	}
	next := []byte("a body")
	if err := c.DecodeReuse(next, m); err != nil {
		t.Fatal(err)
	}
	if m.data = append(m.data[:0], "EVIL"...); string(older) != "the body of another connection" || !bytes.Equal(next, []byte("a body")) {
		t.Errorf("the bodies have become %q and %q", older, next)
	}
}
