// Package lz4 compresses with LZ4: little CPU, moderate size.
//
// The compressed form is one frame of the LZ4 Frame Format 1.6 (lz4_Frame_format.md
// of lz4/lz4), with independent blocks, the size of the content and a checksum
// of it. Frames with dependent blocks, with checksums of blocks, and without
// sizes or checksums are read too; those that need a dictionary, and the legacy
// and skippable formats, are not.
package lz4

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/pierrec/lz4/v4"

	"github.com/weftrpc/weft/compress"
)

// New returns the compressor named "lz4". It keeps encoders for reuse, so keep
// one and share it.
func New() compress.Compressor { return new(compressor) }

type compressor struct {
	encoders sync.Pool // of *lz4.Compressor
}

func (*compressor) Name() string { return "lz4" }

func (c *compressor) Compress(dst, src []byte) ([]byte, error) {
	e, ok := c.encoders.Get().(*lz4.Compressor)
	if !ok {
		e = new(lz4.Compressor)
	}
	defer c.encoders.Put(e)

	code := blockCode(len(src))
	dst = appendHeader(dst, code, uint64(len(src)))
	for rest := src; len(rest) > 0; {
		block := rest[:min(len(rest), blockSize(code))]
		rest = rest[len(block):]
		dst = appendBlock(dst, block, e)
	}
	dst = append(dst, 0, 0, 0, 0) // the end mark
	return binary.LittleEndian.AppendUint32(dst, xxh32(src)), nil
}

// appendBlock appends block with its length, compressed when that makes it
// smaller.
func appendBlock(dst, block []byte, e *lz4.Compressor) []byte {
	start := len(dst)
	dst = slices.Grow(dst, 4+len(block))
	room := dst[start+4 : start+4+len(block)-1]
	n, err := e.CompressBlock(block, room)
	if err != nil || n == 0 {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(block))|uncompressed)
		return append(dst, block...)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	return dst[:len(dst)+n]
}

func (*compressor) Decompress(dst, src []byte, limit int) ([]byte, error) {
	out, err := decompress(dst, src, max(limit, 0))
	if err != nil && err != compress.ErrTooLarge {
		err = fmt.Errorf("compress/lz4: %w", err)
	}
	return out, err
}

// window is how far back a block may refer into those before it.
const window = 64 << 10

func decompress(dst, src []byte, limit int) ([]byte, error) {
	h, rest, err := parseHeader(src)
	if err != nil {
		return dst, err
	}
	if h.sized && h.content > uint64(limit) {
		return dst, compress.ErrTooLarge
	}
	start := len(dst)
	for {
		b, behind, err := parseBlock(rest, h)
		if err != nil {
			return dst, err
		}
		rest = behind
		if b.end {
			break
		}
		if b.restores > limit-(len(dst)-start) {
			return dst, compress.ErrTooLarge
		}
		if b.raw {
			dst = append(dst, b.data...)
			continue
		}
		var past []byte
		if !h.independent {
			past = dst[max(start, len(dst)-window):]
		}
		dst = slices.Grow(dst, b.restores)
		end := len(dst) + b.restores
		n, err := lz4.UncompressBlockWithDict(b.data, dst[len(dst):end:end], past)
		if err == nil && n != b.restores {
			err = errCorrupt
		}
		if err != nil {
			return dst, err
		}
		dst = dst[:end]
	}
	return dst, h.check(dst[start:], rest)
}
