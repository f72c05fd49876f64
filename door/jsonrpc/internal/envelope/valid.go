package envelope

import (
	"encoding/json"
	"unicode/utf8"
)

// Valid reports whether a value is JSON, as json.Valid does, and UTF-8.
func Valid(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	c := checker{b: b}
	switch c.value() {
	case sound:
		return true
	case deep:
		return json.Valid(b)
	}
	return false
}

// verdict is what a checker has found.
type verdict uint8

const (
	broken verdict = iota
	sound
	deep // more than 64 objects and arrays stand in one another
)

// checker finds whether bytes are one JSON value. It is some times faster than json.Valid.
type checker struct {
	b       []byte
	i       int
	depth   uint
	objects uint64 // bit n: of those that are open, number n is an object
}

// value reads a value with white space around it, to the end.
func (c *checker) value() verdict {
	key := false // a key comes next, and not a value
	for {
		first := c.token()
		if key {
			if first != '"' || !c.text() || c.token() != ':' {
				return broken
			}
			first = c.token()
		}
		switch first {
		case '{', '[':
			if c.depth == 64 {
				return deep
			}
			c.objects &^= 1 << c.depth
			if key = first == '{'; key {
				c.objects |= 1 << c.depth
			}
			c.depth++
			if c.peek() != first+2 { // the bracket that closes it
				continue
			}
		default:
			if !c.scalar(first) {
				return broken
			}
		}
		if key = c.close(); c.depth == 0 {
			if c.peek(); c.i == len(c.b) {
				return sound
			}
			return broken
		}
		if c.token() != ',' {
			return broken
		}
	}
}

// close takes the brackets that close here, and reports whether the next value is in an object.
func (c *checker) close() bool {
	for c.depth > 0 {
		object := c.objects>>(c.depth-1)&1 == 1
		if next := c.peek(); object && next != '}' || !object && next != ']' {
			return object
		}
		c.token()
		c.depth--
	}
	return false
}

// peek returns the next byte that is no white space; 0: there is none.
func (c *checker) peek() byte {
	for c.i < len(c.b) && space(c.b[c.i]) {
		c.i++
	}
	if c.i == len(c.b) {
		return 0
	}
	return c.b[c.i]
}

// token takes that byte.
func (c *checker) token() byte {
	t := c.peek()
	if c.i < len(c.b) {
		c.i++
	}
	return t
}

// scalar takes the rest of a value that is no object or array.
func (c *checker) scalar(first byte) bool {
	switch first {
	case '"':
		return c.text()
	case 't':
		return c.rest("rue")
	case 'f':
		return c.rest("alse")
	case 'n':
		return c.rest("ull")
	}
	return c.number(first)
}

func (c *checker) rest(text string) bool {
	if len(c.b)-c.i < len(text) || string(c.b[c.i:c.i+len(text)]) != text {
		return false
	}
	c.i += len(text)
	return true
}

// text takes the rest of a string.
func (c *checker) text() bool {
	for c.i < len(c.b) {
		t := c.b[c.i]
		c.i++
		switch {
		case t == '"':
			return true
		case t < ' ':
			return false
		case t == '\\' && !c.escape():
			return false
		}
	}
	return false
}

// escape takes what stands behind a backslash.
func (c *checker) escape() bool {
	if c.i == len(c.b) {
		return false
	}
	t := c.b[c.i]
	c.i++
	switch t {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			if c.i == len(c.b) || !hex(c.b[c.i]) {
				return false
			}
			c.i++
		}
		return true
	}
	return false
}

func hex(t byte) bool { return digit(t) || t >= 'a' && t <= 'f' || t >= 'A' && t <= 'F' }

func digit(t byte) bool { return t >= '0' && t <= '9' }

// number takes the rest of a number.
func (c *checker) number(first byte) bool {
	if first == '-' {
		if c.i == len(c.b) {
			return false
		}
		first = c.b[c.i]
		c.i++
	}
	if !digit(first) {
		return false
	}
	if first != '0' {
		c.digits()
	}
	if c.i < len(c.b) && c.b[c.i] == '.' {
		c.i++
		if !c.digits() {
			return false
		}
	}
	if c.i < len(c.b) && (c.b[c.i] == 'e' || c.b[c.i] == 'E') {
		c.i++
		if c.i < len(c.b) && (c.b[c.i] == '+' || c.b[c.i] == '-') {
			c.i++
		}
		return c.digits()
	}
	return true
}

// digits takes digits, and reports whether there are any.
func (c *checker) digits() bool {
	from := c.i
	for c.i < len(c.b) && digit(c.b[c.i]) {
		c.i++
	}
	return c.i > from
}
