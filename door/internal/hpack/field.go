// Package hpack is the compression of header fields of HTTP/2 (RFC 7541).
//
// What a field means to the user is found out once, when it enters the table of a [Decoder], by a
// [Vocabulary]. An [Encoder] adds to its table and never has an entry leave it.
package hpack

import "fmt"

// TableSize is the size of the dynamic tables, in bytes.
const TableSize = 4096

// Error is what is wrong with a block. The tables of the connection are no longer known then.
type Error struct{ What string }

func (e *Error) Error() string { return "hpack: " + e.What }

func wrong(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Kind is what a header field is about.
type Kind uint8

// The kinds that this package knows. A Vocabulary has more, from First on.
const (
	Other     Kind = iota // neither this package nor the vocabulary knows the name
	Malformed             // not allowed in HTTP/2
	Method
	Scheme
	Path
	Authority
	Status
	ContentLength // Num and OK are set
	te
	First // of the vocabulary
)

// Field is a header field that has been looked at. One that is in a table was looked at when
// it entered it, and not for each block that refers to it.
type Field struct {
	Kind  Kind
	OK    bool   // for the vocabulary
	Num   uint64 // for the vocabulary
	Name  string // of the kind Other
	Value string // of the kind Other, and where the vocabulary sets it
	Data  any    // for the vocabulary

	Size    uint32 // as the RFC counts it
	nameLen uint32
}

// Vocabulary knows what header fields mean to the user of connections.
type Vocabulary interface {
	// Name returns the kind of the fields of a regular name in lower case.
	Name(name []byte) Kind
	// Look sets what a field means whose kind is one of the vocabulary's, or Method, Scheme, Path,
	// Authority or Status. The value is valid until it returns.
	Look(f *Field, value []byte)
}

// Tables are what all connections with a vocabulary share.
type Tables struct {
	vocabulary Vocabulary
	static     static
	huffman    *huffman
}

// NewTables makes the tables of a vocabulary. A connection may have another value of it, which
// gives the names the same kinds.
func NewTables(v Vocabulary) *Tables {
	t := &Tables{vocabulary: v, huffman: newHuffman()}
	d := Decoder{tables: t, vocabulary: v}
	for i, e := range staticEntries() {
		f := d.look([]byte(e[0]), []byte(e[1]), d.kindOf([]byte(e[0])), nil)
		t.static[i+1] = *f
	}
	return t
}

// kindOf finds out what the fields of a name are about.
func (d *Decoder) kindOf(name []byte) Kind {
	switch string(name) {
	case ":method":
		return Method
	case ":scheme":
		return Scheme
	case ":path":
		return Path
	case ":authority":
		return Authority
	case ":status":
		return Status
	case "content-length":
		return ContentLength
	case "te":
		return te
	case "", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return Malformed
	}
	for _, c := range name {
		if c >= 'A' && c <= 'Z' || c <= ' ' || c >= 0x7f || c == ':' {
			return Malformed
		}
	}
	return d.vocabulary.Name(name)
}

// decimal reads a number without a sign.
func decimal(v []byte) (n uint64, ok bool) {
	if len(v) == 0 || len(v) > 18 {
		return 0, false
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	return n, true
}
