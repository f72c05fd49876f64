package registrytest

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
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

func kill(p *os.Process) error   { return signalGroup(p, syscall.SIGKILL) }
func freeze(p *os.Process) error { return signalGroup(p, syscall.SIGSTOP) }
func thaw(p *os.Process) error   { return signalGroup(p, syscall.SIGCONT) }
