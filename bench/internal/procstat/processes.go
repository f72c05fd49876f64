package procstat

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Process is what a process of the machine has used since it started.
type Process struct {
	Name string
	CPU  time.Duration // user and system time, in steps of 10 ms
}

// Processes are those of the machine, by their ids.
type Processes map[int]Process

// ReadProcesses reads /proc. A process that ends meanwhile is left out.
func ReadProcesses() (Processes, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	all := make(Processes)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		if all[pid], err = parseProcess(string(text)); err != nil {
			return nil, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
	}
	return all, nil
}

// parseProcess reads "pid (name) state …": the name may hold anything, so it ends
// at the last parenthesis. utime and stime are the fields 14 and 15.
func parseProcess(text string) (Process, error) {
	begin, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return Process{}, fmt.Errorf("no name in %.80q", text)
	}
	const user, system = 14 - 3, 15 - 3 // field 3 is the first behind the name
	words := strings.Fields(text[end+1:])
	if len(words) <= system {
		return Process{}, fmt.Errorf("%d fields behind the name, want more than %d", len(words), system)
	}
	p := Process{Name: text[begin+1 : end]}
	if strings.HasPrefix(p.Name, "kworker/") {
		p.Name = "kworker" // a number and what it works on follow
	}
	for _, word := range []string{words[user], words[system]} {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return Process{}, fmt.Errorf("%q is not a number", word)
		}
		p.CPU += time.Duration(n) * tick
	}
	return p, nil
}

// Since is what the processes have used since an earlier reading, those of the
// same name together, the most first.
func (ps Processes) Since(before Processes) []Process {
	used := make(map[string]time.Duration)
	for pid, p := range ps {
		spent := p.CPU
		if old, known := before[pid]; known && old.Name == p.Name && old.CPU <= p.CPU {
			spent -= old.CPU
		}
		if spent > 0 {
			used[p.Name] += spent
		}
	}
	var all []Process
	for name, spent := range used {
		all = append(all, Process{name, spent})
	}
	slices.SortFunc(all, func(a, b Process) int { return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Name, b.Name)) })
	return all
}
