// Package texts makes room for the strings and byte slices of a message.
package texts

import (
	"bytes"

	"github.com/weftrpc/weft/codec/internal/memory"
)

const (
	// chunk is how much memory is allocated at once. It is also how much a short
	// text keeps alive at most.
	chunk = 4 << 10
	// single is the length from which a text gets memory of its own.
	single = 1 << 10
)

// Pieces copies the texts of one message. Short ones share memory, without
// overlapping.
type Pieces struct {
	// Rest is how many bytes of the message are not of texts, at least; an estimate
	// may be wrong.
	Rest int

	room []byte
	used int // of room
}

// Bytes returns a copy of text. From its start on the message has left bytes.
func (p *Pieces) Bytes(text []byte, left int) []byte {
	n := len(text)
	if n > len(p.room)-p.used {
		if n >= single {
			return bytes.Clone(text)
		}
		p.allocate(n, left)
	}
	s := p.room[p.used : p.used+n : p.used+n]
	p.used += n // rather than a shorter slice, whose pointer the collector would have to be told of
	copy(s, text)
	return s
}

// String is Bytes for a string.
func (p *Pieces) String(text []byte, left int) string {
	if len(text) == 0 {
		return ""
	}
	return memory.String(p.Bytes(text, left))
}

// allocate makes room for n bytes at least.
//
//go:noinline
func (p *Pieces) allocate(n, left int) {
	p.room, p.used = make([]byte, max(n, min(chunk, left-p.Rest))), 0
	p.Rest = 0 // for the first time alone
}
