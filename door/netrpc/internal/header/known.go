package header

import (
	"bytes"
	"encoding/binary"
)

// Known reads the headers of one stream whose types are described as encoding/gob describes Request, some times faster
// than the codec. The zero value knows none.
type Known struct {
	defs []byte // the descriptions before each header
	id   []byte // the number of the type
}

// fields is how the description of Request has its fields: two, with their names and the numbers of their types.
const fields = "\x02\x01\x0dServiceMethod\x01\x0c\x00\x01\x03Seq\x01\x06\x00"

// Learn looks at a header that the codec has decoded.
func (k *Known) Learn(body []byte) {
	defs, contents := split(body)
	if defs == nil || !bytes.Contains(defs, []byte(fields)) {
		return
	}
	_, end := number(contents, 0)
	if end < 0 {
		return
	}
	*k = Known{bytes.Clone(defs), bytes.Clone(contents[:end])}
}

// Parse reads a header; method is a part of body. ok is false where the codec has to.
func (k *Known) Parse(body []byte) (method []byte, seq uint64, ok bool) {
	if k.defs == nil || !bytes.HasPrefix(body, k.defs) {
		return nil, 0, false
	}
	b := body[len(k.defs):]
	n, at := number(b, 0)
	if at < 0 || n != uint64(len(b)-at) || !bytes.HasPrefix(b[at:], k.id) {
		return nil, 0, false
	}
	at += len(k.id)
	for field := uint64(0); ; {
		delta, next := number(b, at)
		if next < 0 || delta > 2-field {
			return nil, 0, false
		}
		if delta == 0 {
			return method, seq, next == len(b)
		}
		if field += delta; field == 2 {
			if seq, at = number(b, next); at < 0 {
				return nil, 0, false
			}
			continue
		}
		size, from := number(b, next)
		if from < 0 || size > uint64(len(b)-from) {
			return nil, 0, false
		}
		at = from + int(size)
		method = b[from:at]
	}
}

// Prefix is what stands before the fields of each Response of this process.
type Prefix struct {
	defs []byte
	id   []byte
}

// PrefixOf takes the prefix of a Response that the codec has encoded.
func PrefixOf(body []byte) Prefix {
	defs, contents := split(body)
	_, end := number(contents, 0)
	if defs == nil || end < 0 {
		return Prefix{}
	}
	return Prefix{bytes.Clone(defs), bytes.Clone(contents[:end])}
}

// Append appends a Response as the codec does.
func (p *Prefix) Append(b []byte, r *Response) []byte {
	b = append(b, p.defs...)
	n := len(p.id) + 1
	delta := 1
	if r.ServiceMethod != "" {
		n += 1 + sizeOf(uint64(len(r.ServiceMethod))) + len(r.ServiceMethod)
	}
	if r.Seq != 0 {
		n += 1 + sizeOf(r.Seq)
	}
	if r.Error != "" {
		n += 1 + sizeOf(uint64(len(r.Error))) + len(r.Error)
	}
	b = append(appendNumber(b, uint64(n)), p.id...)
	text := func(s string) {
		if s == "" {
			delta++
			return
		}
		b = append(appendNumber(append(b, byte(delta)), uint64(len(s))), s...)
		delta = 1
	}
	text(r.ServiceMethod)
	if r.Seq == 0 {
		delta++
	} else {
		b = appendNumber(append(b, byte(delta)), r.Seq)
		delta = 1
	}
	text(r.Error)
	return append(b, 0)
}

// split divides a body into the descriptions of types and the contents of the message with the value; nil: it cannot.
func split(body []byte) (defs, contents []byte) {
	for at := 0; ; {
		n, start := number(body, at)
		if start < 0 || n > uint64(len(body)-start) {
			return nil, nil
		}
		end := start + int(n)
		id, next := number(body[:end], start)
		if next < 0 {
			return nil, nil
		}
		if id&1 == 0 { // the number of a type that is described here is below zero
			return body[:at:at], body[start:end]
		}
		at = end
	}
}

// number reads an unsigned number of encoding/gob, and returns the index behind it, or -1.
func number(b []byte, at int) (n uint64, end int) {
	if at >= len(b) {
		return 0, -1
	}
	first := b[at]
	if at++; first < 0x80 {
		return uint64(first), at
	}
	size := 256 - int(first)
	if size > 8 || len(b)-at < size {
		return 0, -1
	}
	for _, c := range b[at : at+size] {
		n = n<<8 | uint64(c)
	}
	return n, at + size
}

// sizeOf is how many bytes appendNumber appends.
func sizeOf(n uint64) int {
	if n < 0x80 {
		return 1
	}
	size := 1
	for ; n > 0; n >>= 8 {
		size++
	}
	return size
}

// appendNumber appends an unsigned number as encoding/gob does.
func appendNumber(b []byte, n uint64) []byte {
	if n < 0x80 {
		return append(b, byte(n))
	}
	size := sizeOf(n) - 1
	var all [8]byte
	binary.BigEndian.PutUint64(all[:], n)
	return append(append(b, byte(256-size)), all[8-size:]...)
}
