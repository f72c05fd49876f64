package compresstest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/compresstest"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// runs is the smallest compressor that keeps every promise: a checksum, then
// runs of one byte, each as a count and that byte, or a zero count and 128 bytes.
type runs struct{}

func (runs) Name() string { return "runs" }

func (runs) Compress(dst, src []byte) ([]byte, error) {
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(src))
	for len(src) > 0 {
		n := 1
		for n < min(len(src), 255) && src[n] == src[0] {
			n++
		}
		if n == 1 && len(src) >= 128 {
			dst = append(append(dst, 0), src[:128]...)
			src = src[128:]
			continue
		}
		dst = append(dst, byte(n), src[0])
		src = src[n:]
	}
	return append(dst, 0, 0xff, 0xff), nil
}

func (runs) Decompress(dst, src []byte, limit int) ([]byte, error) {
	start := len(dst)
	if len(src) < 4 {
		return dst, errors.New("no checksum")
	}
	sum, src := binary.BigEndian.Uint32(src), src[4:]
	for {
		switch {
		case len(src) == 3 && string(src) == "\x00\xff\xff": // the race detector goes through all that is converted
			if crc32.ChecksumIEEE(dst[start:]) != sum {
				return dst, errors.New("wrong checksum")
			}
			return dst, nil
		case len(src) >= 129 && src[0] == 0:
			if len(dst)-start+128 > limit {
				return dst, compress.ErrTooLarge
			}
			dst, src = append(dst, src[1:129]...), src[129:]
		case len(src) >= 2 && src[0] > 0:
			if len(dst)-start+int(src[0]) > limit {
				return dst, compress.ErrTooLarge
			}
			for range src[0] {
				dst = append(dst, src[1])
			}
			src = src[2:]
		default:
			return dst, errors.New("cut short")
		}
	}
}

func TestRunAcceptsASoundCompressor(t *testing.T) {
	compresstest.Run(t, runs{}, compresstest.Config{Checksum: true})
}

// faulty is the sound compressor with one promise broken.
type faulty struct {
	runs
	compress   func(dst, src []byte) ([]byte, error)
	decompress func(dst, src []byte, limit int) ([]byte, error)
}

func (f faulty) Compress(dst, src []byte) ([]byte, error) {
	if f.compress == nil {
		return f.runs.Compress(dst, src)
	}
	return f.compress(dst, src)
}

func (f faulty) Decompress(dst, src []byte, limit int) ([]byte, error) {
	if f.decompress == nil {
		return f.runs.Decompress(dst, src, limit)
	}
	return f.decompress(dst, src, limit)
}

// badName has a name that the wire does not carry.
type badName struct{ runs }

func (badName) Name() string { return "Runs!" }

// faults returns, by the subtest that must find it, a compressor with that fault.
func faults() map[string]compress.Compressor {
	var pool sync.Pool
	return map[string]compress.Compressor{
		"Name": badName{},
		"RoundTrip": faulty{decompress: func(dst, src []byte, limit int) ([]byte, error) {
			out, err := runs{}.Decompress(dst, src, limit)
			return out[:max(len(out)-1, len(dst))], err
		}},
		"Prefix": faulty{compress: func(_, src []byte) ([]byte, error) { return runs{}.Compress(nil, src) }},
		"Limit":  faulty{decompress: func(dst, src []byte, limit int) ([]byte, error) { return runs{}.Decompress(dst, src, limit+1) }},
		"Bomb": faulty{decompress: func(dst, src []byte, limit int) ([]byte, error) {
			out, err := runs{}.Decompress(dst, src, 1<<30)
			if err == nil && len(out)-len(dst) > limit {
				return dst, compress.ErrTooLarge
			}
			return out, err
		}},
		"Trailing":  faulty{decompress: func(dst, src []byte, limit int) ([]byte, error) { return untilEnd(dst, src, limit) }},
		"Truncated": faulty{decompress: panicsWhenShort},
		"Corrupted": faulty{decompress: withoutChecksum},
		"Growth":    faulty{decompress: quadratic},
		// The fault that rpcx had: what is returned lies in a pooled buffer.
		"Concurrent": faulty{compress: func(dst, src []byte) ([]byte, error) {
			b, _ := pool.Get().(*bytes.Buffer)
			if b == nil {
				b = new(bytes.Buffer)
			}
			b.Reset()
			out, err := runs{}.Compress(dst, src)
			b.Write(out)
			pool.Put(b)
			return b.Bytes(), err
		}},
	}
}

// untilEnd forgives what is behind the end.
func untilEnd(dst, src []byte, limit int) ([]byte, error) {
	for n := len(src); n >= max(len(src)-30, 0); n-- {
		if out, err := (runs{}).Decompress(dst, src[:n], limit); err == nil || errors.Is(err, compress.ErrTooLarge) {
			return out, err
		}
	}
	return dst, errors.New("no end")
}

func panicsWhenShort(dst, src []byte, limit int) ([]byte, error) {
	_ = src[3]
	return runs{}.Decompress(dst, src, limit)
}

// quadratic takes time that grows with the square of the length of what it restores.
func quadratic(dst, src []byte, limit int) ([]byte, error) {
	for range 2 * len(src) {
		if crc32.ChecksumIEEE(src) == 1 {
			break
		}
	}
	return runs{}.Decompress(dst, src, limit)
}

func withoutChecksum(dst, src []byte, limit int) ([]byte, error) {
	out, err := runs{}.Decompress(dst, src, limit)
	if err != nil && err.Error() == "wrong checksum" {
		err = nil
	}
	return out, err
}

// TestFaulty runs the kit on one faulty compressor. It is run by
// TestRunFindsFaults, in a process of its own, and must fail there.
func TestFaulty(t *testing.T) {
	c, ok := faults()[os.Getenv("COMPRESSTEST_FAULT")]
	if !ok {
		return
	}
	compresstest.Run(t, c, compresstest.Config{Checksum: true})
}

func TestRunFindsFaults(t *testing.T) {
	for name := range faults() {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestFaulty$/^"+name+"$")
			cmd.Env = append(os.Environ(), "COMPRESSTEST_FAULT="+name)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("the kit found nothing:\n%.2000s", out)
			}
			if !strings.Contains(string(out), "--- FAIL: TestFaulty/"+name) {
				t.Errorf("no subtest %s failed:\n%.2000s", name, out)
			}
		})
	}
}
