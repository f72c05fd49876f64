package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// The JSON protocol writes a message as [1,"name",kind,sequence,struct]. Its values carry their types as the others
// do, so that a struct is translated to the binary protocol and back without knowing what it is. One thing it does not
// carry is whether a string is text or bytes, which it has in base64: readers and writers of translated structs are
// Armored, and the type in Go decides.

var errJSON = errors.New("thrift: a message of the JSON protocol has not the form [1,\"name\",kind,number,{...}]")

// jsonName is the name of a type in the JSON protocol; "": there is none.
func jsonName(t Type) string {
	switch t {
	case Bool:
		return "tf"
	case I8:
		return "i8"
	case I16:
		return "i16"
	case I32:
		return "i32"
	case I64:
		return "i64"
	case Double:
		return "dbl"
	case String:
		return "str"
	case Struct:
		return "rec"
	case Map:
		return "map"
	case Set:
		return "set"
	case List:
		return "lst"
	case UUID:
		return "uid"
	}
	return ""
}

// typeOfJSON is the type with a name in the JSON protocol; Stop: there is none.
func typeOfJSON(name []byte) Type {
	switch string(name) {
	case "tf":
		return Bool
	case "i8":
		return I8
	case "i16":
		return I16
	case "i32":
		return I32
	case "i64":
		return I64
	case "dbl":
		return Double
	case "str":
		return String
	case "rec":
		return Struct
	case "map":
		return Map
	case "set":
		return Set
	case "lst":
		return List
	case "uid":
		return UUID
	}
	return Stop
}

// TextScanner finds the end of a message of the JSON protocol of which more and more bytes come.
type TextScanner struct {
	at      int
	depth   int
	text    bool // within a string
	escaped bool // behind a backslash
	most    int
}

// Reset makes the scanner look for the end of a message of at most most bytes.
func (s *TextScanner) Reset(most int) { *s = TextScanner{most: most} }

// Scan goes on in b, which begins with the message and is never shorter than before. done: the message ends at end.
func (s *TextScanner) Scan(b []byte) (end int, done bool, err error) {
	for ; s.at < len(b); s.at++ {
		if s.at >= s.most {
			return s.at, false, fmt.Errorf("thrift: a message has more than %d bytes", s.most)
		}
		switch c := b[s.at]; {
		case s.escaped:
			s.escaped = false
		case s.text:
			s.escaped, s.text = c == '\\', c != '"'
		case c == '"':
			s.text = true
		case c == '[' || c == '{':
			s.depth++
		case c == ']' || c == '}':
			if s.depth--; s.depth <= 0 {
				return s.at + 1, true, nil
			}
		}
	}
	return s.at, false, nil
}

// maxJSONHead is how many bytes the beginning of a message may have before its struct.
const maxJSONHead = 6*MaxName + 64

// readJSONHead is ReadHead for the JSON protocol.
func readJSONHead(b []byte) (h Head, n int, err error) {
	j := jsonReader{b: b}
	var numbers [4]int64
	j.want('[')
	numbers[0] = j.integer(32)
	j.want(',')
	h.Name = j.text()
	for i := 1; i < 3; i++ {
		j.want(',')
		numbers[i] = j.integer(33)
	}
	j.want(',')
	switch {
	case errors.Is(j.err, ErrShort) && len(b) <= maxJSONHead:
		return h, 0, nil
	case j.err != nil || numbers[0] != 1:
		return h, 0, errJSON
	case len(h.Name) > MaxName:
		return h, 0, fmt.Errorf("thrift: the name of a method has %d bytes, at most %d are allowed", len(h.Name), MaxName)
	}
	h.Kind, h.Seq = Kind(min(max(numbers[1], 0), 255)), int32(numbers[2])
	return h, j.i, h.check()
}

// appendJSONHead appends the beginning of a message.
func appendJSONHead(b []byte, name string, k Kind, seq int32) []byte {
	b = appendText(append(b, "[1,"...), []byte(name))
	b = strconv.AppendInt(append(b, ','), int64(k), 10)
	b = strconv.AppendInt(append(b, ','), int64(seq), 10)
	return append(b, ',')
}

// appendText appends a string in quotes.
func appendText(b, text []byte) []byte {
	b = append(b, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// jsonReader reads the parts of JSON. After an error all that it reads is empty.
type jsonReader struct {
	b   []byte
	i   int
	err error
}

func (j *jsonReader) fail(err error) {
	if j.err == nil {
		j.err = err
	}
	j.i = len(j.b)
}

// next returns the next byte that is no blank, and does not go on; 0: there is none.
func (j *jsonReader) next() byte {
	for ; j.i < len(j.b); j.i++ {
		switch c := j.b[j.i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	j.fail(ErrShort)
	return 0
}

// want goes on behind a byte.
func (j *jsonReader) want(c byte) {
	switch got := j.next(); {
	case j.err != nil:
	case got != c:
		j.fail(fmt.Errorf("thrift: in a message of the JSON protocol %q stands where %q is expected", got, c))
	default:
		j.i++
	}
}

// text reads a string.
func (j *jsonReader) text() []byte {
	j.want('"')
	from, escapes := j.i, false
	for ; j.i < len(j.b); j.i++ {
		switch j.b[j.i] {
		case '\\':
			escapes = true
			j.i++
		case '"':
			raw := j.b[from:j.i:j.i]
			j.i++
			if !escapes {
				return raw
			}
			var s string
			if err := json.Unmarshal(j.b[from-1:j.i], &s); err != nil {
				j.fail(fmt.Errorf("thrift: in a message of the JSON protocol: %w", err))
			}
			return []byte(s)
		}
	}
	j.fail(ErrShort)
	return nil
}

// number reads the text of a number, which may stand in quotes.
func (j *jsonReader) number() string {
	if j.next() == '"' {
		return string(j.text())
	}
	from := j.i
	for ; j.i < len(j.b); j.i++ {
		if c := j.b[j.i]; (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			return string(j.b[from:j.i])
		}
	}
	j.fail(ErrShort)
	return ""
}

// integer reads an integer of so many bits.
func (j *jsonReader) integer(bits int) int64 {
	text := j.number()
	if j.err != nil {
		return 0
	}
	v, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		j.fail(fmt.Errorf("thrift: %.32q is no integer of %d bits", text, bits))
	}
	return v
}

// double reads a double.
func (j *jsonReader) double() float64 {
	text := j.number()
	if j.err != nil {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		j.fail(fmt.Errorf("thrift: %.32q is no double", text))
	}
	return v
}
