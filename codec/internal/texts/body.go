package texts

import "github.com/weftrpc/weft/codec/internal/memory"

// Body makes the strings and byte slices of one message, which is decoded from a body. The
// zero value copies them: the strings of a short body are parts of one copy of all of it.
type Body struct {
	whole  string // the body, from the first string on
	apart  bool
	pieces Pieces
}

// Share makes the strings of the Body, which is zero, parts of body itself.
func (t *Body) Share(body []byte) { t.whole = memory.String(body) }

// Expect says that at least so many bytes of the body are not of texts; an estimate may be wrong.
func (t *Body) Expect(n int) { t.pieces.Rest = n }

// Apart makes the Body copy each string by itself: less memory, if more work. With the build tag purego, where each would
// have memory of its own, nothing changes.
func (t *Body) Apart() { t.apart = memory.Views }

// Room returns room for a copy of n bytes, or nil: String then makes it.
func (t *Body) Room(n int) []byte {
	p := &t.pieces
	if !memory.Views || n > len(p.room)-p.used {
		return nil
	}
	p.used += n
	return p.room[p.used-n : p.used : p.used]
}

// String returns body[from:to].
func (t *Body) String(body []byte, from, to int) string {
	if to <= len(t.whole) {
		return t.whole[from:to]
	}
	return t.first(body, from, to)
}

//go:noinline
func (t *Body) first(body []byte, from, to int) string {
	if t.apart || len(body) > chunk {
		return t.pieces.String(body[from:to], len(body)-from)
	}
	if from == to {
		return ""
	}
	t.whole = string(body)
	return t.whole[from:to]
}

// Whole returns the bytes of the body up to one, where its strings are parts of that, or "".
func (t *Body) Whole(to int) string {
	if to <= len(t.whole) {
		return t.whole[:to]
	}
	return ""
}

// Bytes returns a copy of body[from:to].
func (t *Body) Bytes(body []byte, from, to int) []byte {
	return t.pieces.Bytes(body[from:to], len(body)-from)
}
