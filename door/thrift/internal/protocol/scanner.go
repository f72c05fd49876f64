package protocol

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Scanner finds the end of a struct of which more and more bytes come. It goes on where it
// stopped, so that a struct that comes in many pieces costs no more than one in one piece.
type Scanner struct {
	compact bool
	at      int // how far it has come; a value begins here
	skip    int // bytes of a value that need not be looked at
	most    int
	levels  []level
}

// level is a struct or a container within which the scanner is.
type level struct {
	key, value Type // of a container; of a list the value alone
	left       int  // keys and values that are still to come; below zero: a struct
	odd        bool // a value comes next, not a key
}

// Reset makes the scanner look for the end of a struct of at most most bytes.
func (s *Scanner) Reset(compact bool, most int) {
	s.compact, s.at, s.skip, s.most = compact, 0, 0, most
	s.levels = append(s.levels[:0], level{left: -1})
}

// Scan goes on in b, which begins with the struct and is never shorter than before. done: the
// struct ends at end.
func (s *Scanner) Scan(b []byte) (end int, done bool, err error) {
	for {
		if s.skip > 0 {
			n := min(s.skip, len(b)-s.at)
			s.at += n
			if s.skip -= n; s.skip > 0 {
				return s.at, false, s.size()
			}
		}
		if len(s.levels) == 0 {
			return s.at, true, nil
		}
		s.fields(b)
		ok, err := s.step(b[s.at:])
		if err != nil {
			return s.at, false, err
		}
		if err := s.size(); !ok || err != nil {
			return s.at, false, err
		}
	}
}

// fields goes past fields that have come as a whole, up to one that is a struct or a container.
func (s *Scanner) fields(b []byte) {
	switch {
	case s.levels[len(s.levels)-1].left >= 0:
	case s.compact:
		s.at = fieldsCompact(b, s.at, 0)
	default:
		s.at = fieldsBinary(b, s.at, 0)
	}
}

func (s *Scanner) size() error {
	if s.at+s.skip > s.most {
		return fmt.Errorf("thrift: a message has more than %d bytes", s.most)
	}
	return nil
}

// step takes the beginning of a field or an element; ok is false when it has not come as a whole.
func (s *Scanner) step(b []byte) (ok bool, err error) {
	l := &s.levels[len(s.levels)-1]
	if l.left == 0 {
		s.levels = s.levels[:len(s.levels)-1]
		return true, nil
	}
	if l.left > 0 {
		t := l.value
		if l.key != Stop && !l.odd {
			t = l.key
		}
		n, ok, err := s.value(b, t, false)
		if !ok || err != nil {
			return ok, err
		}
		// What value has begun stands above this level, which it may have moved.
		s.at += n
		l := &s.levels[s.under(t)]
		l.left--
		l.odd = !l.odd
		return true, nil
	}
	if len(b) == 0 {
		return false, nil
	}
	if b[0] == 0 {
		s.levels = s.levels[:len(s.levels)-1]
		s.at++
		return true, nil
	}
	t, n := Type(b[0]), 3
	if s.compact {
		if t, n = typeOfCompact(b[0]), 1; b[0]>>4 == 0 {
			_, k := binary.Uvarint(b[1:])
			if k < 0 {
				return false, errFlood
			}
			if k == 0 {
				return false, nil
			}
			n += k
		}
	}
	if len(b) < n {
		return false, nil
	}
	v, ok, err := s.value(b[n:], t, true)
	if ok {
		s.at += n + v
	}
	return ok, err
}

// under is the level in which a value of the type t that was just begun stands.
func (s *Scanner) under(t Type) int {
	switch t {
	case Struct, Map, Set, List:
		return len(s.levels) - 2
	}
	return len(s.levels) - 1
}

// value takes the beginning of a value and returns how many bytes that has.
func (s *Scanner) value(b []byte, t Type, field bool) (n int, ok bool, err error) {
	if size := fixed(s.compact, t); size > 0 {
		if t == Bool && field && s.compact {
			size = 0
		}
		s.skip = size
		return 0, true, nil
	}
	switch t {
	case I16, I32, I64: // compact
		_, n := binary.Uvarint(b)
		if n < 0 {
			return 0, false, errFlood
		}
		return n, n > 0, nil
	case String:
		length, n, err := s.number(b)
		s.skip = length
		return n, n > 0, err
	case Struct:
		return 0, true, s.enter(level{left: -1})
	case Set, List:
		return s.list(b)
	case Map:
		return s.pairs(b)
	}
	return 0, false, errType
}

// number reads a length or a count; n is 0 when it has not come as a whole.
func (s *Scanner) number(b []byte) (v, n int, err error) {
	u := uint64(0)
	if !s.compact {
		if len(b) < 4 {
			return 0, 0, nil
		}
		u, n = uint64(binary.BigEndian.Uint32(b)), 4
	} else if u, n = binary.Uvarint(b); n < 0 {
		return 0, 0, errFlood
	}
	if u > math.MaxInt32 || int(u) > s.most-s.at {
		return 0, 0, fmt.Errorf("thrift: a length or a count of %d, the message may have %d bytes", u, s.most)
	}
	return int(u), n, nil
}

func (s *Scanner) list(b []byte) (n int, ok bool, err error) {
	if len(b) == 0 {
		return 0, false, nil
	}
	t, count, k := Type(b[0]), 0, 0
	if s.compact && b[0]>>4 != 15 {
		t, count = typeOfCompact(b[0]), int(b[0]>>4)
	} else {
		if s.compact {
			t = typeOfCompact(b[0])
		}
		if count, k, err = s.number(b[1:]); err != nil || k == 0 {
			return 0, false, err
		}
	}
	if count > 0 && least(s.compact, t) == 0 {
		return 0, false, errType
	}
	return 1 + k, true, s.enter(level{value: t, left: count})
}

func (s *Scanner) pairs(b []byte) (n int, ok bool, err error) {
	l := level{}
	if !s.compact {
		if len(b) < 6 {
			return 0, false, nil
		}
		l.key, l.value = Type(b[0]), Type(b[1])
		l.left, _, err = s.number(b[2:])
		n = 6
	} else {
		if l.left, n, err = s.number(b); err != nil || n == 0 {
			return 0, false, err
		}
		if l.left > 0 {
			if len(b) <= n {
				return 0, false, nil
			}
			l.key, l.value = typeOfCompact(b[n]>>4), typeOfCompact(b[n])
			n++
		}
	}
	if err == nil && l.left > 0 && (least(s.compact, l.key) == 0 || least(s.compact, l.value) == 0) {
		err = errType
	}
	if err == nil && l.left > s.most/2 { // a pair has at least two bytes
		err = fmt.Errorf("thrift: a map of %d pairs, the message may have %d bytes", l.left, s.most)
	}
	if err != nil {
		return 0, false, err
	}
	l.left *= 2
	return n, true, s.enter(l)
}

func (s *Scanner) enter(l level) error {
	if len(s.levels) >= MaxDepth {
		return errDepth
	}
	s.levels = append(s.levels, l)
	return nil
}
