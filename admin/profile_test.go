package admin_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
)

func TestProfile(t *testing.T) {
	a := inMemory(t, nil)
	for name, begin := range map[string]string{"heap": "\x1f\x8b", "goroutine": "\x1f\x8b", "cpu": "\x1f\x8b", "trace": "go 1."} {
		var b bytes.Buffer
		if err := a.Profile(t.Context(), &admin.ProfileRequest{Name: name, Seconds: 0.05}, &b); err != nil || !bytes.HasPrefix(b.Bytes(), []byte(begin)) {
			t.Errorf("%s: %v, %d bytes, %.20q", name, err, b.Len(), b.String())
		}
	}
	for _, req := range []*admin.ProfileRequest{{Name: "cpu", Seconds: 61}, {Name: "cpu", Seconds: -1}, {Name: "cpu", Seconds: math.NaN()}} {
		isError(t, a.Profile(t.Context(), req, new(bytes.Buffer)), weft.InvalidArgument)
	}
	isError(t, a.Profile(t.Context(), &admin.ProfileRequest{Name: "none"}, new(bytes.Buffer)), weft.NotFound)
	full := errors.New("full")
	if err := a.Profile(t.Context(), &admin.ProfileRequest{Name: "heap"}, failing{full}); !errors.Is(err, full) {
		t.Error(err)
	}
}

// failing is a writer that fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
