package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// process is a child of this program.
type process struct {
	name  string
	cmd   *exec.Cmd
	input io.WriteCloser // a server ends when it is closed
	lines chan string    // the first line that it writes; "" when it ended without one
	ended bool
}

// start starts a process. It is killed when ctx ends.
func start(ctx context.Context, name string, stderr *os.File, program string, args ...string) (*process, error) {
	p := &process{name: name, cmd: exec.CommandContext(ctx, program, args...), lines: make(chan string, 1)}
	p.cmd.Stderr = stderr
	input, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.input = input
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	// It ends with the process.
	go func() {
		in := bufio.NewReader(output)
		line, _ := in.ReadString('\n')
		p.lines <- line
		_, _ = io.Copy(io.Discard, in) // it ends when the process does
	}()
	return p, nil
}

// ready waits until the process has written a line.
func (p *process) ready(ctx context.Context) error {
	select {
	case line := <-p.lines:
		if line == "" {
			return fmt.Errorf("%s ended at once: %w", p.name, p.wait())
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tell sends a line to the process.
func (p *process) tell(format string, args ...any) error {
	_, err := fmt.Fprintf(p.input, format+"\n", args...)
	return err
}

// terminate sends SIGTERM and waits for the process. An exit code other than 0 is an
// error.
func (p *process) terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("terminate %s: %w", p.name, err)
	}
	return p.wait()
}

func (p *process) wait() error {
	p.ended = true
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// kill ends the process at once.
func (p *process) kill() {
	if !p.ended {
		_ = p.cmd.Process.Kill() // it may just have ended
		_ = p.wait()             // the error says that it was killed
	}
}
