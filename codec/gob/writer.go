package gob

import (
	"bytes"
	"fmt"
)

// A Writer makes a stream that encoding/gob reads, such as a connection of
// net/rpc, out of bodies of this codec. It leaves out descriptions that the
// stream has already. The zero value is the beginning of a stream.
//
// Values are encoded before, by any goroutine:
//
//	body, err := c.Append(nil, reply) // c is what New returned
//	…
//	stream, err = w.Append(stream, body)
//
// The bodies of one stream must come from one process, for in another one the
// types have other numbers. A Writer must not be used by two goroutines at
// once, and what it returned must be written in that order.
type Writer struct {
	types descriptions   // that the stream has
	plain map[int64]bool // by the number of the type: whether values never have an interface in them
}

// Append appends body, with those of its descriptions that the stream lacks, to
// dst. After an error nothing was appended, and the stream can go on.
func (w *Writer) Append(dst, body []byte) ([]byte, error) {
	defs, message, contents, ok := cut(body)
	if ok {
		if top, at := topOf(contents); at > 0 && (top < firstDescribed && top != typeInterface || w.plain[top]) && w.has(defs) {
			return append(dst, message...), nil
		}
	}
	s, err := scan(body, nil, nil)
	if err != nil {
		return dst, fmt.Errorf("codec/gob: %w", err)
	}
	for id, d := range s.types {
		if have := w.types[id]; have != nil && !bytes.Equal(have.message, d.message) {
			return dst, fmt.Errorf("codec/gob: the stream has another type with the number %d; write bodies of one process to a stream", id)
		}
	}
	if w.types == nil {
		w.types, w.plain = make(descriptions), make(map[int64]bool)
	}
	for rest := s.defs; len(rest) > 0; {
		n, start := uintAt(rest, 0)
		end := start + int(n)
		id, _ := intAt(rest, start)
		if w.types[-id] == nil {
			w.types[-id] = s.types[-id]
			dst = append(dst, rest[:end]...)
		}
		rest = rest[end:]
	}
	w.plain[s.top] = !s.types.holdInterface(s.top, make(map[int64]bool))
	return appendMessage(dst, s.out), nil
}

// has reports whether the stream has all descriptions in defs.
func (w *Writer) has(defs []byte) bool {
	for len(defs) > 0 {
		n, start := uintAt(defs, 0)
		end := start + int(n)
		id, _ := intAt(defs, start)
		if d := w.types[-id]; d == nil || !bytes.Equal(d.message, defs[:end]) {
			return false
		}
		defs = defs[end:]
	}
	return true
}
