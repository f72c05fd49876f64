package procstat

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestField(t *testing.T) {
	const status = "Name:\tweft\nVmPeak:\t  900 kB\nVmHWM:\t    2040 kB\nThreads:\t4\n"
	const io = "rchar: 6976\nwchar: 0\nsyscr: 10\nsyscw: 18446744073709551615\n"
	tests := []struct {
		name, text, field string
		want              uint64
		fails             bool
	}{
		{name: "kilobytes", text: status, field: "VmHWM", want: 2040},
		{name: "plain", text: io, field: "syscr", want: 10},
		{name: "largest", text: io, field: "syscw", want: 1<<64 - 1},
		{name: "not there", text: io, field: "VmHWM", fails: true},
		{name: "part of a name", text: status, field: "Vm", fails: true},
		{name: "not a number", text: status, field: "Name", fails: true},
		{name: "empty", field: "syscr", fails: true},
		{name: "negative", text: "syscr: -1\n", field: "syscr", fails: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := field([]byte(test.text), test.field)
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("field(%q) = %d, %v", test.field, got, err)
			}
		})
	}
}

func TestParseStat(t *testing.T) {
	tests := []struct {
		name, text string
		want       Machine
		fails      bool
	}{
		{
			name: "a real line",
			text: "cpu  8398 2 3283 185988 1081 3 115 5161 70 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n",
			want: Machine{
				Busy:    (8398 + 2 + 3283 + 3 + 115) * tick,
				SoftIRQ: 115 * tick,
				Steal:   5161 * tick,
				Idle:    (185988 + 1081) * tick,
			},
		},
		{name: "too short", text: "cpu 1 2 3\n", fails: true},
		{name: "another line", text: "intr 1 2 3 4 5 6 7 8\n", fails: true},
		{name: "not a number", text: "cpu 1 2 x 4 5 6 7 8\n", fails: true},
		{name: "empty", fails: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseStat(test.text)
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("got %+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("cpu  8398 2 3283 185988 1081 3 115 5161 70 0\n")
	f.Add("0.15 0.04 0.01 4/97 3648\n")
	f.Add("VmHWM:\t 2040 kB\nmodel name\t: a processor\n")
	f.Fuzz(func(t *testing.T, text string) {
		// No input may panic; what they return is held by the tables above.
		_, _ = parseStat(text)
		_, _ = parseLoad(text)
		_, _ = field([]byte(text), "VmHWM")
		_, _ = parseDev(text)
		if parseCPU(text) == "" && len(text) == 0 {
			t.Error("no text must give a name that says so")
		}
	})
}

func TestParseLoadAndCPU(t *testing.T) {
	if got, err := parseLoad("0.15 0.04 0.01 4/97 3648\n"); got != 0.15 || err != nil {
		t.Errorf("load %v, %v", got, err)
	}
	if _, err := parseLoad("high 0.04"); err == nil {
		t.Error("a load that is no number was accepted")
	}
	if got := parseCPU("processor\t: 0\nmodel name\t: EPYC 9 : gen\n"); got != "EPYC 9 : gen" {
		t.Errorf("processor %q", got)
	}
	if got := parseCPU("processor\t: 0\n"); got != "unknown" {
		t.Errorf("processor %q, want unknown", got)
	}
}

func TestOfSeesWork(t *testing.T) {
	before, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	cpu, mallocs := CPUTime(), Mallocs()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	const writes = 50
	var kept [][]byte
	for range writes {
		if _, err := writer.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, make([]byte, 1<<10))
	}
	for start := CPUTime(); CPUTime()-start < 60*time.Millisecond; {
	}
	after, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	used := after.Since(before)
	if used.Writes < writes {
		t.Errorf("saw %d writes, want at least %d", used.Writes, writes)
	}
	if used.CPU < 60*time.Millisecond {
		t.Errorf("saw %v of processor time after 60 ms of it", used.CPU)
	}
	if own := CPUTime() - cpu; own < 60*time.Millisecond {
		t.Errorf("getrusage saw %v of processor time after 60 ms of it", own)
	}
	if n := Mallocs() - mallocs; n < uint64(len(kept)) {
		t.Errorf("saw %d allocations, want at least %d", n, len(kept))
	}
	if used.PeakRSS < 1<<20 {
		t.Errorf("peak memory %d bytes is too small to be true", used.PeakRSS)
	}
	if both := used.Plus(used); both.CPU != 2*used.CPU || both.Writes != 2*used.Writes || both.PeakRSS != 2*used.PeakRSS {
		t.Errorf("twice %+v is %+v", used, both)
	}
}

func TestOfAProcessThatIsNoMore(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if usage, err := Of(cmd.Process.Pid); err == nil {
		t.Errorf("a process that ended has used %+v", usage)
	}
	if wire, err := WireOf(cmd.Process.Pid); err == nil {
		t.Errorf("a process that ended sent %+v", wire)
	}
}
