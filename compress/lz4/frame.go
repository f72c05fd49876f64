package lz4

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	frameMagic = 0x184D2204
	// uncompressed marks the length of a block that is stored as it is.
	uncompressed = 1 << 31
)

// The flags of a frame.
const (
	flagDictionary = 1 << 0
	flagReserved   = 1 << 1
	flagChecksum   = 1 << 2
	flagSize       = 1 << 3
	flagBlockCheck = 1 << 4
	flagSeparate   = 1 << 5
	version        = 1 << 6
	versionMask    = 3 << 6
)

var (
	errShort   = errors.New("frame is cut short")
	errCorrupt = errors.New("corrupt block")
)

// A header is that of a frame.
type header struct {
	independent bool   // no block refers to another
	blockCheck  bool   // each block has a checksum behind it
	checksum    bool   // the content has one behind the last block
	sized       bool   // content is known
	content     uint64 // how many bytes the frame claims to restore
	block       int    // how many bytes each block restores at most
}

// blockCode returns the code of the smallest block size that holds n bytes, or
// of the largest there is.
func blockCode(n int) byte {
	code := byte(4)
	for code < 7 && blockSize(code) < n {
		code++
	}
	return code
}

// blockSize returns the size that a code from 4 to 7 stands for: 64 KiB to 4 MiB.
func blockSize(code byte) int { return 1 << (8 + 2*code) }

func appendHeader(dst []byte, code byte, content uint64) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, frameMagic)
	start := len(dst)
	dst = append(dst, version|flagSeparate|flagSize|flagChecksum, code<<4)
	dst = binary.LittleEndian.AppendUint64(dst, content)
	return append(dst, byte(xxh32(dst[start:])>>8))
}

// parseHeader reads the header of the frame that src holds and returns what is
// behind it.
func parseHeader(src []byte) (h header, rest []byte, err error) {
	const fixed = 7 // magic, flags, block size, checksum
	if len(src) < fixed {
		return h, nil, errShort
	}
	if magic := binary.LittleEndian.Uint32(src); magic != frameMagic {
		return h, nil, fmt.Errorf("frame begins with %08x, want %08x", magic, uint32(frameMagic))
	}
	flags, code := src[4], src[5]
	length := fixed
	if flags&flagSize != 0 {
		length += 8
	}
	switch {
	case flags&versionMask != version:
		return h, nil, fmt.Errorf("frame of version %d, want 1", flags>>6)
	case flags&flagReserved != 0 || code&0x8f != 0 || code>>4 < 4:
		return h, nil, fmt.Errorf("frame with reserved bits in %02x %02x", flags, code)
	case flags&flagDictionary != 0:
		return h, nil, errors.New("frame needs a dictionary")
	case len(src) < length:
		return h, nil, errShort
	case byte(xxh32(src[4:length-1])>>8) != src[length-1]:
		return h, nil, errors.New("checksum of the header is wrong")
	}
	h = header{
		independent: flags&flagSeparate != 0,
		blockCheck:  flags&flagBlockCheck != 0,
		checksum:    flags&flagChecksum != 0,
		sized:       flags&flagSize != 0,
		block:       blockSize(code >> 4),
	}
	if h.sized {
		h.content = binary.LittleEndian.Uint64(src[6:])
	}
	return h, src[length:], nil
}

// A block is one of a frame.
type block struct {
	end      bool // it is the mark behind the last block
	raw      bool // data is what it restores
	data     []byte
	restores int // how many bytes
}

// parseBlock reads the block at the start of src and returns what is behind it.
func parseBlock(src []byte, h header) (b block, rest []byte, err error) {
	if len(src) < 4 {
		return b, nil, errShort
	}
	word := binary.LittleEndian.Uint32(src)
	rest = src[4:]
	if word == 0 {
		b.end = true
		return b, rest, nil
	}
	b.raw = word&uncompressed != 0
	length := int(word &^ uncompressed)
	if length > h.block {
		return b, nil, fmt.Errorf("block of %d bytes, the frame allows %d", length, h.block)
	}
	if length > len(rest) {
		return b, nil, errShort
	}
	b.data, rest = rest[:length:length], rest[length:]
	if h.blockCheck {
		if len(rest) < 4 {
			return b, nil, errShort
		}
		if binary.LittleEndian.Uint32(rest) != xxh32(b.data) {
			return b, nil, errors.New("checksum of a block is wrong")
		}
		rest = rest[4:]
	}
	b.restores = length
	if !b.raw {
		b.restores, err = restoredSize(b.data)
	}
	if err == nil && b.restores > h.block {
		err = fmt.Errorf("block restores %d bytes, the frame allows %d", b.restores, h.block)
	}
	return b, rest, err
}

// restoredSize returns how many bytes a compressed block restores, by adding up
// what its sequences say: so many literals, then so many bytes copied from
// before. So exactly the room it needs can be made.
func restoredSize(b []byte) (int, error) {
	const minCopy = 4
	size := 0
	for at := 0; at < len(b); {
		token := b[at]
		literals, next := runLength(b, at+1, int(token>>4))
		at = next + literals
		size += literals
		if at == len(b) {
			return size, nil // the last sequence, and only that, has no copy
		}
		copied, next := runLength(b, at+2, int(token&15)) // behind the offset
		at = next
		size += copied + minCopy
	}
	return 0, errCorrupt
}

// runLength returns a length whose low part is n and which goes on at b[at] when
// n is 15, and where it ends. Beyond the end of b it counts no further.
func runLength(b []byte, at, n int) (length, end int) {
	if n < 15 {
		return n, at
	}
	for at < len(b) {
		n += int(b[at])
		at++
		if b[at-1] < 255 {
			break
		}
	}
	return n, at
}

// check reports what is wrong with content, given what is behind the last block.
func (h header) check(content, rest []byte) error {
	if h.checksum {
		if len(rest) < 4 {
			return errShort
		}
		if binary.LittleEndian.Uint32(rest) != xxh32(content) {
			return errors.New("checksum of the content is wrong")
		}
		rest = rest[4:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes behind the frame", len(rest))
	}
	if h.sized && h.content != uint64(len(content)) {
		return fmt.Errorf("frame restores %d bytes, its header says %d", len(content), h.content)
	}
	return nil
}
