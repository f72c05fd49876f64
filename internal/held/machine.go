package held

import (
	"bufio"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// unknown is what a machine is taken to have that does not say.
const unknown = 4 << 30

// Machine is how many bytes of memory this process may use: the least of what the machine has,
// the limit of its control group, and the limit that the Go runtime was given.
func Machine() int64 {
	least := int64(math.MaxInt64)
	for _, f := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		least = min(least, limitIn(f))
	}
	least = min(least, total("/proc/meminfo"), debug.SetMemoryLimit(-1))
	if least == math.MaxInt64 {
		return unknown
	}
	return least
}

// limitIn reads a limit of a control group, the largest number if there is none.
func limitIn(file string) int64 {
	b, err := os.ReadFile(file)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64 // "max"
	}
	return n
}

// total reads what the machine has, the largest number if it does not say.
func total(file string) int64 {
	f, err := os.Open(file)
	if err != nil {
		return math.MaxInt64
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == "MemTotal:" {
			if kib, err := strconv.ParseInt(fields[1], 10, 50); err == nil && kib > 0 {
				return kib << 10
			}
		}
	}
	return math.MaxInt64
}
