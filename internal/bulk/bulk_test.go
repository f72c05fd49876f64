package bulk

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/buffer"
	"github.com/weftrpc/weft/internal/wire"
)

// data is a message of a stream.
func data(id uint32, body []byte) *Message {
	return &Message{Head: wire.Header{Type: wire.TypeData, ID: id}, Buf: &buffer.Buffer{B: body}}
}

// unbound leaves a request as it is.
func unbound(dst []byte, _ *Message) []byte { return dst }

// Large messages take turns: new ones, however many come, do not keep older ones
// from being finished.
func TestNewMessagesWaitTheirTurn(t *testing.T) {
	var q Queue
	const (
		each     = wire.MaxPayload + 1<<10
		perRound = 4 // a little more than a round has room for
		patience = 80
	)
	q.Add(data(0, make([]byte, 64*wire.MaxPayload)))
	for round := 1; q.Has(0, 0); round++ {
		if round == 10_000 {
			t.Fatalf("of the first message %d bytes are left, and %d others wait", q.list[q.find(0, 0)].left(), q.Len()-1)
		}
		for i := range perRound {
			q.Add(data(uint32(perRound*round+i), make([]byte, each)))
			if round > patience {
				q.Drop(uint32(perRound*(round-patience) + i)) // it is given up, if it is there still
			}
		}
		q.Take(nil, false, unbound)
	}
}

// Whatever is added, dropped and taken, each message arrives whole and in the order of its call, a
// round is bounded, and Size is what is left.
func TestWholeAndInOrder(t *testing.T) {
	for _, sum := range []bool{false, true} {
		random := rand.New(rand.NewPCG(1, 2))
		var q Queue
		sent, got := make(map[uint32][]byte), make(map[uint32][]byte)
		read := func(b []byte) {
			if len(b) > mostRound+wire.MaxPayload+20*wire.HeaderSize {
				t.Fatalf("a round has %d bytes", len(b))
			}
			for len(b) > 0 {
				h := wire.ParseHeader(b)
				n := wire.HeaderSize + int(h.Length)
				got[h.ID] = append(got[h.ID], b[wire.HeaderSize:n]...)
				if sum {
					if !wire.ChecksumOK(b[:n], b[n:n+wire.ChecksumSize]) {
						t.Fatal("a checksum is wrong")
					}
					n += wire.ChecksumSize
				}
				b = b[n:]
			}
		}
		for range 2000 {
			id := uint32(random.IntN(20))
			switch random.IntN(4) {
			case 0:
				body := make([]byte, random.IntN(5*wire.MaxPayload))
				for i := range body {
					body[i] = byte(random.Uint32())
				}
				sent[id] = append(sent[id], body...)
				q.Add(data(id, bytes.Clone(body)))
			case 1:
				q.Fit(time.Duration(random.IntN(int(4 * longRound))))
			default:
				read(q.Take(nil, sum, unbound))
			}
			left, room := 0, 0
			for _, m := range q.list {
				for _, m := range append(m.then, m) {
					left += m.left()
					if m.Buf != nil {
						room += cap(m.Buf.B)
					}
				}
			}
			if q.Size() != left || q.Memory() != room {
				t.Fatalf("the size is %d and the memory %d, %d bytes are left in buffers for %d", q.Size(), q.Memory(), left, room)
			}
		}
		for !q.Empty() {
			read(q.Take(nil, sum, unbound))
		}
		for id, want := range sent {
			if !bytes.Equal(got[id], want) {
				t.Errorf("call %d sent %d bytes, %d came or they are others", id, len(want), len(got[id]))
			}
		}
		if q.Size() != 0 || q.Memory() != 0 {
			t.Errorf("%d bytes are left in an empty queue, and memory of %d", q.Size(), q.Memory())
		}
	}
}

// Rounds of large messages grow while they are written quickly, and shrink when
// what is said meanwhile would have to wait for them.
func TestRoundsFitTheConnection(t *testing.T) {
	q := &Queue{round: leastRound}
	for range quickRounds - 1 {
		q.Fit(0)
	}
	if q.round != leastRound {
		t.Errorf("a round has %d bytes before it is known that the connection sends them", q.round)
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
		if q.Fit(step.took); q.round != step.want {
			t.Fatalf("after a write of %v a round has %d bytes, want %d", step.took, q.round, step.want)
		}
	}
}

// A request is bound when it begins, and withdrawn only before.
func TestUnsentRequests(t *testing.T) {
	var q Queue
	request := func(id uint32) *Message {
		m := data(id, make([]byte, 10*wire.MaxPayload))
		m.Head.Type, m.Method = wire.TypeRequest, "Any.Method"
		return m
	}
	q.Add(request(1))
	if b := q.Begin(nil, 1, false); len(b) != wire.HeaderSize+wire.MaxPayload {
		t.Errorf("the first chunk has %d bytes", len(b))
	}
	q.Add(request(2))
	q.Add(request(3))
	if ids := q.DropUnsent(); len(ids) != 2 || q.Len() != 1 || q.Size() != 9*wire.MaxPayload {
		t.Errorf("calls %v were withdrawn, %d messages of %d bytes are left", ids, q.Len(), q.Size())
	}
	q.Add(request(4))
	var bound []uint32
	b := q.Take(nil, false, func(dst []byte, m *Message) []byte {
		bound = append(bound, m.Head.ID)
		m.Head.Code = 7
		return dst
	})
	if len(bound) != 1 || bound[0] != 4 {
		t.Errorf("calls %v were bound, want 4", bound)
	}
	codes := 0
	for ; len(b) > 0; b = b[wire.HeaderSize+int(wire.ParseHeader(b).Length):] {
		if h := wire.ParseHeader(b); h.Type == wire.TypeRequest && h.ID == 4 && h.Code == 7 {
			codes++
		}
	}
	if codes != 1 {
		t.Errorf("%d frames begin call 4", codes)
	}
	if q.Drop(4) || q.Has(4, 0) {
		t.Error("a request that has begun is said not to have, or was not dropped")
	}
	q.Clear()
	if !q.Empty() || q.Size() != 0 {
		t.Error("something is left")
	}
}
