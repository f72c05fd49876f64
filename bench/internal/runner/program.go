// Package runner directs peers through a comparison: it starts the programs that
// package contract describes, a server and one or more clients for each run,
// reads what they use, and makes a record of each run.
package runner

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft/bench/contract"
)

// PerCaller as a number of connections means one connection for each caller.
const PerCaller = -1

// Peer is one peer of a program.
type Peer struct {
	Program []string // the program and the arguments before the command
	contract.Description
}

// describeTime is how long a program may take to describe its peers: a JVM that
// starts on a busy machine.
const describeTime = 30 * time.Second

// Describe asks a program which peers it holds.
func Describe(ctx context.Context, program []string, stderr io.Writer) ([]Peer, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	name := strings.Join(program, " ")
	cmd := exec.CommandContext(ctx, program[0], append(program[1:len(program):len(program)], "describe")...)
	cmd.WaitDelay = time.Second
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s describe: %w", name, errors.Join(err, context.Cause(ctx)))
	}
	var peers []Peer
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		p := Peer{Program: program}
		if err := json.Unmarshal(lines.Bytes(), &p.Description); err != nil {
			return nil, fmt.Errorf("%s describe printed %.200q: %w", name, lines.Bytes(), err)
		}
		if p.Peer == "" || len(p.Codecs) == 0 || len(p.Workloads) == 0 {
			return nil, fmt.Errorf("%s describe printed %.200q: peer, codecs and workloads must not be empty", name, lines.Bytes())
		}
		peers = append(peers, p)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s describe: %w", name, err)
	}
	if len(peers) == 0 {
		return nil, fmt.Errorf("%s describe printed no peer", name)
	}
	return peers, nil
}

// Entry is a peer as it takes part: with a codec, and a number of connections or
// 0 for the peer's own choice.
type Entry struct {
	Label string // as it was asked for
	Peer  Peer
	Codec string
	Conns int
}

// Find reads "name", "name:conns" or "name:each".
func Find(peers []Peer, label string) (Entry, error) {
	name, conns, given := strings.Cut(label, ":")
	e := Entry{Label: label}
	found := false
	names := make([]string, len(peers))
	for i, p := range peers {
		if names[i] = p.Peer; p.Peer == name {
			e.Peer, found = p, true
		}
	}
	if !found {
		return Entry{}, fmt.Errorf("unknown peer %q; there are %q", name, names)
	}
	switch {
	case !given:
	case conns == "each":
		e.Conns = PerCaller
	default:
		var err error
		if e.Conns, err = strconv.Atoi(conns); err != nil || e.Conns < 1 {
			return Entry{}, fmt.Errorf("peer %q: the part after the colon is a number of connections or %q", label, "each")
		}
	}
	return e, nil
}
