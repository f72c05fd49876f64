//go:build unix

package adversary

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a server or an attacker.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	said   string // the first line of its output
	exited chan struct{}
	err    error
}

// start starts this program with a task, and waits for its first line.
func start(t *testing.T, job task) *process {
	t.Helper()
	text, err := json.Marshal(job)
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	p := &process{t: t, cmd: exec.Command(self), exited: make(chan struct{})}
	// The race detector would have a process wait for a second before it ends.
	p.cmd.Env = append(os.Environ(), role+"="+string(text), "GORACE=atexit_sleep_ms=0")
	if job.Processors > 0 {
		p.cmd.Env = append(p.cmd.Env, fmt.Sprint("GOMAXPROCS=", job.Processors))
	}
	if job.Limit > 0 {
		p.cmd.Env = append(p.cmd.Env, fmt.Sprintf("GOMEMLIMIT=%dMiB", job.Limit))
	}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	must(t, p.cmd.Start())
	in := bufio.NewReader(out)
	line, err := in.ReadString('\n')
	// It ends with the process, which the end of the test kills.
	go func() {
		io.Copy(io.Discard, in)
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(p.kill)
	if err != nil {
		t.Fatalf("the process for %q says nothing: %v", job.Attack, err)
	}
	p.said = strings.TrimSpace(line)
	return p
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(s))
}

// kill ends the process at once.
func (p *process) kill() {
	if p.cmd.Process.Signal(syscall.SIGCONT) == nil {
		p.cmd.Process.Kill()
	}
	<-p.exited
}

// stop has the process end in peace.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.exited:
		if p.err != nil {
			p.t.Errorf("the process ended with %v", p.err)
		}
	case <-time.After(20 * time.Second):
		p.t.Error("the process did not end in 20 s")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
