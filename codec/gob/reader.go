package gob

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge is in the error of a Reader for a value that is longer than its
// limit.
var ErrTooLarge = errors.New("value is longer than the limit")

// How many bytes of descriptions one value of a stream may need, and how many a
// Reader keeps ready for the next values of the same types.
const (
	maxPrefix = 64 << 10
	maxHeads  = 256 << 10
)

// A Reader takes the values off a stream that encoding/gob writes, such as a
// connection of net/rpc. On such a stream a type is described once, before its
// first value, so a decoder that has not read everything so far cannot decode
// the next value. A Reader remembers the descriptions, and returns each value as a body
// that stands alone: the codec decodes it whenever the type to decode into is
// known, in any goroutine, or never.
//
//	body, err := r.Next(nil)
//	…
//	err = c.Decode(body, &request) // c is what New returned
//
// A value is read only up to the limit, and descriptions are bounded as in Decode,
// which checks all else. A Reader must not be used by two goroutines at once.
type Reader struct {
	in    *bufio.Reader
	limit int
	err   error // the first one; nothing is read after it

	read    int // how many bytes of this value
	message []byte

	types    descriptions
	size     int              // of all descriptions
	heads    map[int64][]byte // descriptions by the number of the type of a value, in which no interface can be
	headSize int              // of all heads
}

// NewReader returns a Reader of the values that in delivers, each with its new
// descriptions at most limit bytes long. It reads ahead, unless in is a
// *bufio.Reader.
func NewReader(in io.Reader, limit int) *Reader {
	buffered, ok := in.(*bufio.Reader)
	if !ok {
		buffered = bufio.NewReader(in)
	}
	return &Reader{in: buffered, limit: limit, types: make(descriptions), heads: make(map[int64][]byte)}
}

// Next reads a value and appends it to dst, as a body. The error is io.EOF when
// the stream ends before the value. After an error the stream cannot be read
// further, since the place where the next value begins is not known, and Next
// returns that error again.
func (r *Reader) Next(dst []byte) ([]byte, error) {
	if r.err != nil {
		return dst, r.err
	}
	body, err := r.next(dst)
	if err != nil {
		if err != io.EOF {
			err = fmt.Errorf("codec/gob: %w", err)
		}
		r.err = err
		return dst, err
	}
	return body, nil
}

func (r *Reader) next(dst []byte) ([]byte, error) {
	r.read = 0
	contents, err := r.nextMessage()
	if err != nil {
		return nil, err
	}
	if top, at := topOf(contents); at > 0 {
		if head, known := r.heads[top]; known {
			return appendMessage(append(dst, head...), contents), nil
		}
	}
	s := &scanner{buf: contents, next: r.nextMessage, room: r.room, types: r.types, defsSize: r.size}
	s.wholeValue()
	if s.err != nil {
		return nil, s.err
	}
	r.size = s.defsSize
	head, err := r.head(s)
	if err != nil {
		return nil, err
	}
	return appendMessage(append(dst, head...), s.out), nil
}

// head returns the descriptions of all types in the value that s read.
func (r *Reader) head(s *scanner) (head []byte, err error) {
	seen := make(map[int64]bool)
	if head, err = r.types.reachable(nil, s.top, seen, maxPrefix); err != nil {
		return nil, err
	}
	if !r.types.holdInterface(s.top, make(map[int64]bool)) { // so a value is one message
		if r.headSize += len(head); r.headSize > maxHeads {
			clear(r.heads)
			r.headSize = len(head)
		}
		r.heads[s.top] = head
	}
	for _, id := range s.interfaces {
		if head, err = r.types.reachable(head, id, seen, maxPrefix); err != nil {
			return nil, err
		}
	}
	return head, nil
}

// room returns how many bytes this value may still have.
func (r *Reader) room() int { return r.limit - r.read }

// nextMessage reads a message of this value. What it returns is overwritten by
// the next one.
func (r *Reader) nextMessage() ([]byte, error) {
	n, err := r.length()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errors.New("empty message")
	}
	if n > uint64(max(r.room(), 0)) {
		return nil, fmt.Errorf("%w, %d bytes: a message of %d comes behind %d", ErrTooLarge, r.limit, n, r.read)
	}
	r.read += int(n)
	// The messages of one value are all needed until it is read: no buffer is
	// used for two of them.
	if cap(r.message) > maxKept || r.read > int(n) {
		r.message = nil
	}
	r.message = r.message[:0]
	for len(r.message) < int(n) { // no more room than twice what has come
		have := len(r.message)
		more := min(int(n)-have, max(have, maxKept))
		r.message = append(r.message, make([]byte, more)...)
		if _, err := io.ReadFull(r.in, r.message[have:]); err != nil {
			return nil, short(err)
		}
	}
	return r.message, nil
}

// length reads the length of a message.
func (r *Reader) length() (uint64, error) {
	first, err := r.in.ReadByte()
	if err != nil {
		if r.read > 0 {
			err = short(err)
		}
		return 0, err
	}
	if first < 0x80 {
		return uint64(first), nil
	}
	var number [9]byte
	size := 256 - int(first)
	if size >= len(number) {
		return 0, fmt.Errorf("number of %d bytes", size)
	}
	number[0] = first
	if _, err := io.ReadFull(r.in, number[1:1+size]); err != nil {
		return 0, short(err)
	}
	n, _ := uintAt(number[:1+size], 0)
	return n, nil
}

// short returns the error for a stream that ends within a value.
func short(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
