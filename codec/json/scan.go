package json

import (
	"encoding/json"
	"fmt"

	"github.com/weftrpc/weft/codec"
)

// maxNumber is how many characters a number may have. Decoding one into a
// big.Int takes time that grows with the square of its length.
const maxNumber = 1 << 10

// counter counts the elements of a body: for each value it is told of Begin and End, Scalar or Null; before each entry of an
// object, of Key.
type counter interface {
	Begin(object bool) error
	End()
	Key(name []byte)
	Scalar() error
	Null() error
}

// scan looks for numbers that are too long, and has tally, unless it is nil,
// count the elements. It returns nil for what is not JSON: encoding/json refuses
// that before it makes anything of it.
func scan(body []byte, tally counter) error {
	s := scanner{body: body, tally: tally}
	for s.at < len(body) && s.err == nil && !s.broken {
		s.step()
	}
	return s.err
}

// A scanner walks over the tokens of a body that nests at most codec.MaxDepth deep.
type scanner struct {
	body   []byte
	at     int
	tally  counter
	depth  int
	keys   uint64 // bit i: container i is an object
	key    bool   // a key comes next, if anything
	broken bool   // body is not JSON
	err    error
}

func (s *scanner) step() {
	c := s.body[s.at]
	s.at++
	switch c {
	case ' ', '\t', '\n', '\r':
	case '{', '[':
		s.open(c == '{')
	case '}', ']':
		s.close()
	case ',':
		s.key = s.inObject()
	case ':':
		s.key = false
	case '"':
		start := s.at
		s.at = stringEnd(s.body, start) + 1
		if s.at > len(s.body) {
			s.broken = true
		} else {
			s.text(s.body[start:s.at-1], s.body[start-1:s.at])
		}
	default:
		start := s.at - 1
		for s.at < len(s.body) && inNumber(s.body[s.at]) {
			s.at++
		}
		if s.at-start > maxNumber {
			s.err = fmt.Errorf("codec/json: number of %d characters at byte %d, the longest has %d", s.at-start, start, maxNumber)
			return
		}
		s.scalar(c)
	}
}

func (s *scanner) inObject() bool { return s.depth > 0 && s.keys>>(s.depth-1)&1 == 1 }

func (s *scanner) open(object bool) {
	if s.depth == codec.MaxDepth {
		s.broken = true // tooDeep has refused it, unless it is no JSON
		return
	}
	bit := uint64(1) << s.depth
	s.depth++
	s.keys &^= bit
	if object {
		s.keys |= bit
	}
	s.key = object
	if s.tally != nil {
		s.count(s.tally.Begin(object))
	}
}

func (s *scanner) close() {
	if s.depth == 0 {
		s.broken = true
		return
	}
	s.depth--
	s.key = false
	if s.tally != nil {
		s.tally.End()
	}
}

// text is a string, a key or a value.
func (s *scanner) text(contents, quoted []byte) {
	if s.tally == nil {
		return
	}
	if !s.key {
		s.count(s.tally.Scalar())
		return
	}
	for _, c := range contents {
		if c == '\\' {
			var plain string
			s.broken = json.Unmarshal(quoted, &plain) != nil
			contents = []byte(plain)
			break
		}
	}
	if s.inObject() {
		s.tally.Key(contents)
	} else {
		s.broken = true
	}
}

// scalar is a number or a word that begins with c, of which the rest may follow.
func (s *scanner) scalar(c byte) {
	for s.at < len(s.body) && s.body[s.at] >= 'a' && s.body[s.at] <= 'z' { // true, false, null
		s.at++
	}
	switch {
	case s.tally == nil:
	case c == 'n':
		s.count(s.tally.Null())
	default:
		s.count(s.tally.Scalar())
	}
}

func (s *scanner) count(err error) {
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("codec/json: %w", err)
	}
}

// longNumberMayBe reports whether body may have a number that is too long. Such a
// number has a character at one of the places looked at.
func longNumberMayBe(body []byte) bool {
	for at := maxNumber; at < len(body); at += maxNumber {
		if !inNumber(body[at]) {
			continue
		}
		start, end := at, at
		for start > 0 && inNumber(body[start-1]) {
			start--
		}
		for end < len(body) && inNumber(body[end]) {
			end++
		}
		if end-start > maxNumber {
			return true
		}
		at = max(at, end-1)
	}
	return false
}

func inNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}
