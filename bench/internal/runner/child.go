package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/weftrpc/weft/bench/contract"
)

const (
	// stopTime is how long a child has to end, twice what the contract allows.
	stopTime = 10 * time.Second

	// longestLine is the longest line that a child may print: a result with two
	// histograms of some twenty thousand values.
	longestLine = 4 << 20
)

// child is one running program.
type child struct {
	name   string // for errors, such as "weft serve"
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	events chan contract.Event // closed when the child has ended
	detach func() bool         // from the context that kills it

	// patience is how long it may take to end once its input is closed.
	patience time.Duration
}

// start runs a command of the contract. The child is killed when ctx ends.
func start(ctx context.Context, name string, command []string, stderr io.Writer) (*child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = stderr
	cmd.WaitDelay = stopTime
	// A group of its own, so that what the program starts can be ended with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c := &child{name: name, cmd: cmd, stdin: stdin, stdout: stdout, events: make(chan contract.Event, 1), patience: stopTime}
	go c.read() // ends with the child
	c.detach = context.AfterFunc(ctx, c.kill)
	return c, nil
}

// read passes on events until the child ends. A line that is none is the last.
func (c *child) read() {
	defer close(c.events)
	lines := bufio.NewScanner(c.stdout)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var e contract.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			c.events <- failed("it printed %.200q, which is no event: %v", lines.Text(), err)
			break
		}
		c.events <- e
	}
	if err := lines.Err(); err != nil {
		c.events <- failed("read its output: %v", err)
	}
	// The rest of its output is dropped; without a reader it would block.
	_, _ = io.Copy(io.Discard, c.stdout)
	// How it ended is in the process state, which expect reports.
	_ = c.cmd.Wait()
}

func failed(format string, args ...any) contract.Event {
	return contract.Event{Event: contract.Failed, Error: fmt.Sprintf(format, args...)}
}

// expect waits for an event of one kind.
func (c *child) expect(kind string, limit time.Duration) (contract.Event, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case e, open := <-c.events:
		switch {
		case !open:
			return e, fmt.Errorf("%s ended without the event %q (%v)", c.name, kind, c.cmd.ProcessState)
		case e.Event == contract.Failed:
			return e, fmt.Errorf("%s: %s", c.name, e.Error)
		case e.Event != kind:
			return e, fmt.Errorf("%s sent the event %q, want %q", c.name, e.Event, kind)
		case kind == contract.Ready && e.Addr == "":
			return e, fmt.Errorf("%s sent the event %q without an address", c.name, kind)
		case kind == contract.Result:
			return e, c.check(e.Measured)
		}
		return e, nil
	case <-timer.C:
		return contract.Event{}, fmt.Errorf("%s did not send the event %q within %v", c.name, kind, limit)
	}
}

// check holds a result to the contract.
func (c *child) check(m *contract.Measured) error {
	if m == nil {
		return fmt.Errorf("%s: a result without figures", c.name)
	}
	err := errors.Join(m.Main.Check(), m.Side.Check())
	switch {
	case err != nil:
	case m.Calls != m.Main.Count:
		err = fmt.Errorf("calls is %d, main.count %d", m.Calls, m.Main.Count)
	case m.Late < 0 || m.Late > m.Calls:
		err = fmt.Errorf("late is %d of %d calls", m.Late, m.Calls)
	case m.Failures < 0:
		err = fmt.Errorf("failures is %d", m.Failures)
	case m.Seconds <= 0:
		err = fmt.Errorf("seconds is %v", m.Seconds)
	}
	if err != nil {
		return fmt.Errorf("%s: the result does not hold together: %w", c.name, err)
	}
	return nil
}

// order sends an order.
func (c *child) order(order string) error {
	if _, err := io.WriteString(c.stdin, order+"\n"); err != nil {
		return fmt.Errorf("order %s to %q: %w", c.name, order, err)
	}
	return nil
}

// kill ends the child at once, with what it has started; what others wait for
// fails.
func (c *child) kill() {
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	// A process that left the group may still hold the other end of the output.
	_ = c.stdout.Close()
}

// stop ends the child: gently by closing its input, then by force.
func (c *child) stop() {
	c.stdin.Close()
	force := time.AfterFunc(c.patience, c.kill)
	for range c.events { // until it has ended; what it measured has been reported
	}
	force.Stop()
	c.detach()
}
