package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// A short run has a row for each subject.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, "", 1, 400, 4); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 32 || !strings.Contains(out.String(), "| otel, traces of 1 % and metrics, on both sides | ") {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	if err := run(t.Context(), &out, "access log", 1, 400, 4); err != nil || strings.Count(out.String(), "\n") != 4 {
		t.Errorf("%v\n%s", err, out.String())
	}
	if err := run(t.Context(), &out, "(", 1, 400, 4); err == nil {
		t.Error("a wrong expression is accepted")
	}
	if err := run(t.Context(), &out, "", 0, 1, 1); err == nil {
		t.Error("a run of nothing is accepted")
	}
}

func TestProfiling(t *testing.T) {
	for path, good := range map[string]bool{"": true, filepath.Join(t.TempDir(), "profile"): true, t.TempDir(): false} {
		stop, err := profiling(path)
		if err == nil {
			err = stop()
		}
		if (err == nil) != good {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestSigned(t *testing.T) {
	for v, want := range map[float64]string{0.001: "0.00 µs", -0.001: "0.00 µs", 0.25: "+0.25 µs", -0.25: "-0.25 µs"} {
		if got := signed(v, "%+.2f µs"); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	if got := median([]float64{3, 1, 2, 10}); got != 2.5 {
		t.Error(got)
	}
}
