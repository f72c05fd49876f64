// Package processtest starts the programs that tests need, kills, freezes and restarts them.
package processtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Program is a server program for the tests.
type Program struct {
	Name string   // for messages and the log: "etcd"
	Path string   // of the program; see Find
	Args []string // without the program's name
	Env  []string // beside that of the test
	Data string   // a folder that Wipe empties; "": there is none

	// Ready reports whether the program serves; it is asked until it returns nil, each
	// time for two seconds at most. nil: it serves as soon as it runs.
	Ready func(ctx context.Context) error
	// Within is how long that may take. 0: 2 min.
	Within time.Duration
	// Tries is how often it is started at most if it ends by itself before it serves, as some
	// programs do on a busy machine. 0: once.
	Tries int
}

// Process is a process of this machine. Its methods are called by
// one goroutine at a time.
type Process struct {
	program Program
	log     *os.File // what it has written

	mu     sync.Mutex
	cmd    *exec.Cmd     // nil: it does not run
	exited chan struct{} // closed when cmd has ended
}

// New starts a program and waits until it serves. At the end of the test it
// is killed, and when the test has failed, the end of what it has written is logged.
func New(t *testing.T, p Program) *Process {
	t.Helper()
	if p.Within == 0 {
		p.Within = 2 * time.Minute
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	s := &Process{program: p, log: log}
	t.Cleanup(func() {
		s.Kill(t)
		if t.Failed() {
			t.Logf("%s wrote:\n%s", p.Name, s.output())
		}
		_ = log.Close() // the program wrote to it
	})
	s.Start(t)
	return s
}

// Start starts the program and waits until it serves.
func (s *Process) Start(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		t.Fatalf("registrytest: %s runs already", s.program.Name)
	}
	data, err := s.data()
	if err != nil {
		t.Fatalf("registrytest: %s: %v", s.program.Name, err)
	}
	for try := 1; ; try++ {
		s.runLocked(t)
		err := s.ready()
		if err == nil {
			return
		}
		if try >= s.program.Tries || !errors.Is(err, errEnded) {
			t.Fatalf("registrytest: %s: %v; it wrote:\n%s", s.program.Name, err, s.output())
		}
		t.Logf("registrytest: %s: %v; it is started again", s.program.Name, err)
		<-s.exited
		s.cmd = nil
		if len(data) > 0 {
			continue
		}
		if err := s.wipe(); err != nil { // what a first start has left may be incomplete
			t.Fatalf("registrytest: %s: %v", s.program.Name, err)
		}
	}
}

// errEnded is why a program does not serve that has ended.
var errEnded = errors.New("it has ended by itself")

// runLocked starts the program.
func (s *Process) runLocked(t *testing.T) {
	t.Helper()
	cmd := exec.Command(s.program.Path, s.program.Args...)
	cmd.Env = append(os.Environ(), s.program.Env...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	exited := make(chan struct{})
	started := make(chan error, 1)
	// It ends with the program, which Kill ends and waits for.
	go runToEnd(cmd, started, exited)
	if err := <-started; err != nil {
		t.Fatalf("registrytest: %s: %v", s.program.Name, err)
	}
	s.cmd, s.exited = cmd, exited
}

// ready asks the program until it serves.
func (s *Process) ready() error {
	if s.program.Ready == nil {
		return nil
	}
	deadline := time.Now().Add(s.program.Within)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		err := s.program.Ready(ctx)
		cancel()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it does not serve after %v: %w", s.program.Within, err)
		}
		select {
		case <-s.exited:
			return fmt.Errorf("%w: %v", errEnded, s.cmd.ProcessState)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Probe asks the program once whether it serves. Unlike the other methods it may be called
// at any time.
func (s *Process) Probe(ctx context.Context) error {
	if s.program.Ready == nil {
		return nil
	}
	return s.program.Ready(ctx)
}

// Kill ends the program at once, as a power failure does, and waits until it is gone.
// It does nothing when the program does not run.
func (s *Process) Kill(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	select {
	case <-s.exited:
		t.Errorf("registrytest: %s has ended by itself: %v", s.program.Name, s.cmd.ProcessState)
	default:
		if err := kill(s.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("registrytest: kill %s: %v", s.program.Name, err)
		}
	}
	<-s.exited
	s.cmd = nil
}

// Wipe kills the program and removes its data.
func (s *Process) Wipe(t *testing.T) {
	t.Helper()
	s.Kill(t)
	if err := s.wipe(); err != nil {
		t.Fatalf("registrytest: wipe %s: %v", s.program.Name, err)
	}
}

// wipe removes the data of the program.
func (s *Process) wipe() error {
	entries, err := s.data()
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.program.Data, e.Name())))
	}
	return err
}

// data returns what there is of the data of the program.
func (s *Process) data() ([]fs.DirEntry, error) {
	if s.program.Data == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(s.program.Data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// Freeze stops the program without ending it: connections stay and nothing answers.
func (s *Process) Freeze(t *testing.T) {
	t.Helper()
	s.signal(t, "freeze", freeze)
}

// Thaw lets a frozen program go on.
func (s *Process) Thaw(t *testing.T) {
	t.Helper()
	s.signal(t, "thaw", thaw)
}

func (s *Process) signal(t *testing.T, what string, send func(*os.Process) error) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		t.Fatalf("registrytest: %s %s: it does not run", what, s.program.Name)
	}
	if err := send(s.cmd.Process); err != nil {
		t.Fatalf("registrytest: %s %s: %v", what, s.program.Name, err)
	}
}

// maxOutput is how many bytes of a program's output are logged. More would hide the failures of the test, which are printed before.
const maxOutput = 3 << 10

// output is the end of what the program has written.
func (s *Process) output() string {
	info, err := s.log.Stat()
	if err != nil {
		return err.Error()
	}
	from := max(0, info.Size()-maxOutput)
	text, err := io.ReadAll(io.NewSectionReader(s.log, from, maxOutput))
	if err != nil {
		return err.Error()
	}
	return string(bytes.ToValidUTF8(text, []byte("?")))
}
