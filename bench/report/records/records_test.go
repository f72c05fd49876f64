package records

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"

	"github.com/weftrpc/weft/bench/internal/runner"
)

func TestMain(m *testing.M) { leak.Main(m) }

// at is a run in some minute of an hour.
func at(minute int, perSecond float64) runner.Record {
	return runner.Record{Time: time.Date(2026, 1, 1, 12, minute, 0, 0, time.UTC), CallsPerSec: perSecond}
}

func TestRead(t *testing.T) {
	tests := []struct {
		name, text   string
		runs, codecs int
		wrong        string
	}{
		{name: "two lines", text: `{"peer":"weft"}` + "\n\n" + `{"peer":"tcp"}` + "\n", runs: 2},
		{name: "a line about codecs", text: `{"workload":"codecs","codec":"gob","ns_per_op":1.5,"round":1}` + "\n" + `{"workload":"echo"}`, runs: 1, codecs: 1},
		{name: "nothing", wrong: "no records"},
		{name: "not JSON", text: "| a table |\n", wrong: "line 1"},
		{name: "a field of another version", text: `{"peer":"weft"}` + "\n" + `{"speed":1}`, wrong: `line 2: json: unknown field "speed"`},
	}
	for _, tt := range tests {
		file, err := Read(strings.NewReader(tt.text))
		switch {
		case tt.wrong != "":
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.wrong)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case len(file.Runs) != tt.runs || len(file.Codecs) != tt.codecs:
			t.Errorf("%s: %d runs and %d codecs, want %d and %d", tt.name, len(file.Runs), len(file.Codecs), tt.runs, tt.codecs)
		}
	}
	if _, err := ReadFile("no-such-file"); err == nil {
		t.Error("a file that does not exist was read")
	}
}

// TestCompressedFiles: what is published is read as what was measured.
func TestCompressedFiles(t *testing.T) {
	const text = `{"peer":"weft"}` + "\n" + `{"peer":"tcp"}` + "\n"
	folder := t.TempDir()
	plain, packed, again := filepath.Join(folder, "a.jsonl"), filepath.Join(folder, "b.gz"), filepath.Join(folder, "c.gz")
	if err := os.WriteFile(plain, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range [][2]string{{plain, packed}, {packed, again}} {
		if err := Compress(step[0], step[1]); err != nil {
			t.Fatal(err)
		}
		file, err := ReadFile(step[1])
		if err != nil || len(file.Runs) != 2 || file.Runs[1].Peer != "tcp" {
			t.Errorf("%s from %s: %+v, %v", step[1], step[0], file, err)
		}
	}
	whole, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(packed, whole[:len(whole)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(packed); err == nil || !strings.Contains(err.Error(), packed) {
		t.Errorf("a file cut short: error %v, want one with its name", err)
	}
	if err := Compress("no-such-file", again); err == nil {
		t.Error("a file that does not exist was compressed")
	}
}

func TestFiguresOfRounds(t *testing.T) {
	perSecond := func(values ...float64) Figure {
		var some Runs
		for _, v := range values {
			some = append(some, at(0, v))
		}
		return some.Figure(CallsPerSec)
	}
	tests := []struct {
		got  string
		want string
	}{
		{perSecond().Text("µs"), "–"},
		{perSecond(1234567).Text(""), "1,234,567"},
		{perSecond(3, 1, 2).Text("µs"), "2.00 (1.00–3.00) µs"},
		{perSecond(1, 2).Short(), "1.50"},
		{perSecond(999.6).Short(), "1,000"},
		{perSecond(math.NaN()).Short(), "–"},
		{perSecond(4, math.NaN()).Text(""), "4.00"},
		{perSecond(2, 4).Inverse().Text("×"), "0.33 (0.25–0.50) ×"},
		{perSecond().Inverse().Short(), "–"},
		{perSecond(0).Inverse().Short(), "–"},
		{Counted(1, "call"), "1 call"},
		{Counted(int64(1000), "call"), "1,000 calls"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// TestNeighboursAreCompared: a run is compared with the one beside it, not with
// one from another hour.
func TestNeighboursAreCompared(t *testing.T) {
	ours := Runs{at(1, 100), at(31, 10)}
	theirs := Runs{at(0, 50), at(30, 5), at(59, 1000)}
	want := Figure{Median: 2, Least: 2, Most: 2, Rounds: 2}
	if got := ours.Over(CallsPerSec, theirs, CallsPerSec); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, none := range []Runs{nil, {at(1, 0)}} {
		if got := ours.Over(CallsPerSec, none, CallsPerSec); got.Rounds != 0 {
			t.Errorf("over %d runs: %+v", len(none), got)
		}
	}
}
