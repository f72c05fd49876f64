package frame_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/weftrpc/weft/door/rpcx/internal/frame"
)

const limit = 1 << 20

// sample is a frame with all parts.
func sample(payload []byte) []byte {
	b, at := frame.Begin(nil, frame.Oneway|1<<frame.CompressionShift, 3, 4711, frame.Names("Arith", "Mul"))
	b, length := frame.Open(b)
	b = frame.AppendPair(frame.AppendPair(b, "key", "value"), "", "")
	frame.Close(b, length)
	b = frame.AppendPart(b, string(payload))
	frame.End(b, at)
	return b
}

// check looks at a sample that was read.
func check(t *testing.T, f *frame.Frame, payload []byte) {
	t.Helper()
	if f.Seq != 4711 || f.Serial != 3 || f.Compression() != 1 || !f.Has(frame.Oneway) || f.Has(frame.Response|frame.Heartbeat) || f.Failed() ||
		string(f.Path) != "Arith" || string(f.Method) != "Mul" || !bytes.Equal(f.Names, frame.Names("Arith", "Mul")) || !bytes.Equal(f.Payload, payload) {
		t.Fatalf("a sample was read as %+v", f)
	}
	key, value, rest, err := frame.Pair(f.Meta)
	if err != nil || string(key) != "key" || string(value) != "value" {
		t.Fatalf("%q, %q, %v", key, value, err)
	}
	if key, value, rest, err = frame.Pair(rest); err != nil || len(key)+len(value)+len(rest) != 0 {
		t.Fatalf("%q, %q, %q, %v", key, value, rest, err)
	}
}

// TestSizes reads frames of many sizes in a row, at once and in small pieces, also by readers that were
// split off.
func TestSizes(t *testing.T) {
	sizes := []int{0, 1, 100, 4000, 4096, 5000, 65_000, 65_536 - 58, 65_536, 65_537, 200_000, 3, 1 << 19, 0}
	var stream []byte
	for _, n := range sizes {
		stream = append(stream, sample(bytes.Repeat([]byte{byte(n)}, n))...)
	}
	for name, conn := range map[string]func() io.Reader{
		"whole":     func() io.Reader { return bytes.NewReader(stream) },
		"halves":    func() io.Reader { return iotest.HalfReader(bytes.NewReader(stream)) },
		"bytes":     func() io.Reader { return iotest.OneByteReader(bytes.NewReader(stream)) },
		"early end": func() io.Reader { return iotest.DataErrReader(bytes.NewReader(stream)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := frame.NewReader(conn(), limit, nil)
			for i, n := range sizes {
				if i%3 == 1 {
					if meta, err := r.Meta(); err != nil || len(meta) != 24 {
						t.Fatalf("the metadata has %d bytes, %v", len(meta), err)
					}
				}
				f, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				next := r.Split()
				if i%2 == 1 {
					r = next
				}
				check(t, &f, bytes.Repeat([]byte{byte(n)}, n))
			}
			if r.Ready() {
				t.Error("a frame is ready behind the last one")
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("the end is %v", err)
			}
		})
	}
}

// TestCut ends a frame after each byte.
func TestCut(t *testing.T) {
	whole := sample([]byte("payload"))
	for n := 1; n < len(whole); n++ {
		r := frame.NewReader(bytes.NewReader(whole[:n]), limit, nil)
		if r.Ready() {
			t.Errorf("%d bytes: a frame is ready", n)
		}
		if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := frame.NewReader(bytes.NewReader(nil), limit, nil).Next(); err != io.EOF {
		t.Errorf("no byte: %v", err)
	}
}

// TestLengths sets each length to values that it cannot have, and to some that it can.
func TestLengths(t *testing.T) {
	whole := sample([]byte("payload"))
	places := map[string]int{"total": 12, "path": 16, "method": 25, "metadata": 32, "payload": 60}
	for name, at := range places {
		is := binary.BigEndian.Uint32(whole[at:])
		for _, v := range []uint32{0, is - 1, is + 1, 1 << 31, 1<<32 - 1, 1<<32 - 4, ^uint32(at)} {
			b := bytes.Clone(whole)
			binary.BigEndian.PutUint32(b[at:], v)
			_, err := frame.NewReader(bytes.NewReader(b), limit, nil).Next()
			if name == "payload" {
				if err != nil {
					t.Errorf("payload of length %d: %v; it is the rest of the frame", v, err)
				}
				continue
			}
			good := name != "total" && (v == 0 || v == is-1 || v == is+1) // these may be frames with other parts
			if err == nil && !good {
				if name == "total" && v == is-1 {
					continue // a payload with one byte less
				}
				t.Errorf("%s of length %d was read", name, v)
			}
			if err != nil && !errors.Is(err, frame.ErrMalformed) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s of length %d: %v", name, v, err)
			}
		}
	}
	for _, b := range [][]byte{{9}, {8, 1}} {
		if _, err := frame.NewReader(bytes.NewReader(append(b, make([]byte, 20)...)), limit, nil).Next(); !errors.Is(err, frame.ErrMalformed) {
			t.Errorf("% x: %v", b, err)
		}
	}
	for _, meta := range []string{"\x00", "\x00\x00\x00\x05key", "\xff\xff\xff\xff", "\x00\x00\x00\x01k\x00\x00\x00"} {
		if _, _, _, err := frame.Pair([]byte(meta)); !errors.Is(err, frame.ErrMalformed) {
			t.Errorf("metadata %q: %v", meta, err)
		}
	}
}

