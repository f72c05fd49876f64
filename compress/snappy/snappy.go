// Package snappy compresses with Snappy: least CPU, moderate size.
//
// The compressed form is a Snappy block (format_description.txt of
// google/snappy), not the framing format: the length of the restored bytes as a
// varint, then literals and copies. It has no checksum.
package snappy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/snappy"

	"github.com/weftrpc/weft/compress"
)

// New returns the compressor named "snappy". All values it returns are equal.
func New() compress.Compressor { return compressor{} }

type compressor struct{}

func (compressor) Name() string { return "snappy" }

func (compressor) Compress(dst, src []byte) ([]byte, error) {
	most := snappy.MaxEncodedLen(len(src))
	if most < 0 {
		return dst, fmt.Errorf("compress/snappy: %d bytes are too many for one block", len(src))
	}
	dst = slices.Grow(dst, most)
	return keep(dst, snappy.Encode(dst[len(dst):len(dst):len(dst)+most], src)), nil
}

// A copy of three bytes restores 64, and nothing restores more for its length.
const (
	copyLength   = 3
	copyRestores = 64
)

func (compressor) Decompress(dst, src []byte, limit int) ([]byte, error) {
	claimed, head := binary.Uvarint(src)
	switch {
	case head <= 0 || head > 5 || claimed > 1<<32-1:
		return dst, errors.New("compress/snappy: block without a length")
	case claimed > uint64(max(limit, 0)):
		return dst, compress.ErrTooLarge
	case claimed > uint64(len(src)-head)*copyRestores/copyLength+copyRestores:
		return dst, fmt.Errorf("compress/snappy: block of %d bytes claims to restore %d", len(src), claimed)
	}
	dst = slices.Grow(dst, int(claimed))
	out, err := snappy.DecodeStrict(dst[len(dst):len(dst):len(dst)+int(claimed)], src)
	if err != nil {
		return dst, fmt.Errorf("compress/snappy: %w", err)
	}
	return keep(dst, out), nil
}

// keep returns dst with tail behind it, which is there already when the library
// had room enough.
func keep(dst, tail []byte) []byte {
	end := len(dst) + len(tail)
	if len(tail) > 0 && end <= cap(dst) && &tail[0] == &dst[:end][len(dst)] {
		return dst[:end]
	}
	return append(dst, tail...)
}
