package json

import (
	"bytes"

	"github.com/weftrpc/weft/codec"
)

// tooDeep returns where in body an object or array opens that lies within
// codec.MaxDepth others, or -1. For a body that is not JSON it may return
// either.
func tooDeep(body []byte) int {
	// Counting is many times faster than looking, and nearly always enough.
	if bytes.Count(body, []byte{'{'})+bytes.Count(body, []byte{'['}) <= codec.MaxDepth {
		return -1
	}
	depth := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			if depth++; depth > codec.MaxDepth {
				return i
			}
		case '}', ']':
			depth--
		case '"':
			i = stringEnd(body, i+1)
		}
	}
	return -1
}

// stringEnd returns where the string that begins at i has its closing quote,
// or len(body) when it has none.
func stringEnd(body []byte, i int) int {
	for i < len(body) && body[i] != '"' {
		if body[i] == '\\' {
			i++
		}
		i++
	}
	return i
}
