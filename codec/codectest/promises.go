package codectest

import (
	"bytes"
	"slices"
	"sync"
	"testing"

	"github.com/weftrpc/weft/codec"
)

func (s *suite) roundTrip(t *testing.T, v any, body []byte) {
	s.same(t, "a value encoded and decoded", v, s.decode(t, body, v))
	if s.cfg.OpenEnded {
		return
	}
	for _, tail := range []string{"x", "\x00", "\x00\x00\x00\x00"} {
		err := safely(func() error { return s.c.Decode(append(slices.Clip(body), tail...), newLike(v)) })
		if err == nil || isPanic(err) {
			t.Errorf("Decode of a value with %q behind it: %v, want an error", tail, err)
		}
	}
}

// prefix tests that Append appends: with no room, some room and plenty.
func (s *suite) prefix(t *testing.T, v any) {
	const head = "what was there before"
	for _, room := range []int{0, 3, 1 << 16} {
		dst := append(make([]byte, 0, len(head)+room), head...)
		got, err := s.c.Append(dst, v)
		if err != nil {
			t.Fatal(err)
		}
		if string(dst) != head {
			t.Fatalf("Append with room for %d bytes wrote over dst: %q", room, dst)
		}
		if !bytes.HasPrefix(got, []byte(head)) {
			t.Fatalf("Append with room for %d bytes lost dst: %q", room, got)
		}
		s.same(t, "the value appended", v, s.decode(t, got[len(head):], v))
	}
	for _, bad := range s.cfg.Refused {
		dst := append(make([]byte, 0, 256), head...)
		if _, err := s.c.Append(dst, bad); err != nil && string(dst) != head {
			t.Errorf("a failed Append of a %T wrote over dst: %q", bad, dst)
		}
	}
}

// ownership tests that neither side keeps the other's bytes.
func (s *suite) ownership(t *testing.T, v any) {
	body := s.encode(t, v)
	got := s.decode(t, body, v)
	fill(body, 0xff)
	s.same(t, "a decoded value after its body was overwritten", v, got)

	body = s.encode(t, got)
	fill(body[:cap(body)], 0xaa)
	s.same(t, "an encoded value after its encoding was overwritten", v, got)
}

// reuse tests that a value used before shows nothing of what it held.
func (s *suite) reuse(t *testing.T, v any) {
	used := newLike(v)
	for _, next := range append(slices.Clone(s.cfg.Values), newLike(v), v) {
		if !sameType(next, v) {
			continue
		}
		body, err := s.c.Append(nil, next)
		if err != nil {
			continue // a zero value need not be valid
		}
		if err := s.c.Decode(s.encode(t, v), used); err != nil {
			t.Fatal(err)
		}
		if err := s.c.Decode(body, used); err != nil {
			t.Fatal(err)
		}
		s.same(t, "a value decoded over an older one", s.decode(t, body, v), used)
	}
}

func (s *suite) sizer(t *testing.T, v any) {
	sizer, ok := s.c.(codec.Sizer)
	if !ok {
		return
	}
	n, ok := sizer.Size(v)
	if !ok {
		return
	}
	if body := s.encode(t, v); len(body) != n {
		t.Errorf("Size = %d, Append appended %d bytes", n, len(body))
	}
	for _, room := range []int{0, n, 1 << 16} {
		n, _ := sizer.Size(v)
		dst := append(make([]byte, 0, 3+room), "abc"...)
		got, err := sizer.AppendSized(dst, v, n)
		if err != nil {
			t.Fatal(err)
		}
		if string(got[:3]) != "abc" || len(got) != 3+n {
			t.Fatalf("AppendSized with room for %d bytes: %d bytes, want %d behind %q", room, len(got), n, "abc")
		}
		s.same(t, "the value appended", v, s.decode(t, got[3:], v))
	}
}

// concurrent has many goroutines encode the same values and decode them.
func (s *suite) concurrent(t *testing.T) {
	const goroutines, rounds = 8, 50
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			var dst []byte
			for i := range rounds {
				v := s.cfg.Values[i%len(s.cfg.Values)]
				body, err := s.c.Append(dst[:0], v)
				if err != nil {
					t.Errorf("Append: %v", err)
					return
				}
				got := newLike(v)
				if err := s.c.Decode(body, got); err != nil {
					t.Errorf("Decode: %v", err)
					return
				}
				s.same(t, "a value decoded beside others", v, got)
				dst = body
			}
		})
	}
	wg.Wait()
}

func fill(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}
