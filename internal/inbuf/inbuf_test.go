package inbuf

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// A buffer is larger only while a large message comes in.
func TestBorrowsForLargeMessages(t *testing.T) {
	b := New(nil, 0, 0)
	if b.Fit(SmallRead, false); len(b.mem) != LargeRead {
		t.Fatalf("after a full read the buffer has %d bytes", len(b.mem))
	}
	own := &b.mem[0]
	check := func(when string, size int, rest string) {
		t.Helper()
		if len(b.mem) != size || string(b.Unread()) != rest {
			t.Fatalf("%s the buffer has %d bytes and holds %q", when, len(b.mem), b.Unread())
		}
	}

	b.r, b.w = 100, 100+copy(b.mem[100:], "half a frame")
	borrowed := 0
	fit := func(filled int, bulk bool) {
		t.Helper()
		if borrowed += b.Fit(filled, bulk); borrowed != b.Borrowed() || borrowed != len(b.mem)/BulkRead*BulkRead {
			t.Fatalf("the changes come to %d borrowed bytes, there are %d, in a buffer of %d", borrowed, b.Borrowed(), len(b.mem))
		}
	}
	fit(LargeRead-1, true)
	check("after a read that was not full", LargeRead, "half a frame")
	fit(LargeRead, true)
	check("while a large message comes in", BulkRead, "half a frame")
	fit(10, true)
	check("while it still does", BulkRead, "half a frame")
	fit(10, false)
	check("after it", LargeRead, "half a frame")
	if &b.mem[0] != own {
		t.Error("the buffer did not go back to its own memory")
	}

	// The rest of this one never comes.
	fit(LargeRead, true)
	for range quietReads - 1 {
		fit(10, true)
	}
	check("soon after it", BulkRead, "half a frame")
	fit(10, true)
	check("long after it", LargeRead, "half a frame")

	for range quietReads {
		fit(10, false)
	}
	check("when little comes for long", SmallRead, "half a frame")
	if b.Release(); b.mem != nil || b.own != nil {
		t.Error("a buffer that was released holds memory")
	}
}

// A frame that does not fit has the buffer grow, and one that has not come whole is kept.
func TestRoom(t *testing.T) {
	b := New([]byte("xxhalf"), 2, 6)
	if len(b.mem) != SmallRead || string(b.Unread()) != "half" {
		t.Fatalf("the buffer has %d bytes and holds %q", len(b.mem), b.Unread())
	}
	b.Skip(2)
	for len(b.Unread()) < 10*LargeRead {
		room := b.Room()
		if len(room) == 0 {
			t.Fatalf("there is no room behind %d bytes", len(b.Unread()))
		}
		b.Came(len(room))
	}
	if !bytes.HasPrefix(b.Unread(), []byte("lf")) {
		t.Error("what was unread is lost")
	}
	given := make([]byte, 2*SmallRead)
	if b := New(given, 1, 5); &b.mem[0] != &given[0] || len(b.Unread()) != 4 {
		t.Error("memory that is large enough was not taken over")
	}
}

// Whatever comes, and however it is used, is what was sent, in order.
func TestKeepsTheStream(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b := New(nil, 0, 0)
	var sent, seen byte // each byte is one more than the one before
	for range 2000 {
		room := b.Room()
		n := min(len(room), 1+random.IntN(1<<random.IntN(19)))
		for i := range n {
			room[i] = sent
			sent++
		}
		b.Came(n)
		filled := len(b.Unread())
		take := random.IntN(filled + 1)
		if random.IntN(3) > 0 || filled > 2*BulkRead {
			take = filled
		}
		for _, c := range b.Unread()[:take] {
			if c != seen {
				t.Fatalf("byte %d came, want %d", c, seen)
			}
			seen++
		}
		b.Skip(take)
		b.Fit(filled, random.IntN(2) == 0)
	}
}
