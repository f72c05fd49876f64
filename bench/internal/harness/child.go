package harness

import (
	"fmt"
	"io"
	"os/exec"
	"time"
)

// Mode is which child a process is.
type Mode string

// The two children of a run.
const (
	ModeServe Mode = "serve"
	ModeLoad  Mode = "load"
)

// stopTime is how long a child may take to end once its input is closed.
const stopTime = 15 * time.Second

// child is one running child process.
type child struct {
	mode    Mode
	cmd     *exec.Cmd
	stdin   io.Closer
	control *lines
	events  chan event // closed when the child's output ends
}

// startChild runs cmd and sends it its task.
func startChild(mode Mode, cmd *exec.Cmd, task Task) (*child, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the %s child: %w", mode, err)
	}
	c := &child{
		mode: mode, cmd: cmd, stdin: stdin,
		control: newLines(stdout, stdin),
		events:  make(chan event, 1),
	}
	go c.read() // ends with the child's output
	if err := c.control.send(task); err != nil {
		c.stop()
		return nil, fmt.Errorf("give the %s child its task: %w", mode, err)
	}
	return c, nil
}

func (c *child) read() {
	defer close(c.events)
	for {
		var e event
		if err := c.control.receive(&e); err != nil {
			if err != io.EOF {
				c.events <- event{Event: eventFailed, Error: err.Error()}
			}
			return
		}
		c.events <- e
	}
}

// expect waits for an event of one kind.
func (c *child) expect(kind string, limit time.Duration) (event, error) {
	select {
	case e, open := <-c.events:
		switch {
		case !open:
			return e, fmt.Errorf("the %s child ended without a word", c.mode)
		case e.Event == eventFailed:
			return e, fmt.Errorf("the %s child: %s", c.mode, e.Error)
		case e.Event != kind:
			return e, fmt.Errorf("the %s child said %q, want %q", c.mode, e.Event, kind)
		}
		return e, nil
	case <-time.After(limit):
		return event{}, fmt.Errorf("the %s child did not say %q within %v", c.mode, kind, limit)
	}
}

// ask sends an order and waits for the event that answers it.
func (c *child) ask(o, kind string, limit time.Duration) (event, error) {
	if err := c.control.send(order{o}); err != nil {
		return event{}, fmt.Errorf("tell the %s child %q: %w", c.mode, o, err)
	}
	return c.expect(kind, limit)
}

// stop ends the child: gently by closing its input, then by force.
func (c *child) stop() {
	c.stdin.Close()
	force := time.AfterFunc(stopTime, func() { c.cmd.Process.Kill() })
	defer force.Stop()
	for range c.events { // Wait may only be called when the output was read
	}
	// How it ended does not matter: what it measured has been reported.
	_ = c.cmd.Wait()
}
