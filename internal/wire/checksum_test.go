package wire_test

import (
	"bytes"
	"testing"

	"github.com/weftrpc/weft/internal/wire"
)

// TestChecksumFindsEveryFlip turns every bit of a frame and of its checksum.
func TestChecksumFindsEveryFlip(t *testing.T) {
	b := wire.AppendFrame([]byte("earlier bytes"), wire.Header{Type: wire.TypeReply, ID: 3}, []byte("a body"))
	at := len("earlier bytes")
	b = wire.AppendChecksum(b, at)
	b = b[at:]
	end := len(b) - wire.ChecksumSize
	if !wire.ChecksumOK(b[:end], b[end:]) {
		t.Fatal("the checksum does not fit")
	}
	for i := range b {
		for bit := range 8 {
			bad := bytes.Clone(b)
			bad[i] ^= 1 << bit
			if wire.ChecksumOK(bad[:end], bad[end:]) {
				t.Errorf("bit %d of byte %d was turned and not found", bit, i)
			}
		}
	}
}

func BenchmarkChecksum(b *testing.B) {
	frame := wire.AppendFrame(nil, wire.Header{Type: wire.TypeReply}, make([]byte, 581))
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		frame = wire.AppendChecksum(frame, 0)[:len(frame)]
	}
}
