package session

import "testing"

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
