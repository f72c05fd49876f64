package codectest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// sound is the smallest codec that keeps every promise.
type sound struct{}

func (sound) Name() string { return "sound" }

func (sound) Append(dst []byte, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

func (sound) Decode(body []byte, v any) error {
	p, ok := v.(*[]string)
	if !ok || p == nil {
		return errors.New("want a *[]string")
	}
	*p = nil
	return json.Unmarshal(body, p)
}

func TestRunAcceptsASoundCodec(t *testing.T) {
	codectest.Run(t, sound{}, codectest.Config{Values: []any{&[]string{"a", "b"}, &[]string{}}})
}

func TestMutationsLeaveTheBody(t *testing.T) {
	body := bytes.Repeat([]byte{0x55}, 300)
	n := 0
	for b := range codectest.Mutations(body) {
		if n++; slices.Equal(b, body) {
			t.Fatalf("mutation %d equals the body", n)
		}
	}
	want := 300 + 256*8 + 44 + 300*3
	if n != want || !slices.Equal(body, bytes.Repeat([]byte{0x55}, 300)) {
		t.Errorf("%d mutations, want %d; body changed: %x", n, want, body)
	}
}
