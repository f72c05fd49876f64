package socket

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestPulse makes operations often, seldom and no more.
func TestPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(Pulse)
		for i := range 100 {
			if p.Frequent() {
				t.Fatalf("operation %d of those that are far apart has a pulse", i)
			}
			time.Sleep(soon + 1)
		}
		often := func() (first int) {
			for i := range 100 {
				if p.Frequent() {
					return i
				}
				time.Sleep(soon / 10)
			}
			t.Fatal("100 operations have no pulse, each soon after the one before")
			return 0
		}
		if n := often(); n < inARow {
			t.Errorf("operation %d has a pulse, want the %d before to be told", n, inARow)
		}
		for range 100 {
			time.Sleep(interval / 2)
			if !p.Frequent() {
				t.Fatal("the pulse has ceased while operations went on")
			}
		}
		time.Sleep(2*interval + 1)
		if p.Frequent() {
			t.Error("the pulse goes on without operations")
		}
		often()
		time.Sleep(3 * interval)
	})
}

// TestPulsed sends bytes both ways while the pulse begins, beats, ceases during a read, and begins again.
func TestPulsed(t *testing.T) {
	under, peer := ends(t, "tcp")
	pulse := new(Pulse)
	c := WithPulse(under, pulse).(*Pulsed)
	echoed := make(chan error, 1)
	go func() {
		_, err := io.Copy(peer, peer)
		_ = peer.Close()
		echoed <- err
	}()
	sent, got := bytes.Repeat([]byte("0123456789"), most/10+1), make([]byte, most+10)
	for size := 1; size <= len(sent); size = size*2 + 1 {
		for range together * inARow {
			if _, err := c.Write(sent[:size]); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, got[:size]); err != nil || !bytes.Equal(got[:size], sent[:size]) {
				t.Fatalf("of %d bytes others came back: %v", size, err)
			}
		}
	}
	late := time.AfterFunc(5*interval, func() { _, _ = peer.Write([]byte("x")) })
	defer late.Stop()
	if n, err := c.Read(got); n != 1 || err != nil {
		t.Fatalf("Read returned %d, %v", n, err)
	}
	if err := under.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(got); n != 0 || err != io.EOF {
		t.Errorf("Read returned %d, %v", n, err)
	}
	if err := <-echoed; err != nil {
		t.Error(err)
	}
}

// timer counts how often it is asked.
type timer struct {
	due   bool
	asked int
}

func (t *timer) Frequent() bool {
	t.asked++
	return t.due
}

func (t *timer) Due() bool { return t.due }

// TestFew: few operations are not noted at all, and those of a connection that has never had many are noted together. A connection with few
// operations reads and writes as usual, also while others have many.
func TestFew(t *testing.T) {
	under, peer := ends(t, "tcp")
	var timer timer
	c := WithPulse(under, &timer).(*Pulsed)
	got := make([]byte, 1)
	exchange := func(times int) {
		t.Helper()
		for range times {
			if _, err := c.Write(got); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(peer, got); err != nil {
				t.Fatal(err)
			}
			if _, err := peer.Write(got); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(got); err != nil {
				t.Fatal(err)
			}
		}
	}
	timer.due = true
	exchange(together - 1)
	if timer.asked != 0 || c.own.Load() != nil {
		t.Errorf("%d exchanges were noted %d times, direct %v", together-1, timer.asked, c.own.Load() != nil)
	}
	timer.due = false
	exchange(10 * together)
	if want := 2 * 10; timer.asked != want || c.own.Load() != nil {
		t.Errorf("%d exchanges were noted %d times, want %d", 10*together, timer.asked, want)
	}
	timer.due = true
	exchange(together)
	if c.own.Load() == nil {
		t.Error("a connection with many operations is not direct while they are frequent")
	}
	timer.due, timer.asked = false, 0
	exchange(10 * together)
	if want := 2 * 10; timer.asked != want {
		t.Errorf("%d exchanges that are rare again were noted %d times, want %d", 10*together, timer.asked, want)
	}
}

// TestWithoutPulse: a connection that is no socket stays what it is.
func TestWithoutPulse(t *testing.T) {
	one, other := net.Pipe()
	defer one.Close()
	defer other.Close()
	if c := WithPulse(one, new(Pulse)); c != one {
		t.Errorf("a pipe has become a %T", c)
	}
}
