// Package envelope reads and writes the objects of JSON-RPC 2.0 and 1.0 around requests and
// replies, whose bytes stay as they are.
package envelope

import (
	"bytes"
	"encoding/json"
)

// scanner finds the end of an object or array, which may come in parts.
type scanner struct {
	depth   int
	text    bool // in a string
	escaped bool // behind a backslash in it
}

// end reads on from i, and returns the index behind the value, at which depth is 0, or the length of b.
func (s *scanner) end(b []byte, i int) int {
	for i < len(b) {
		if s.text {
			if i = s.textEnd(b, i); s.text {
				return i
			}
			continue
		}
		c := b[i]
		i++
		switch c {
		case '"':
			s.text = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth == 0 {
				return i
			}
		}
	}
	return i
}

// textEnd reads on within a string, and returns the index behind it, or the length of b.
func (s *scanner) textEnd(b []byte, i int) int {
	if s.escaped && i < len(b) {
		s.escaped = false
		i++
	}
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			s.text = false
			return i + 1
		case '\\':
			if i++; i == len(b) {
				s.escaped = true
			}
		}
	}
	return len(b)
}

// end is the index behind the value that begins at i in valid JSON.
func end(b []byte, i int) int {
	var s scanner
	switch b[i] {
	case '{', '[':
		return s.end(b, i)
	case '"':
		s.text = true
		return s.textEnd(b, i+1)
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && !space(b[i]) {
		i++
	}
	return i
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// next is the index of the first byte from i on that is no white space and not skip.
func next(b []byte, i int, skip byte) int {
	for space(b[i]) || b[i] == skip {
		i++
	}
	return i
}

// Elements are the elements of a valid array, up to one more than most.
func Elements(array []byte, most int) [][]byte {
	var all [][]byte
	i := next(array, 1+bytes.IndexByte(array, '['), ' ')
	for array[i] != ']' && len(all) <= most {
		to := end(array, i)
		all = append(all, array[i:to])
		i = next(array, to, ',')
	}
	return all
}

// members calls yield with the members of a valid object until it returns false.
func members(object []byte, yield func(key, value []byte) bool) {
	i := next(object, 1+bytes.IndexByte(object, '{'), ' ')
	for object[i] != '}' {
		to := end(object, i)
		key := object[i+1 : to-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			var text string
			_ = json.Unmarshal(object[i:to], &text) // it is valid
			key = []byte(text)
		}
		i = next(object, to, ':')
		to = end(object, i)
		if !yield(key, object[i:to]) {
			return
		}
		i = next(object, to, ',')
	}
}
