package processtest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// runToEnd runs a program to its end. The program dies with this process, even if that
// is killed; the system ties it to the thread that has started it, which is therefore
// kept.
func runToEnd(cmd *exec.Cmd, started chan<- error, exited chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// A group of its own, so that what the program starts is killed and frozen too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err := cmd.Start()
	started <- err
	if err == nil {
		_ = cmd.Wait() // it was killed, or its output says why it ended
		close(exited)
	}
}

func signalGroup(p *os.Process, signal syscall.Signal) error {
	err := syscall.Kill(-p.Pid, signal)
	if err == syscall.ESRCH {
		return os.ErrProcessDone
	}
	return err
}

func kill(p *os.Process) error { return signalGroup(p, syscall.SIGKILL) }
func thaw(p *os.Process) error { return signalGroup(p, syscall.SIGCONT) }

// freeze returns when every thread stands still. On a busy machine the signal takes its
// time, and what still runs would answer.
func freeze(p *os.Process) error {
	if err := signalGroup(p, syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if standsStill(p.Pid) {
			return nil
		}
	}
	return fmt.Errorf("process %d goes on in spite of SIGSTOP", p.Pid)
}

func standsStill(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		text, gone := os.ReadFile(thread)
		state := text[bytes.LastIndexByte(text, ')')+1:] // after the name, which may have anything in it
		if gone == nil && !bytes.HasPrefix(state, []byte(" T")) {
			return false
		}
	}
	return err == nil && len(threads) > 0
}

// reserve keeps a port from the FreePort of every process until the closer is closed: a
// port has a name among the abstract sockets, at which one socket can listen.
func reserve(port int) (io.Closer, error) {
	return net.Listen("unix", fmt.Sprintf("@weft-test-port-%d", port))
}
