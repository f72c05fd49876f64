package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
)

// The comparison ends by force what does not end by itself, so how programs end
// is looked at here.
const (
	answerTime = 60 * time.Second
	endTime    = 5 * time.Second
)

// checkEnds looks at how a peer's server ends, and how a load fails.
func checkEnds(ctx context.Context, p runner.Peer, stderr io.Writer, tell func(string, error)) {
	tell(p.Peer+" serve ends with its input", within(ctx, p, stderr, contract.Ready, 0,
		"serve", "-peer", p.Peer, "-codec", p.Codecs[0], "-addr", "127.0.0.1:0"))
	tell(p.Peer+" load tells of an unknown codec", within(ctx, p, stderr, contract.Failed, 1,
		"load", "-peer", p.Peer, "-codec", "no-such-codec", "-addr", "127.0.0.1:1", "-workload", string(p.Workloads[0]),
		"-callers", "1", "-conns", "0", "-warmup", "0.1", "-seconds", "1", "-calls", "0", "-rate", "0"))
}

// within runs a command, reads its first event, closes its input, and looks at
// its exit code.
func within(ctx context.Context, p runner.Peer, stderr io.Writer, want string, code int, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Program[0], append(p.Program[1:len(p.Program):len(p.Program)], args...)...)
	cmd.Stderr = stderr
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, readErr := bufio.NewReader(stdout).ReadBytes('\n')
	force := time.AfterFunc(endTime, cancel)
	defer force.Stop()
	stdin.Close()
	waitErr := cmd.Wait()
	var e contract.Event
	switch {
	case readErr != nil:
		return fmt.Errorf("it printed no event %q (%v)", want, cmd.ProcessState)
	case json.Unmarshal(line, &e) != nil:
		return fmt.Errorf("it printed %.200q, which is no event", line)
	case e.Event != want:
		return fmt.Errorf("it printed %.200q, want the event %q", line, want)
	case want == contract.Failed && e.Error == "":
		return errors.New("the event failed has no error in it")
	case ctx.Err() != nil:
		return fmt.Errorf("it had not ended %v after its input did", endTime)
	case cmd.ProcessState.ExitCode() != code:
		return fmt.Errorf("its exit code is %d, want %d (%w)", cmd.ProcessState.ExitCode(), code, waitErr)
	}
	return nil
}
