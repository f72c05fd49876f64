package session

import (
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

// Rounds of large messages grow while they are written quickly, and shrink when
// what is said meanwhile would have to wait for them.
func TestRoundsFitTheConnection(t *testing.T) {
	w := &writer{large: bulkQueue{round: leastRound}}
	for range quickRounds - 1 {
		w.large.fit(0)
	}
	if w.large.round != leastRound {
		t.Errorf("a round has %d bytes before it is known that the connection sends them", w.large.round)
	}
	for _, step := range []struct {
		took time.Duration
		want int
	}{
		{quickRound - 1, 2 * leastRound},
		{quickRound - 1, mostRound},
		{quickRound - 1, mostRound},
		{longRound, mostRound},
		{longRound + 1, mostRound / 2},
		{quickRound, mostRound / 2},
		{0, mostRound / 2},
		{time.Second, leastRound},
		{time.Second, leastRound},
	} {
		if w.large.fit(step.took); w.large.round != step.want {
			t.Fatalf("after a write of %v a round has %d bytes, want %d", step.took, w.large.round, step.want)
		}
	}
}

// A reader has a larger buffer only while a large message comes in.
func TestReaderBorrowsForLargeMessages(t *testing.T) {
	s := &Session{}
	rd := newReader(s, nil, 0, 0)
	if rd.resize(smallRead); len(rd.buf) != largeRead {
		t.Fatalf("after a full read the buffer has %d bytes", len(rd.buf))
	}
	own := &rd.buf[0]
	check := func(when string, size int, rest string) {
		t.Helper()
		if len(rd.buf) != size || string(rd.buf[rd.r:rd.w]) != rest {
			t.Fatalf("%s the buffer has %d bytes and holds %q", when, len(rd.buf), rd.buf[rd.r:rd.w])
		}
	}

	s.reading.parts.open = map[assemblyKey]*assembly{{}: {}}
	rd.r, rd.w = 100, 100+copy(rd.buf[100:], "half a frame")
	rd.resize(largeRead - 1)
	check("after a read that was not full", largeRead, "half a frame")
	rd.resize(largeRead)
	check("while a large message comes in", bulkRead, "half a frame")
	rd.resize(10)
	check("while it still does", bulkRead, "half a frame")

	clear(s.reading.parts.open)
	rd.resize(10)
	check("after it", largeRead, "half a frame")
	if &rd.buf[0] != own {
		t.Error("the reader did not go back to its own buffer")
	}

	// The rest of this one never comes.
	s.reading.parts.open[assemblyKey{}] = &assembly{}
	rd.resize(largeRead)
	rd.req.Body = rd.buf[:10]
	for range quietReads - 1 {
		rd.resize(10)
	}
	check("soon after it", bulkRead, "half a frame")
	rd.resize(10)
	check("long after it", largeRead, "half a frame")
	if rd.req.Body != nil {
		t.Error("the last request holds the buffer that was given back")
	}
}

// Large messages take turns: new ones, however many come, do not keep older ones
// from being finished.
func TestNewLargeMessagesWaitTheirTurn(t *testing.T) {
	s := &Session{}
	w := &s.w
	add := func(id, size int) {
		w.large.add(wire.Header{Type: wire.TypeData, ID: uint32(id)}, "", &buffer{b: make([]byte, size)}, bindingKey{})
	}
	const (
		each     = wire.MaxPayload + 1<<10
		perRound = 4 // a little more than a round has room for
		patience = 80
	)
	add(0, 64*wire.MaxPayload)
	for round := 1; w.large.find(0, 0) >= 0; round++ {
		if round == 10_000 {
			t.Fatalf("of the first message %d bytes are left, and %d others wait", w.large.list[w.large.find(0, 0)].left(), len(w.large.list)-1)
		}
		for i := range perRound {
			add(perRound*round+i, each)
			if round > patience {
				w.large.drop(uint32(perRound*(round-patience) + i)) // it is given up, if it is there still
			}
		}
		s.takeBulkLocked()
		w.buf = w.buf[:0]
	}
}
