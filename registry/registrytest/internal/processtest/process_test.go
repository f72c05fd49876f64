package processtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What the program that the tests start finds in its environment.
const (
	programAddress = "REGISTRYTEST_PROGRAM_ADDRESS"
	programData    = "REGISTRYTEST_PROGRAM_DATA"
	programEnds    = "REGISTRYTEST_PROGRAM_ENDS" // a file: while it is there the program removes it and ends
)

// program is a server that counts its starts in a file, and says the count to
// everyone.
func program(addr string) (code int) {
	path := filepath.Join(os.Getenv(programData), "starts")
	starts, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 1
	}
	starts = append(starts, '1')
	if err := os.WriteFile(path, starts, 0o600); err != nil {
		return 1
	}
	if os.Remove(os.Getenv(programEnds)) == nil {
		return 1
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return 1
	}
	fmt.Println("serving for the", len(starts), "time")
	for {
		c, err := l.Accept()
		if err != nil {
			return 1
		}
		if _, err := fmt.Fprintf(c, "%d\n", len(starts)); err != nil {
			return 1
		}
		c.Close()
	}
}

func TestProcess(t *testing.T) {
	addr := fmt.Sprintf("127.0.0.1:%d", FreePort(t))
	data := t.TempDir()
	ask := func(timeout time.Duration) (string, error) {
		c, err := net.DialTimeout("tcp", addr, timeout)
		if err != nil {
			return "", err
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
			return "", err
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		return strings.TrimSpace(line), err
	}
	s := New(t, Program{
		Name: "counter",
		Path: os.Args[0],
		Env:  []string{programAddress + "=" + addr, programData + "=" + data},
		Data: data,
		Ready: func(context.Context) error {
			_, err := ask(time.Second)
			return err
		},
	})
	starts := func(want string) {
		t.Helper()
		if got, err := ask(time.Minute); got != want || err != nil {
			t.Errorf("the program answers %q, %v, want %q", got, err, want)
		}
	}
	starts("1")
	s.Kill(t)
	if _, err := ask(time.Second); err == nil {
		t.Error("the program answers after Kill")
	}
	s.Kill(t) // again, which does nothing
	s.Start(t)
	starts("2")
	s.Freeze(t)
	if _, err := ask(200 * time.Millisecond); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a frozen program ends the connection: %v", err)
	}
	s.Thaw(t)
	starts("2")
	s.Freeze(t)
	s.Wipe(t) // a frozen program can be killed
	s.Start(t)
	starts("1")
	if out := s.output(); strings.Count(out, "serving") != 3 {
		t.Errorf("the output of three starts is %q", out)
	}
}

// TestTries: a program that ends by itself before it serves is started again, without what it
// has left if it had no data before.
func TestTries(t *testing.T) {
	addr := fmt.Sprintf("127.0.0.1:%d", FreePort(t))
	data, ends := t.TempDir(), filepath.Join(t.TempDir(), "ends")
	end := func() {
		if err := os.WriteFile(ends, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	starts := func(want int) {
		t.Helper()
		if text, err := os.ReadFile(filepath.Join(data, "starts")); err != nil || len(text) != want {
			t.Errorf("its data are of %d starts, error %v, want %d", len(text), err, want)
		}
	}
	end()
	s := New(t, Program{
		Name: "counter",
		Path: os.Args[0],
		Env:  []string{programAddress + "=" + addr, programData + "=" + data, programEnds + "=" + ends},
		Data: data,
		Ready: func(ctx context.Context) error {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			if err == nil {
				c.Close()
			}
			return err
		},
		Tries: 2,
	})
	starts(1)
	s.Kill(t)
	end()
	s.Start(t)
	starts(3) // it had data
	if err := s.Probe(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFind(t *testing.T) {
	path, cache := t.TempDir(), t.TempDir()
	t.Setenv("PATH", path)
	t.Setenv("XDG_CACHE_HOME", cache)
	if err := os.MkdirAll(bin(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(path, "both"), filepath.Join(bin(), "both"), filepath.Join(bin(), "cached")} {
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := Find(t, "both"), filepath.Join(path, "both"); got != want {
		t.Errorf("Find = %q, want the one in $PATH, %q", got, want)
	}
	if got, want := Find(t, "cached"), filepath.Join(cache, "weft", "registries", "bin", "cached"); got != want {
		t.Errorf("Find = %q, want %q", got, want)
	}
}

func TestFreePort(t *testing.T) {
	for range 20 {
		port := FreePort(t)
		if port < lowestPort || port >= lowestPort+ports {
			t.Errorf("port %d is not in the range", port)
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Errorf("port %d is not free: %v", port, err)
			continue
		}
		l.Close()
	}
}
