package procstat

import (
	"os"
	"slices"
	"testing"
)

func TestParseProcess(t *testing.T) {
	tests := []struct {
		name, text string
		want       Process
		fails      bool
	}{
		{name: "a usual line", text: "7 (go) S 1 7 7 0 -1 4194560 100 0 0 0 12 30 0 0 20 0 9 0 100 0 0", want: Process{"go", 42 * tick}},
		{name: "a name with parentheses", text: "7 (a) b (c)) R 1 7 7 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 9 0 100 0 0", want: Process{"a) b (c)", 3 * tick}},
		{name: "a worker of the kernel", text: "7 (kworker/0:1-mm_percpu_wq) R 1 7 7 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 9 0 100 0 0", want: Process{"kworker", 3 * tick}},
		{name: "no name", text: "7 go S 1", fails: true},
		{name: "too short", text: "7 (go) S 1 2 3", fails: true},
		{name: "not a number", text: "7 (go) S 1 7 7 0 -1 4194560 100 0 0 0 x 30 0 0", fails: true},
	}
	for _, tt := range tests {
		got, err := parseProcess(tt.text)
		if got != tt.want || (err != nil) != tt.fails {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
}

func TestProcessesSince(t *testing.T) {
	before := Processes{1: {"init", 5 * tick}, 2: {"go", 10 * tick}, 3: {"old", 9 * tick}}
	now := Processes{1: {"init", 5 * tick}, 2: {"go", 12 * tick}, 3: {"new", 1 * tick}, 4: {"go", 4 * tick}, 5: {"cc", 1 * tick}}
	want := []Process{{"go", 6 * tick}, {"cc", 1 * tick}, {"new", 1 * tick}}
	if got := now.Since(before); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestReadProcesses(t *testing.T) {
	all, err := ReadProcesses()
	if err != nil {
		t.Fatal(err)
	}
	if p := all[os.Getpid()]; p.Name == "" {
		t.Errorf("this process is not among %d", len(all))
	}
}
