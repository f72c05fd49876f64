// Package compresstest proves that a compressor keeps the promises of
// [compress.Compressor].
//
// A compressor's test is one call:
//
//	func TestConformance(t *testing.T) {
//		compresstest.Run(t, mycompressor.New(), compresstest.Config{Checksum: true})
//	}
//
// Run compresses and restores data of many sizes and kinds, alone and from many
// goroutines, cuts and corrupts what was compressed, and reports a result that
// is wrong, memory beyond the limit, time that grows faster than the input, bytes
// shared with a pool, and panics.
package compresstest

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/growthtest"
)

// Config says what a compressor is tested for.
type Config struct {
	// Checksum says that the format has a checksum of the content, so that no
	// changed byte may change the result without an error.
	Checksum bool
}

// Run tests c, in subtests of t. It does not run them in parallel, since it
// measures memory.
func Run(t *testing.T, c compress.Compressor, cfg Config) {
	t.Helper()
	s := &suite{c: c, cfg: cfg}
	t.Run("Name", s.name)
	t.Run("RoundTrip", s.roundTrip)
	t.Run("Prefix", s.prefix)
	t.Run("Limit", s.limit)
	t.Run("Bomb", s.bomb)
	t.Run("Trailing", s.trailing)
	t.Run("Truncated", s.truncated)
	t.Run("Corrupted", s.corrupted)
	t.Run("Growth", s.growth)
	t.Run("Concurrent", s.concurrent)
}

type suite struct {
	c   compress.Compressor
	cfg Config
}

func (s *suite) name(t *testing.T) {
	const most, allowed = 32, "abcdefghijklmnopqrstuvwxyz0123456789-."
	name := s.c.Name()
	foreign := strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(allowed, r) })
	if name == "" || len(name) > most || foreign {
		t.Errorf("Name() = %q, want 1 to 32 characters of a-z, 0-9, '-' and '.'", name)
	}
}

func (s *suite) compress(t *testing.T, src []byte) []byte {
	t.Helper()
	small, err := s.c.Compress(nil, src)
	if err != nil {
		t.Fatalf("Compress of %d bytes: %v", len(src), err)
	}
	return small
}

func (s *suite) roundTrip(t *testing.T) {
	for name, src := range data() {
		before := bytes.Clone(src)
		small := s.compress(t, src)
		if !bytes.Equal(src, before) {
			t.Errorf("%s: Compress wrote to src", name)
		}
		sent := bytes.Clone(small)
		got, err := s.c.Decompress(nil, small, len(src))
		if err != nil || !bytes.Equal(got, src) {
			t.Errorf("%s: Decompress of %d compressed bytes: %d bytes, %v; want the %d that were compressed", name, len(small), len(got), err, len(src))
		}
		if !bytes.Equal(small, sent) {
			t.Errorf("%s: Decompress wrote to src", name)
		}
		if most := len(src) + len(src)/16 + 128; len(small) > most {
			t.Errorf("%s: %d bytes became %d, want at most %d", name, len(src), len(small), most)
		}
	}
}

// prefix tests that both directions append: with no room, some and plenty.
func (s *suite) prefix(t *testing.T) {
	const head = "what was there before"
	src := Sample()
	small := s.compress(t, src)
	for _, room := range []int{0, 3, len(small), len(src), 1 << 16} {
		dst := append(make([]byte, 0, len(head)+room), head...)
		got, err := s.c.Compress(dst, src)
		if err != nil || !bytes.HasPrefix(got, []byte(head)) || string(dst) != head {
			t.Fatalf("Compress with room for %d bytes: dst became %.40q, the result is %.40q, %v", room, dst, got, err)
		}
		if back, err := s.c.Decompress(nil, got[len(head):], len(src)); err != nil || !bytes.Equal(back, src) {
			t.Errorf("Compress with room for %d bytes appended what restores %d bytes, %v", room, len(back), err)
		}
		dst = append(make([]byte, 0, len(head)+room), head...)
		back, err := s.c.Decompress(dst, small, len(src))
		if err != nil || string(back) != head+string(src) || string(dst) != head {
			t.Errorf("Decompress with room for %d bytes: dst became %.40q, the result is %.40q, %v", room, dst, back, err)
		}
	}
}

func (s *suite) limit(t *testing.T) {
	for name, src := range data() {
		small := s.compress(t, src)
		for _, limit := range []int{len(src), len(src) + 1, 1 << 30} {
			if got, err := s.c.Decompress(nil, small, limit); err != nil || len(got) != len(src) {
				t.Errorf("%s: Decompress with limit %d: %d bytes, %v", name, limit, len(got), err)
			}
		}
		for _, limit := range []int{len(src) - 1, len(src) / 2, 0, -1} {
			if limit >= len(src) {
				continue
			}
			// With room to spare, for what is there need not be used.
			got, err := s.c.Decompress(make([]byte, 0, 2*len(src)), small, limit)
			if !errors.Is(err, compress.ErrTooLarge) && (len(src) > 0 || err != nil) {
				t.Errorf("%s: Decompress with limit %d: %d bytes, %v; want ErrTooLarge", name, limit, len(got), err)
			}
			if len(got) > max(limit, 0) {
				t.Errorf("%s: Decompress with limit %d appended %d bytes", name, limit, len(got))
			}
		}
	}
}

func (s *suite) bomb(t *testing.T) {
	Bomb(t, s.c, s.compress(t, make([]byte, 8<<20)), 64<<10)
}

