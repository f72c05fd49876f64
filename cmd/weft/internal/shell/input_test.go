package shell

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestInterruptible reads what a reader has, in pieces, with its end and its error.
func TestInterruptible(t *testing.T) {
	text := strings.Repeat("0123456789", 10_000)
	for name, from := range map[string]io.Reader{
		"whole": strings.NewReader(text), "in bytes": iotest.OneByteReader(strings.NewReader(text)), "with its end": iotest.DataErrReader(strings.NewReader(text)),
	} {
		if err := iotest.TestReader(Interruptible(t.Context(), from), []byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := io.ReadAll(Interruptible(t.Context(), iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ab"))))); string(got) != "a" || !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("before an error come %q, and then %v", got, err)
	}
}

// TestInterrupted ends a read of a pipe into which nothing is written.
func TestInterrupted(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close() // the read that is left behind ends
	ctx, cancel := context.WithCancel(t.Context())
	in := Interruptible(ctx, r)
	w2 := make(chan error)
	go func() { // it ends with the read below
		_, err := w.Write([]byte("one"))
		w2 <- err
	}()
	b := make([]byte, 2)
	if n, err := in.Read(b); n != 2 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if err := <-w2; err != nil {
		t.Fatal(err)
	}
	if n, err := in.Read(b); n != 1 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	cancel()
	for range 2 {
		if n, err := in.Read(b); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
}

// TestStatusLine cuts a line that would be broken by the terminal.
func TestStatusLine(t *testing.T) {
	for width, want := range map[int]string{0: "größer als\\neine Zeile", 20: "größer als\\neine Ze", 7: "größer", 1: "größer als\\neine Zeile"} {
		p := &Shell{LogSize: func() (int, int) { return width, 24 }}
		if got := p.StatusLine("größer als\neine Zeile"); got != want {
			t.Errorf("of %d columns: %q, want %q", width, got, want)
		}
	}
}
