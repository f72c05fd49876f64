package procstat

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Wire is what crossed the network interfaces that a process sees.
type Wire struct {
	Bytes, Packets uint64
}

// Since is the difference between two readings.
func (w Wire) Since(before Wire) Wire {
	return Wire{Bytes: w.Bytes - before.Bytes, Packets: w.Packets - before.Packets}
}

// WireOf reads the counters of the network namespace of a process.
func WireOf(pid int) (Wire, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/net/dev")
	if err != nil {
		return Wire{}, fmt.Errorf("read the network counters: %w", err)
	}
	return parseDev(string(text))
}

// parseDev adds both directions of all interfaces; the loopback interface counts
// each packet as sent and as received, so there one direction is all.
func parseDev(text string) (Wire, error) {
	var sum Wire
	for line := range strings.Lines(text) {
		name, counters, found := strings.Cut(line, ":")
		if !found {
			continue // the two lines of headings
		}
		words := strings.Fields(counters)
		const receivedBytes, receivedPackets, sentBytes, sentPackets = 0, 1, 8, 9
		columns := []int{receivedBytes, receivedPackets, sentBytes, sentPackets}
		if strings.TrimSpace(name) == "lo" {
			columns = columns[:2]
		}
		if len(words) <= sentPackets {
			return Wire{}, fmt.Errorf("net/dev: %q has too few columns", line)
		}
		for i, column := range columns {
			n, err := strconv.ParseUint(words[column], 10, 64)
			if err != nil {
				return Wire{}, fmt.Errorf("net/dev: %q: %w", line, err)
			}
			if i%2 == 0 {
				sum.Bytes += n
			} else {
				sum.Packets += n
			}
		}
	}
	return sum, nil
}
