package codectest_test

import (
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
)

// faulty is the sound codec with one promise broken.
type faulty struct {
	sound
	name   func() string
	append func(dst []byte, v any) ([]byte, error)
	decode func(body []byte, v any) error
}

func (f faulty) Name() string {
	if f.name == nil {
		return f.sound.Name()
	}
	return f.name()
}

func (f faulty) Append(dst []byte, v any) ([]byte, error) {
	if f.append == nil {
		return f.sound.Append(dst, v)
	}
	return f.append(dst, v)
}

func (f faulty) Decode(body []byte, v any) error {
	if f.decode == nil {
		return f.sound.Decode(body, v)
	}
	return f.decode(body, v)
}

// wrongSize is a Sizer that is one byte off.
type wrongSize struct{ sound }

func (w wrongSize) Size(v any) (int, bool) {
	b, err := w.Append(nil, v)
	return len(b) + 1, err == nil
}

func (w wrongSize) AppendSized(dst []byte, v any, _ int) ([]byte, error) { return w.Append(dst, v) }

// faults returns, by the subtest that must find it, a codec with that fault.
func faults() map[string]codec.Codec {
	return map[string]codec.Codec{
		"Name":      faulty{name: func() string { return "Not A Name" }},
		"RoundTrip": faulty{decode: func(b []byte, v any) error { return sound{}.Decode([]byte(`["x"]`), v) }},
		"Prefix":    faulty{append: func(_ []byte, v any) ([]byte, error) { return sound{}.Append(nil, v) }},
		"Refused":   faulty{append: func(dst []byte, _ any) ([]byte, error) { return append(dst, `["a"]`...), nil }},
		"Sizer":     wrongSize{},
		"Hostile":   faulty{decode: indexPanic},
		"Growth":    faulty{decode: quadratic},
		"Overread": faulty{decode: func(b []byte, v any) error {
			if cap(b) > len(b) && len(b) > 5 {
				b = b[:min(cap(b), 9)]
			}
			return sound{}.Decode(b, v)
		}},
		"Targets": faulty{decode: func(b []byte, v any) error {
			if v == nil {
				return nil
			}
			return sound{}.Decode(b, v)
		}},
		"Cycles": faulty{append: func(dst []byte, v any) ([]byte, error) {
			if _, ok := v.(*[]any); ok {
				return append(dst, "[]"...), nil
			}
			return sound{}.Append(dst, v)
		}},
		"Numbers": faulty{decode: func(b []byte, v any) error {
			var n int64
			switch p := v.(type) {
			case *int64:
				return json.Unmarshal(b, p)
			case *int8:
				err := json.Unmarshal(b, &n)
				*p = int8(n)
				return err
			}
			return sound{}.Decode(b, v)
		}},
		"Reuse": faulty{decode: func(b []byte, v any) error {
			p, ok := v.(*[]string)
			if !ok || p == nil {
				return sound{}.Decode(b, v)
			}
			var fresh []string
			err := json.Unmarshal(b, &fresh)
			*p = append(*p, fresh...)
			return err
		}},
	}
}

// indexPanic does not think of an empty body.
func indexPanic(b []byte, v any) error {
	if b[0] != '[' {
		return errors.New("not a list")
	}
	return sound{}.Decode(b, v)
}

// quadratic takes time that grows with the square of the length of a body, and more than growthtest allows for any length on processors that
// do 64 GB of checksums in a second, too.
func quadratic(b []byte, v any) error {
	for range 4 * len(b) {
		if crc32.ChecksumIEEE(b) == 1 {
			break
		}
	}
	return sound{}.Decode(b, v)
}

// TestFaulty runs the kit on one faulty codec. It is run by TestRunFindsFaults,
// in a process of its own, and must fail there.
func TestFaulty(t *testing.T) {
	c, ok := faults()[os.Getenv("CODECTEST_FAULT")]
	if !ok {
		return
	}
	codectest.Run(t, c, codectest.Config{Values: []any{&[]string{"a", "b"}, &[]string{"c"}}})
}

func TestRunFindsFaults(t *testing.T) {
	for name := range faults() {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestFaulty$")
			cmd.Env = append(os.Environ(), "CODECTEST_FAULT="+name)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("the kit found nothing:\n%s", out)
			}
			if !strings.Contains(string(out), "/"+name) {
				t.Errorf("no subtest %s failed:\n%s", name, out)
			}
		})
	}
}
