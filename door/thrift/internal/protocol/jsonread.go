package protocol

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// FromJSON translates the rest of a message of the JSON protocol, its struct and what ends the message, to the binary
// protocol. The struct has at most most bytes there.
func FromJSON(b []byte, most int) ([]byte, error) {
	t := fromJSON{jsonReader: jsonReader{b: b}, out: make([]byte, 0, min(len(b), most)), most: most}
	t.structure(1)
	t.want(']')
	if rest := strings.Trim(string(b[min(t.i, len(b)):]), " \t\r\n"); t.err == nil && rest != "" {
		return nil, fmt.Errorf("thrift: %d bytes stand behind the message", len(rest))
	}
	return t.out, t.err
}

// fromJSON translates a struct.
type fromJSON struct {
	jsonReader
	out  []byte
	most int
}

// structure translates a struct. depth is how many structs and containers it and those around it are.
func (t *fromJSON) structure(depth int) {
	if depth > MaxDepth {
		t.fail(errDepth)
	}
	t.want('{')
	for first := true; t.err == nil; first = false {
		if t.next() == '}' {
			t.i++
			t.out = append(t.out, 0)
			return
		}
		if !first {
			t.want(',')
		}
		id := t.quoted(16)
		t.want(':')
		t.want('{')
		typ := t.typeName()
		t.want(':')
		t.out = append(t.out, byte(typ), byte(uint16(id)>>8), byte(id))
		t.value(typ, depth)
		t.want('}')
	}
}

// quoted reads an integer in quotes.
func (t *fromJSON) quoted(bits int) int64 {
	if t.next() != '"' {
		t.fail(fmt.Errorf("thrift: in a message of the JSON protocol the number of a field stands without quotes"))
		return 0
	}
	return t.integer(bits)
}

func (t *fromJSON) typeName() Type {
	name := t.text()
	typ := typeOfJSON(name)
	if typ == Stop && t.err == nil {
		t.fail(fmt.Errorf("thrift: the JSON protocol has no type %.16q", name))
	}
	return typ
}

// value translates a value.
func (t *fromJSON) value(typ Type, depth int) {
	if len(t.out) > t.most {
		t.fail(fmt.Errorf("thrift: a message has more than %d bytes", t.most))
		return
	}
	switch typ {
	case Bool:
		t.out = append(t.out, t.truth())
	case I8:
		t.out = append(t.out, byte(t.integer(8)))
	case I16:
		t.out = binary.BigEndian.AppendUint16(t.out, uint16(t.integer(16)))
	case I32:
		t.out = binary.BigEndian.AppendUint32(t.out, uint32(t.integer(32)))
	case I64:
		t.out = binary.BigEndian.AppendUint64(t.out, uint64(t.integer(64)))
	case Double:
		t.out = binary.BigEndian.AppendUint64(t.out, math.Float64bits(t.double()))
	case String:
		text := t.text()
		t.out = append(binary.BigEndian.AppendUint32(t.out, uint32(len(text))), text...)
	case UUID:
		text := string(t.text())
		id, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		if t.err == nil && (err != nil || len(id) != 16) {
			t.fail(fmt.Errorf("thrift: %.64q is no uuid", text))
		}
		t.out = append(t.out, id...)
	case Struct:
		t.structure(depth + 1)
	case List, Set:
		t.list(depth + 1)
	case Map:
		t.pairs(depth + 1)
	}
}

// truth reads a bool: 1 or 0, and also true or false.
func (t *fromJSON) truth() byte {
	for i, word := range []string{"false", "true"} {
		if t.next() == word[0] {
			if !strings.HasPrefix(string(t.b[t.i:min(t.i+len(word), len(t.b))]), word) {
				t.fail(ErrShort)
				return 0
			}
			t.i += len(word)
			return byte(i)
		}
	}
	v := t.integer(8)
	if v != 0 && v != 1 {
		t.fail(fmt.Errorf("thrift: %d is no bool", v))
	}
	return byte(v)
}

// count reads how many elements a container has, and appends it.
func (t *fromJSON) count(depth int) int64 {
	if depth > MaxDepth {
		t.fail(errDepth)
	}
	n := t.integer(32)
	if n < 0 || n > int64(len(t.b)-t.i) {
		t.fail(fmt.Errorf("thrift: a container of %d elements, for which %d bytes are left", n, len(t.b)-t.i))
		return 0
	}
	t.out = binary.BigEndian.AppendUint32(t.out, uint32(n))
	return n
}

func (t *fromJSON) list(depth int) {
	t.want('[')
	typ := t.typeName()
	t.want(',')
	t.out = append(t.out, byte(typ))
	for n := t.count(depth); n > 0 && t.err == nil; n-- {
		t.want(',')
		t.value(typ, depth)
	}
	t.want(']')
}

func (t *fromJSON) pairs(depth int) {
	t.want('[')
	key := t.typeName()
	t.want(',')
	value := t.typeName()
	t.want(',')
	t.out = append(t.out, byte(key), byte(value))
	n := t.count(depth)
	t.want(',')
	t.want('{')
	for i := int64(0); i < n && t.err == nil; i++ {
		if i > 0 {
			t.want(',')
		}
		t.value(key, depth)
		t.want(':')
		t.value(value, depth)
	}
	t.want('}')
	t.want(']')
}
