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
