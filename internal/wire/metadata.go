package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrTooLarge is wrapped by the error of SplitMeta when metadata is over a limit,
// and not malformed.
var ErrTooLarge = errors.New("metadata is too large")

const (
	// MaxMetaKey is the longest key of a metadata pair, in bytes.
	MaxMetaKey = 255
	// MaxMetaPairs is the most pairs that one block may have.
	MaxMetaPairs = 64
	// MaxMetaBlock is the longest block that its length field can express.
	MaxMetaBlock = 1<<16 - 1
	// OrderKey is the key of the pair that gives a one-way call its order.
	OrderKey = "weft-order"
	// MaxOrder is the longest value of OrderKey, in bytes.
	MaxOrder = 255
)

// AppendPair appends one pair to the inside of a metadata block. The key has at
// most MaxMetaKey bytes, the value at most 65,535.
func AppendPair(dst []byte, key, value string) []byte {
	dst = append(dst, byte(len(key)))
	dst = append(dst, key...)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(value)))
	return append(dst, value...)
}

// SplitMeta cuts a message that begins with a metadata block into the inside of
// the block, of at most limit bytes, and the rest; both share memory with b. It
// checks every pair, so that NextPair needs no error.
func SplitMeta(b []byte, limit int) (pairs, rest []byte, err error) {
	if len(b) < 2 {
		return nil, nil, fmt.Errorf("message ends inside the length of its metadata")
	}
	n := int(binary.LittleEndian.Uint16(b))
	if n > limit {
		return nil, nil, fmt.Errorf("%w: %d bytes, its receiver takes %d (Limits.MaxMetadata)", ErrTooLarge, n, limit)
	}
	if n > len(b)-2 {
		return nil, nil, fmt.Errorf("metadata claims %d bytes, %d are left", n, len(b)-2)
	}
	pairs, rest = b[2:2+n], b[2+n:]
	if err := checkPairs(pairs); err != nil {
		return nil, nil, err
	}
	return pairs, rest, nil
}

func checkPairs(b []byte) error {
	for count := 0; len(b) > 0; count++ {
		if count == MaxMetaPairs {
			return fmt.Errorf("%w: more than %d pairs", ErrTooLarge, MaxMetaPairs)
		}
		k := int(b[0])
		if k == 0 {
			return fmt.Errorf("metadata has an empty key")
		}
		if len(b) < 1+k+2 {
			return fmt.Errorf("metadata ends inside the head of a pair")
		}
		v := int(binary.LittleEndian.Uint16(b[1+k:]))
		if len(b) < 1+k+2+v {
			return fmt.Errorf("metadata ends inside the value of %q", b[1:1+k])
		}
		b = b[1+k+2+v:]
	}
	return nil
}

// NextPair returns the first pair of the inside of a checked block and what
// follows it. It must not be called with nothing left.
func NextPair(b string) (key, value, rest string) {
	k := int(b[0])
	v := int(b[1+k]) | int(b[2+k])<<8
	return b[1 : 1+k], b[3+k : 3+k+v], b[3+k+v:]
}

// FirstPair is NextPair for a block that may be empty: then it returns nothing.
func FirstPair(pairs string) (key, value, rest string) {
	if pairs == "" {
		return "", "", ""
	}
	return NextPair(pairs)
}

// Order returns the value of OrderKey in the payload of the first frame of a message that
// begins with a metadata block. The pair counts only as the first one of the block, whole in
// this frame, with a value of at most MaxOrder bytes. The result shares memory with payload.
func Order(payload []byte) (order []byte, ok bool) {
	const head = 2 + 1 + len(OrderKey) + 2 // lengths of the block, the key and the value
	if len(payload) < head || int(payload[2]) != len(OrderKey) || string(payload[3:head-2]) != OrderKey {
		return nil, false
	}
	block := int(binary.LittleEndian.Uint16(payload))
	n := int(binary.LittleEndian.Uint16(payload[head-2:]))
	if n > MaxOrder || head-2+n > block || len(payload) < head+n {
		return nil, false
	}
	return payload[head : head+n], true
}
