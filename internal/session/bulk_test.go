package session

import (
	"testing"
	"time"
)

// Rounds of large messages grow while they are written quickly, and shrink when
// what is said meanwhile would have to wait for them.
func TestRoundsFitTheConnection(t *testing.T) {
	w := &writer{round: leastRound}
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
		{time.Second, leastRound},
		{time.Second, leastRound},
	} {
		if w.fit(step.took); w.round != step.want {
			t.Fatalf("after a write of %v a round has %d bytes, want %d", step.took, w.round, step.want)
		}
	}
}

// A reader has a larger buffer only while a large message comes in.
func TestReaderBorrowsForLargeMessages(t *testing.T) {
	s := &Session{}
	rd := newReader(s, nil)
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
}