// Bomb fails t unless Decompress of src ends with ErrTooLarge, and without
// allocating more than a small multiple of limit. src claims to restore to more
// than that, or does.
func Bomb(t *testing.T, c compress.Compressor, src []byte, limit int) {
	t.Helper()
	_, used, err := measured(c, src, limit)
	if !errors.Is(err, compress.ErrTooLarge) {
		t.Errorf("Decompress of a bomb of %d bytes with a limit of %d: %v, want ErrTooLarge", len(src), limit, err)
	}
	if most := mostMemory(limit); used > most {
		t.Errorf("Decompress of a bomb of %d bytes with a limit of %d allocates %d bytes, want at most %d", len(src), limit, used, most)
	}
}

func (s *suite) trailing(t *testing.T) {
	small := s.compress(t, Sample())
	for _, tail := range []string{"\x00", "x", "\x00\x00\x00\x00", "garbage behind the end"} {
		if _, err := s.c.Decompress(nil, append(slices.Clip(small), tail...), 1<<20); err == nil {
			t.Errorf("Decompress with %q behind the end: no error", tail)
		}
	}
}

func (s *suite) truncated(t *testing.T) {
	for name, src := range data() {
		small := s.compress(t, src)
		step := 1 // every length of small ones, some of large ones
		if len(small) > 1500 {
			step = len(small) / 16
		}
		for n := 0; n < len(small); n += step {
			got, err := s.safely(t, name, small[:n:n], len(src))
			if err == nil {
				t.Fatalf("%s: Decompress of %d of %d bytes: %d bytes and no error", name, n, len(small), len(got))
			}
		}
	}
}

func (s *suite) corrupted(t *testing.T) {
	const limit = 64 << 10
	src := Sample()
	small := s.compress(t, src)
	for i, was := range small {
		for _, c := range []byte{was ^ 1, was ^ 2, was ^ 4, was ^ 8, was ^ 16, was ^ 32, was ^ 64, was ^ 128, 0, 255} {
			if c == was {
				continue
			}
			small[i] = c
			got, err := s.safely(t, fmt.Sprintf("byte %d changed to %#x", i, c), small, limit)
			if s.cfg.Checksum && err == nil && !bytes.Equal(got, src) {
				t.Errorf("byte %d changed from %#x to %#x changes the result without an error", i, was, c)
			}
		}
		small[i] = was
	}
}

// growth repeats parts of what was compressed, with the rest around them and without: the time to restore it must not grow faster than
// its length, for a result of a bounded length.
func (s *suite) growth(t *testing.T) {
	const size, limit, places = 8 << 10, 64 << 10, 8
	decompress := func(src []byte) { _, _ = s.c.Decompress(nil, src, limit) }
	for _, src := range [][]byte{nil, Sample(), make([]byte, limit)} {
		small := s.compress(t, src)
		step := max(1, len(small)/places)
		for from := 0; from < len(small); from += step {
			for _, n := range []int{1, 4, len(small)} {
				to := min(from+n, len(small))
				growthtest.Check(t, "Decompress", size, growthtest.Repeat(small[:from], small[from:to], small[to:]), decompress)
				growthtest.Check(t, "Decompress", size, growthtest.Repeat(nil, small[from:to], nil), decompress)
				if t.Failed() {
					return // one is enough: each takes seconds
				}
			}
		}
	}
}

// safely decompresses src and fails t at a panic, at more bytes than the limit,
// and when it allocates much more than those.
func (s *suite) safely(t *testing.T, what string, src []byte, limit int) (got []byte, err error) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%s: Decompress panics: %v\nsource: %x", what, r, src)
		}
	}()
	got, used, err := measured(s.c, src, limit)
	if most := mostMemory(limit); used > most {
		t.Fatalf("%s: Decompress with a limit of %d allocates %d bytes, want at most %d\nsource: %x", what, limit, used, most, src)
	}
	if len(got) > limit {
		t.Fatalf("%s: Decompress with a limit of %d appended %d bytes\nsource: %x", what, limit, len(got), src)
	}
	return got, err
}

// concurrent has many goroutines compress and restore, and looks at the results
// again after all the others were made.
func (s *suite) concurrent(t *testing.T) {
	const goroutines, rounds, held = 8, 500, 16
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			type result struct{ src, small, got []byte }
			var results [held]result
			for i := range rounds {
				r := &results[i%held]
				if r.got != nil && !bytes.Equal(r.got, r.src) {
					t.Errorf("goroutine %d: a restored result changed after it was returned", g)
					return
				}
				r.src = fmt.Appendf(r.src[:0], "%d of %d: %x", i, g, bytes.Repeat([]byte{byte(g), byte(i)}, 50+i%200))
				var err error
				if r.small, err = s.c.Compress(nil, r.src); err != nil {
					t.Errorf("goroutine %d: Compress: %v", g, err)
					return
				}
				// An older result is restored, so that its compressed form has lain for a while.
				old := &results[(i+1)%held]
				if old.small == nil {
					continue
				}
				if old.got, err = s.c.Decompress(nil, old.small, len(old.src)); err != nil || !bytes.Equal(old.got, old.src) {
					t.Errorf("goroutine %d: a result was not restored: %v", g, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// mostMemory is how many bytes a Decompress may allocate: room that grows up to
// the limit, and a decoder when the pool has none.
func mostMemory(limit int) uint64 { return 256<<10 + 8*uint64(limit) }

// measured decompresses src and returns how many bytes that allocated: the least
// of three times, as another goroutine may allocate meanwhile.
func measured(c compress.Compressor, src []byte, limit int) (got []byte, used uint64, err error) {
	for range 3 {
		before := allocated()
		got, err = c.Decompress(nil, src, limit)
		if used = allocated() - before; used <= mostMemory(limit) {
			break
		}
	}
	return got, used, err
}

// allocated returns how many bytes the process has allocated so far.
func allocated() uint64 {
	sample := [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample[:])
	return sample[0].Value.Uint64()
}
