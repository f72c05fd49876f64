// Package envelope reads and writes the objects of JSON-RPC 2.0 and 1.0 around requests and
// replies, whose bytes stay as they are.
package envelope

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// The errors of a Reader.
var (
	// ErrSyntax is the error of bytes that are no object or array.
	ErrSyntax = errors.New("a value is neither an object nor an array")
	// ErrTooLarge is the error of a value that is longer than the limit.
	ErrTooLarge = errors.New("a value is longer than the limit")
)

// Reader takes JSON values off a stream, one after the other, with or without white space between
// them. It only finds their ends: whether they are valid is not known.
type Reader struct {
	r      io.Reader
	limit  int
	before func(within bool)
	buf    []byte // was read and not returned
}

// NewReader returns a reader of values of up to limit bytes. before, if it is not nil, is called
// before each read, with whether a value has begun.
func NewReader(r io.Reader, limit int, before func(within bool)) *Reader {
	return &Reader{r: r, limit: limit, before: before}
}

// firstRead is how many bytes are asked for first.
const firstRead = 4 << 10

// Next returns the next value, which belongs to the caller. The error is io.EOF at the end between
// values, and io.ErrUnexpectedEOF within one.
func (r *Reader) Next() ([]byte, error) {
	r.buf = bytes.TrimLeft(r.buf, " \t\r\n")
	var s scanner
	at := 0
	for {
		for ; at < len(r.buf); at++ {
			if at == 0 && r.buf[0] != '{' && r.buf[0] != '[' {
				return nil, ErrSyntax
			}
			if s.text && !s.escaped { // most bytes of large values are in strings
				for at < len(r.buf)-1 && r.buf[at] != '"' && r.buf[at] != '\\' {
					at++
				}
			}
			if s.ends(r.buf[at]) {
				if at >= r.limit {
					return nil, ErrTooLarge
				}
				value := bytes.Clone(r.buf[:at+1])
				r.buf = r.buf[at+1:]
				return value, nil
			}
		}
		if len(r.buf) > r.limit {
			return nil, ErrTooLarge
		}
		if err := r.fill(); err != nil {
			if err == io.EOF && len(r.buf) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if at == 0 {
			r.buf = bytes.TrimLeft(r.buf, " \t\r\n")
		}
	}
}

// fill reads once.
func (r *Reader) fill() error {
	if cap(r.buf)-len(r.buf) < firstRead/2 {
		grown := make([]byte, len(r.buf), max(2*len(r.buf), firstRead))
		copy(grown, r.buf)
		r.buf = grown
	}
	if r.before != nil {
		r.before(len(r.buf) > 0)
	}
	n, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// scanner finds the end of an object or array.
type scanner struct {
	depth   int
	text    bool // in a string
	escaped bool // behind a backslash in it
}

// ends reports whether a byte is the last one of the value.
func (s *scanner) ends(c byte) bool {
	switch {
	case s.escaped:
		s.escaped = false
	case s.text:
		s.escaped = c == '\\'
		s.text = c != '"'
	case c == '"':
		s.text = true
	case c == '{' || c == '[':
		s.depth++
	case c == '}' || c == ']':
		s.depth--
		return s.depth == 0
	}
	return false
}

// end is the index behind the value that begins at i in valid JSON.
func end(b []byte, i int) int {
	var s scanner
	switch b[i] {
	case '{', '[':
		for ; ; i++ {
			if s.ends(b[i]) {
				return i + 1
			}
		}
	case '"':
		for i++; b[i] != '"'; i++ {
			if b[i] == '\\' {
				i++
			}
		}
		return i + 1
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
func members(object []byte, yield func(key string, value []byte) bool) {
	i := next(object, 1+bytes.IndexByte(object, '{'), ' ')
	for object[i] != '}' {
		to := end(object, i)
		key := string(object[i+1 : to-1])
		if bytes.IndexByte(object[i:to], '\\') >= 0 {
			_ = json.Unmarshal(object[i:to], &key) // it is valid
		}
		i = next(object, to, ':')
		to = end(object, i)
		if !yield(key, object[i:to]) {
			return
		}
		i = next(object, to, ',')
	}
}