// TestTooLong throws a frame away that is too long, and reads the next one; a much longer one is an error.
func TestTooLong(t *testing.T) {
	stream := append(sample(make([]byte, 100_000)), sample([]byte("next"))...)
	r := frame.NewReader(iotest.HalfReader(bytes.NewReader(stream)), 50_000, nil)
	f, err := r.Next()
	if err != nil || f.TooLong != 100_000+48 || f.Seq != 4711 {
		t.Fatalf("%+v, %v", f, err)
	}
	if f, err = r.Next(); err != nil {
		t.Fatal(err)
	}
	check(t, &f, []byte("next"))
	r = frame.NewReader(bytes.NewReader(stream), 5_000, nil)
	if _, err = r.Next(); !errors.Is(err, frame.ErrMalformed) {
		t.Errorf("a frame of more than sixteen times the limit: %v", err)
	}
}

// TestMemory announces much and sends little.
func TestMemory(t *testing.T) {
	head := sample(nil)[:16]
	binary.BigEndian.PutUint32(head[12:], 1<<29)
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if n := allocated(func() {
		_, err := frame.NewReader(bytes.NewReader(head), 1<<30, nil).Next()
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	}); n > 100<<10 {
		t.Errorf("16 bytes made the reader allocate %d", n)
	}
}

// TestWait is told before each read whether a frame has begun.
func TestWait(t *testing.T) {
	whole := sample([]byte("payload"))
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() { // it ends with the pipe
		defer close(done)
		for _, b := range [][]byte{whole[:10], whole[10:20], whole[20:]} {
			_, _ = w.Write(b)
		}
		w.Close()
	}()
	var told []bool
	rd := frame.NewReader(r, limit, func(partial bool) { told = append(told, partial) })
	if _, err := rd.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := rd.Next(); err != io.EOF {
		t.Fatal(err)
	}
	<-done
	if want := []bool{false, true, true, false}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

// FuzzReader reads any bytes, in pieces of any size: the frames are the same, and written anew they are read the same.
func FuzzReader(f *testing.F) {
	f.Add(sample([]byte("payload")), uint8(3))
	f.Add(append(sample(nil), sample(make([]byte, 300))...), uint8(200))
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		whole := frame.NewReader(bytes.NewReader(b), 1<<16, nil)
		pieces := frame.NewReader(&slow{b, int(piece) + 1}, 1<<16, nil)
		for {
			x, err := whole.Next()
			y, other := pieces.Next()
			if (err == nil) != (other == nil) {
				t.Fatalf("%v and %v", err, other)
			}
			if err != nil {
				return
			}
			if x.Flags != y.Flags || x.Serial != y.Serial || x.Seq != y.Seq || x.TooLong != y.TooLong || !bytes.Equal(x.Names, y.Names) ||
				!bytes.Equal(x.Meta, y.Meta) || !bytes.Equal(x.Payload, y.Payload) {
				t.Fatalf("%+v and %+v", x, y)
			}
			if x.TooLong != 0 {
				continue
			}
			out, at := frame.Begin(nil, x.Flags, x.Serial, x.Seq, x.Names)
			out = frame.AppendPart(frame.AppendPart(out, string(x.Meta)), string(x.Payload))
			frame.End(out, at)
			again, err := frame.NewReader(bytes.NewReader(out), 1<<17, nil).Next()
			if err != nil || !bytes.Equal(again.Payload, x.Payload) || !bytes.Equal(again.Path, x.Path) || !bytes.Equal(again.Meta, x.Meta) {
				t.Fatalf("%+v was written and read as %+v, %v", x, again, err)
			}
			for meta := x.Meta; len(meta) > 0; {
				if _, _, meta, err = frame.Pair(meta); err != nil {
					break
				}
			}
		}
	})
}

// slow returns few bytes a read.
type slow struct {
	rest  []byte
	piece int
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.piece)], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
