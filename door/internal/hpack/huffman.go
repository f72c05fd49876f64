package hpack

// huffman decodes the code of RFC 7541, Appendix B. It is a canonical one, so the lengths of its
// codes say all: those of one length follow each other in the order of the bytes.
type huffman struct {
	short [256]uint16                // by the next 8 bits: the length of a code and its byte; 0: the code is longer
	first [huffmanLongest + 2]uint32 // by length: the first code, in the high bits of 32
	start [huffmanLongest + 2]uint16 // its place in order
	order [256]byte                  // the bytes in the order of their codes
}

const (
	huffmanShortest = 5
	huffmanLongest  = 30
	// huffmanLengths are the lengths of the codes of the bytes: a to z for 0 to 25, A to E for 26
	// to 30.
	huffmanLengths = "nxCCCCCCCyECCECCCCCCCCECCCCCCCCCgkkmngilkkiligggfffggggggghipgmk" +
		"nghhhhhhhhhhhhhhhhhhhhhhihintnogpfgfgfgggfhhgggfghgffghhhhhplonC" +
		"uwuuwwwxwxxxxxyxyywxyxxxxvwxwxxywvuwwxxvxwwyvwxxvvwvxwxxuwwwxwwx" +
		"AAutwxwzAAABBAyztvABBAByvvAACBBBuyuvwvvxwwzzyyAxABAABBBBBCBBBBBA"
)

// huffmanLength is the length that a letter of huffmanLengths stands for.
func huffmanLength(letter byte) int {
	if letter < 'a' {
		return int(letter-'A') + 26
	}
	return int(letter - 'a')
}

func newHuffman() *huffman {
	h := new(huffman)
	var code uint32
	n := 0
	for l := 1; l <= huffmanLongest; l++ {
		h.first[l], h.start[l] = code, uint16(n)
		for b := range 256 {
			if huffmanLength(huffmanLengths[b]) != l {
				continue
			}
			h.order[n] = byte(b)
			n++
			if l <= 8 {
				for i := range uint32(1) << (8 - l) {
					h.short[code>>24+i] = uint16(l)<<8 | uint16(b)
				}
			}
			code += 1 << (32 - l)
		}
	}
	h.first[huffmanLongest+1] = code
	return h
}

// append appends the decoded form of s, which begins and ends with a code and is filled up
// with less than a byte of ones. ok is false for what is none.
func (h *huffman) append(dst, s []byte) (_ []byte, ok bool) {
	var bits uint64 // not decoded yet, in the high bits
	have := 0
	for {
		for have <= 56 && len(s) > 0 {
			bits |= uint64(s[0]) << (56 - have)
			have += 8
			s = s[1:]
		}
		if e := h.short[bits>>56]; e != 0 && int(e>>8) <= have {
			dst = append(dst, byte(e))
			bits <<= e >> 8
			have -= int(e >> 8)
			continue
		}
		if have < 8 && len(s) == 0 {
			// At most seven ones, the beginning of a code that stands for no byte.
			return dst, bits == ^uint64(0)<<(64-have)
		}
		next := uint32(bits >> 32)
		l := 9
		for l <= huffmanLongest && next >= h.first[l+1] {
			l++
		}
		if l > huffmanLongest || l > have {
			return dst, false
		}
		at := int(h.start[l]) + int((next-h.first[l])>>(32-l))
		dst = append(dst, h.order[at])
		bits <<= l
		have -= l
	}
}
