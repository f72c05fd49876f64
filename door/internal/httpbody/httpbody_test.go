package httpbody_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/weftrpc/weft/door/internal/httpbody"
)

// TestRead reads bodies of all lengths, told and untold.
func TestRead(t *testing.T) {
	for _, n := range []int{0, 1, 1023, 1024, 1025, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20} {
		want := bytes.Repeat([]byte("x"), n)
		for _, length := range []int64{int64(n), -1, 0, 1 << 40} {
			for _, r := range []io.Reader{bytes.NewReader(want), iotest.DataErrReader(bytes.NewReader(want)), iotest.HalfReader(bytes.NewReader(want))} {
				b, err := httpbody.Read(r, length, n)
				if err != nil || !bytes.Equal(b.B, want) {
					t.Fatalf("%d bytes with the length %d: %v", n, length, err)
				}
				b.Release()
			}
			if _, err := httpbody.Read(bytes.NewReader(append(want, 'x')), length, n); err != httpbody.ErrTooLarge {
				t.Errorf("%d bytes too many with the length %d: %v", n+1, length, err)
			}
		}
	}
	why := errors.New("lost")
	if _, err := httpbody.Read(io.MultiReader(bytes.NewReader(make([]byte, 5000)), iotest.ErrReader(why)), -1, 1<<20); err != why {
		t.Errorf("a body that breaks off: %v", err)
	}
}

// TestLength: what a header says of the length allocates 64 KiB at most.
func TestLength(t *testing.T) {
	b, err := httpbody.Read(bytes.NewReader([]byte("x")), 1<<40, 1<<30)
	if err != nil || cap(b.B) > 64<<10 {
		t.Errorf("%d bytes for one, %v", cap(b.B), err)
	}
}
