//go:build !race

package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// TestInit bounds the memory that the packages of the command take before main, for each line of a shell and each completion: what
// is made there takes time as well, which depends on the machine (see BenchmarkStart). They took 2.2 MB in 13,000 allocations. The race
// detector takes more on its own account, so this file is left out with it.
func TestInit(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(own, "version")
	cmd.Env = append(os.Environ(), asProgram+"=1", "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	packages, size, allocations := 0, 0, 0
	for _, match := range regexp.MustCompile(`(?m)^init \S+ @.*, (\d+) bytes, (\d+) allocs$`).FindAllSubmatch(out, -1) {
		n, err := strconv.Atoi(string(match[1]))
		if err != nil {
			t.Fatal(err)
		}
		k, err := strconv.Atoi(string(match[2]))
		if err != nil {
			t.Fatal(err)
		}
		packages, size, allocations = packages+1, size+n, allocations+k
	}
	const mostSize, mostAllocations = 3 << 20, 20_000
	if packages < 50 || size > mostSize || allocations > mostAllocations {
		t.Errorf("%d packages take %d bytes in %d allocations, want at most %d in %d:\n%s", packages, size, allocations, mostSize, mostAllocations, out)
	}
}
