package zstd

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	frameMagic = 0xFD2FB528
	minWindow  = 1 << 10
	maxBlock   = 128 << 10 // what a block can restore
)

// The types of blocks.
const (
	blockRaw = iota
	blockRepeat
	blockCompressed
)

var errShort = errors.New("frame is cut short")

// A frame has what is known of one without decompressing it.
type frame struct {
	sized   bool   // content is known
	content uint64 // how many bytes the frame claims to restore
	least   uint64 // how many its blocks restore at least, if they are sound
	most    uint64 // how many they can restore
}

// parseFrame reads the header of the frame that src holds and those of its
// blocks. So it is known, before anything is made for it, that src is one whole
// frame and what its blocks can restore.
func parseFrame(src []byte) (frame, error) {
	f, window, checksum, rest, err := parseHeader(src)
	if err != nil {
		return frame{}, err
	}
	block := min(window, maxBlock)
	for last := false; !last; {
		if len(rest) < 3 {
			return frame{}, errShort
		}
		head := uint64(rest[0]) | uint64(rest[1])<<8 | uint64(rest[2])<<16
		last = head&1 != 0
		size := head >> 3
		if size > block {
			return frame{}, fmt.Errorf("block of %d bytes, the frame allows %d", size, block)
		}
		length := size
		switch head >> 1 & 3 {
		case blockRaw:
			f.least += size
		case blockRepeat:
			f.least += size
			length = 1
		case blockCompressed:
			f.most += block
		default:
			return frame{}, errors.New("block of a reserved type")
		}
		if uint64(len(rest)-3) < length {
			return frame{}, errShort
		}
		rest = rest[3+length:]
	}
	if checksum {
		if len(rest) < 4 {
			return frame{}, errShort
		}
		rest = rest[4:]
	}
	if len(rest) > 0 {
		return frame{}, fmt.Errorf("%d bytes behind the frame", len(rest))
	}
	f.most += f.least
	return f, nil
}

// parseHeader reads the header of a frame and returns what is behind it.
func parseHeader(src []byte) (f frame, window uint64, checksum bool, rest []byte, err error) {
	fail := func(err error) (frame, uint64, bool, []byte, error) { return frame{}, 0, false, nil, err }
	if len(src) < 5 {
		return fail(errShort)
	}
	if magic := binary.LittleEndian.Uint32(src); magic != frameMagic {
		return fail(fmt.Errorf("frame begins with %08x, want %08x", magic, uint32(frameMagic)))
	}
	flags, rest := src[4], src[5:]
	single := flags&(1<<5) != 0
	if flags&(1<<3) != 0 {
		return fail(errors.New("frame with a reserved flag"))
	}
	if !single {
		if len(rest) == 0 {
			return fail(errShort)
		}
		base := uint64(1) << (10 + rest[0]>>3)
		window, rest = base+base/8*uint64(rest[0]&7), rest[1:]
	}
	dictionary := [4]int{0, 1, 2, 4}[flags&3]
	content := [4]int{0, 2, 4, 8}[flags>>6]
	if content == 0 && single {
		content = 1
	}
	if len(rest) < dictionary+content {
		return fail(errShort)
	}
	for _, b := range rest[:dictionary] {
		if b != 0 {
			return fail(errors.New("frame needs a dictionary"))
		}
	}
	f.sized, f.content = content > 0, little(rest[dictionary:dictionary+content])
	if content == 2 {
		f.content += 256
	}
	if single {
		window = max(f.content, minWindow)
	} else if window > maxWindow {
		return fail(fmt.Errorf("frame has a window of %d bytes, the limit is %d", window, maxWindow))
	}
	return f, window, flags&(1<<2) != 0, rest[dictionary+content:], nil
}

// little returns the number that b, of up to eight bytes, holds, low bytes first.
func little(b []byte) uint64 {
	var whole [8]byte
	copy(whole[:], b)
	return binary.LittleEndian.Uint64(whole[:])
}
