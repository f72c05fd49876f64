package cbor

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/weftrpc/weft/codec"
)

// maxBignum is how many bytes a bignum may have. The library writes one that
// does not fit its target into the text of an error, in time that grows with
// the square of its length: for 4 MiB that is ten seconds.
const maxBignum = 1 << 10

// The major types.
const (
	majorUint = iota
	majorNegative
	majorBytes
	majorText
	majorArray
	majorMap
	majorTag
	majorSimple
)

const (
	indefinite = 1<<64 - 1 // the argument of what ends with a break, and of the break
	null       = 22
	undefined  = 23
)

// scan looks for bignums that are too long, and has tally, unless it is nil,
// count the elements. It returns nil for what is not sound: the library refuses
// that before it makes anything of it.
func scan(body []byte, tally *codec.Tally) error {
	s := scanner{body: body, tally: tally}
	for s.at < len(body) && s.err == nil && !s.broken {
		s.item()
	}
	return s.err
}

// A scanner walks over the items of a body.
type scanner struct {
	body   []byte
	at     int
	tally  *codec.Tally
	stack  [codec.MaxDepth]level
	depth  int
	bignum bool // the tag of one stands right before this item
	broken bool // body is not sound
	err    error
}

// A level is a container that is not read to its end.
type level struct {
	left  uint64 // items to come, two for an entry; or indefinite
	keyed bool   // it is a map
	key   bool   // a key comes next
}

func (s *scanner) item() {
	start := s.at
	major, n, next := head(s.body, s.at)
	if next < 0 {
		s.broken = true
		return
	}
	s.at = next
	switch major {
	case majorTag:
		s.bignum = n == 2 || n == 3
		return
	case majorBytes, majorText:
		contents := s.text(start, major, n)
		s.scalar(contents, true)
	case majorUint:
		s.scalar(strconv.AppendUint(nil, n, 10), true)
	case majorNegative:
		s.scalar(strconv.AppendInt(nil, ^int64(n), 10), true)
	case majorArray, majorMap:
		s.open(major == majorMap, n)
	case majorSimple:
		if n == indefinite && next == start+1 {
			s.close()
			return
		}
		s.scalar(nil, next > start+1 || n != null && n != undefined)
	}
	s.bignum = false
}

// text reads the contents of a string of bytes or characters, which is in pieces
// when n is indefinite.
func (s *scanner) text(start int, major byte, n uint64) []byte {
	if n != indefinite {
		return s.piece(start, major, n, 0)
	}
	var whole []byte
	for total := 0; s.err == nil && !s.broken; {
		if s.at == len(s.body) {
			s.broken = true
			break
		}
		inner, n, next := head(s.body, s.at)
		if inner == majorSimple && n == indefinite {
			s.at = next
			break
		}
		if inner != major || next < 0 || n == indefinite {
			s.broken = true
			break
		}
		s.at = next
		piece := s.piece(start, major, n, total)
		if total += len(piece); s.tally != nil && s.depth > 0 && s.stack[s.depth-1].key {
			whole = append(whole, piece...)
		}
	}
	return whole
}

// piece reads n bytes, behind total bytes of the same string.
func (s *scanner) piece(start int, major byte, n uint64, total int) []byte {
	if n > uint64(len(s.body)-s.at) {
		s.broken = true
		return nil
	}
	if s.bignum && major == majorBytes && uint64(total)+n > maxBignum {
		s.err = fmt.Errorf("codec/cbor: bignum of more than %d bytes at byte %d", maxBignum, start)
	}
	contents := s.body[s.at : s.at+int(n)]
	s.at += int(n)
	return contents
}

// scalar is an item without parts, whose text it is if it is a key. It takes room
// behind pointers unless it stands for nothing.
func (s *scanner) scalar(text []byte, room bool) {
	if s.depth > 0 && s.stack[s.depth-1].key {
		if s.tally != nil {
			s.tally.Key(text)
		}
	} else if s.tally != nil && room {
		s.count(s.tally.Scalar())
	} else if s.tally != nil {
		s.count(s.tally.Null())
	}
	s.done()
}

func (s *scanner) open(keyed bool, n uint64) {
	if keyed && n != indefinite {
		if n > uint64(len(s.body)) {
			s.broken = true
			return
		}
		n *= 2
	}
	if s.depth > 0 && s.stack[s.depth-1].key {
		s.broken = true // no key of Go
		return
	}
	if s.depth == len(s.stack) {
		s.broken = true // nested too deep
		return
	}
	if s.tally != nil {
		s.count(s.tally.Begin(keyed))
	}
	s.stack[s.depth] = level{left: n, keyed: keyed, key: keyed}
	if s.depth++; n == 0 {
		s.end()
	}
}

// close is a break.
func (s *scanner) close() {
	if s.depth == 0 || s.stack[s.depth-1].left != indefinite {
		s.broken = true
		return
	}
	s.end()
}

func (s *scanner) end() {
	s.depth--
	if s.tally != nil {
		s.tally.End()
	}
	s.done()
}

// done ends an item, and the containers of which it is the last one.
func (s *scanner) done() {
	if s.depth == 0 {
		return
	}
	l := &s.stack[s.depth-1]
	l.key = l.keyed && !l.key
	if l.left == indefinite {
		return
	}
	if l.left--; l.left == 0 {
		s.end()
	}
}

func (s *scanner) count(err error) {
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("codec/cbor: %w", err)
	}
}

// head reads the head of the item at body[at:]: its major type and its argument.
// next is where its contents begin, or -1 when there is no sound head.
func head(body []byte, at int) (major byte, n uint64, next int) {
	major = body[at] >> 5
	info := body[at] & 0x1f
	at++
	switch {
	case info < 24:
		return major, uint64(info), at
	case info == 31:
		return major, indefinite, at
	case info > 27:
		return major, 0, -1
	}
	size := 1 << (info - 24)
	if len(body)-at < size {
		return major, 0, -1
	}
	var whole [8]byte
	copy(whole[8-size:], body[at:at+size])
	return major, binary.BigEndian.Uint64(whole[:]), at + size
}
