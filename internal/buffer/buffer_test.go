package buffer

import (
	"bytes"
	"testing"
)

// What is taken is empty and large enough, whatever was given back before.
func TestTake(t *testing.T) {
	for _, n := range []int{0, 1, Least, Small, Small + 1, 1 << 20, keepBuffer, keepBuffer + 1} {
		b := TakeLarge(n)
		if len(b.B) != 0 || cap(b.B) < n {
			t.Errorf("a buffer for %d bytes has %d of %d", n, len(b.B), cap(b.B))
		}
		b.B = append(b.B, make([]byte, n)...)
		b.Release()
		for _, again := range []*Buffer{Take(), TakeLarge(2 * n)} {
			if len(again.B) != 0 {
				t.Errorf("after one of %d bytes a buffer is taken with %d bytes in it", n, len(again.B))
			}
		}
	}
}

// A message that comes in pieces is whole in the end, and is copied about once.
func TestExtend(t *testing.T) {
	const pieces, size = 300, 16 << 10
	b, moves := Take(), 0
	var want []byte
	for i := range pieces {
		p := bytes.Repeat([]byte{byte(i)}, size)
		want = append(want, p...)
		was := b
		if b = b.Extend(p); b != was {
			moves++
		}
	}
	if !bytes.Equal(b.B, want) {
		t.Error("the message is not what came")
	}
	if moves > 12 {
		t.Errorf("%d pieces were copied in %d moves", pieces, moves)
	}
	b.Release()
}

// A buffer grows by no more than there is room for, whatever the pool has, and never beyond the longest message.
func TestExtendWithin(t *testing.T) {
	const longest, spare = 4 << 20, 1 << 20
	for range 20 {
		(&Buffer{B: make([]byte, 0, keepBuffer)}).Release()
		first := Take()
		b, was, p, moves := first, cap(first.B), make([]byte, 1000), 0
		for ok := true; ok; {
			before := b
			if b, ok = b.ExtendWithin(p, longest, spare-(cap(b.B)-was)); b != before {
				moves++
			}
			if grown := cap(b.B) - was; grown > spare {
				t.Fatalf("the buffer has grown by %d, want %d at most", grown, spare)
			}
		}
		if n := len(b.B); n < spare*7/8 || moves > 20 {
			t.Errorf("a message got %d bytes in %d moves, with room for %d", n, moves, spare)
		}
		(&Buffer{B: make([]byte, 0, longest+longest/2)}).Release()
		if b, ok := Take().ExtendWithin(make([]byte, longest), longest, 2*longest); !ok || cap(b.B) > longest {
			t.Errorf("the longest message: %t, with a capacity of %d", ok, cap(b.B))
		}
		if _, ok := Take().ExtendWithin(make([]byte, longest+1), longest, 4*longest); ok {
			t.Error("a message becomes longer than it may")
		}
	}
}

// What is kept for long has room for little more than it needs, whatever the pool has; so has a large buffer.
func TestTakeFor(t *testing.T) {
	for i := range 200 {
		(&Buffer{B: make([]byte, 0, Small)}).Release()
		(&Buffer{B: make([]byte, 0, keepBuffer)}).Release()
		n := i * 100
		if b := TakeFor(n); len(b.B) != 0 || cap(b.B) > max(ample, 2*n) {
			t.Fatalf("a buffer to keep %d bytes in has room for %d", n, cap(b.B))
		}
		n = Small + 1 + i*1000
		if b := TakeLarge(n); cap(b.B) < n || cap(b.B) > 4*n {
			t.Fatalf("a buffer for %d bytes has room for %d", n, cap(b.B))
		}
	}
}

// What ReleaseSmall gets beyond Small is not kept.
func TestReleaseSmall(t *testing.T) {
	for range 100 {
		b := TakeLarge(5 * Small)
		b.B = append(b.B, 1)
		b.ReleaseSmall()
		if again := TakeLarge(4 * Small); again == b {
			t.Fatal("a large buffer was kept")
		}
	}
}

// A buffer that is trimmed has its bytes, and room for little more.
func TestTrim(t *testing.T) {
	want := bytes.Repeat([]byte("weft"), Small)
	for _, room := range []int{0, len(want) / 16, 3 * len(want)} {
		b := &Buffer{B: make([]byte, 0, len(want)+room)}
		b.B = append(b.B, want...)
		if b = b.Trim(); !bytes.Equal(b.B, want) || cap(b.B) > len(want)*9/8 {
			t.Errorf("with room for %d more: %d bytes of %d", room, len(b.B), cap(b.B))
		}
	}
}
