package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"
)

// process is a child: this program again, in another role. It ends with its
// parent, whatever ends that, because its standard input does.
type process struct {
	role    string
	address string // of a server
	cmd     *exec.Cmd
	input   io.WriteCloser
	output  *json.Decoder // what it reports; nil when it is shown
	ended   bool
}

// What becomes of a child's standard output.
const (
	shown = true  // it is the program's own
	kept  = false // it is read, as reports in JSON
)

// start starts a child. It is killed when the time of the whole is up.
func (d *demo) start(show bool, role string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{role: role, cmd: exec.CommandContext(d.ctx, self, append([]string{role}, args...)...)}
	p.cmd.WaitDelay = time.Second
	p.cmd.Stderr = os.Stderr
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if show {
		p.cmd.Stdout = os.Stdout
	} else {
		out, err := p.cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		p.output = json.NewDecoder(out)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a %s: %w", role, err)
	}
	d.processes = append(d.processes, p)
	return p, nil
}

// startServer starts a server. It listens at once, unless another one still has
// the port.
func (d *demo) startServer(address string) (*process, error) {
	p, err := d.start(kept, "server", "-address", address)
	if err != nil {
		return nil, err
	}
	return p, p.report(&started{})
}

// startClient starts a client, which connects at once.
func (d *demo) startClient(show bool, args ...string) (*process, error) {
	if d.quick {
		args = append(args, "-quick")
	}
	return d.start(show, "client", args...)
}

// listens waits until a server listens.
func (p *process) listens() error {
	var l listening
	err := p.report(&l)
	p.address = l.Address
	return err
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// report reads the next report of the child.
func (p *process) report(v any) error {
	if err := p.output.Decode(v); err != nil {
		if ended := p.wait(); ended != nil {
			return ended
		}
		return fmt.Errorf("the %s with process id %d gave no report: %w", p.role, p.pid(), err)
	}
	return nil
}

// ask tells a client to come to its end.
func (p *process) ask() error {
	_, err := io.WriteString(p.input, "end\n")
	return err
}

// wait waits for the end of a child, which is an error unless all was well.
func (p *process) wait() error {
	if p.ended {
		return nil
	}
	p.ended = true
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the %s with process id %d: %w", p.role, p.pid(), err)
	}
	return nil
}

// stopAll ends the children that still run; after a good end there are none.
func (d *demo) stopAll() {
	for _, p := range d.processes {
		if !p.ended {
			p.input.Close()
			p.cmd.Process.Kill()
			p.wait()
		}
	}
}

// leash is the child's side: it ends the process when the parent has gone, and
// closes the channel when the parent asks for an end. Ctrl-C is the parent's to
// deal with.
func leash() (asked <-chan struct{}) {
	signal.Ignore(os.Interrupt)
	end := make(chan struct{})
	// It ends with the process.
	go func() {
		in := bufio.NewReader(os.Stdin)
		for once := true; ; once = false {
			text, err := in.ReadString('\n')
			if err != nil {
				os.Exit(1)
			}
			if once && strings.TrimSpace(text) == "end" {
				close(end)
			}
		}
	}()
	return end
}

// tell sends a report to the parent.
func tell(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }
