package httpconn_test

import (
	"errors"
	"math"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/door/internal/httpconn"
)

// counting counts the deadlines of reads that are set.
type counting struct {
	net.Conn
	set int
}

func (c *counting) SetReadDeadline(t time.Time) error {
	c.set++
	return c.Conn.SetReadDeadline(t)
}

func pair(t *testing.T) (c *httpconn.Conn, under *counting, client net.Conn) {
	here, there := net.Pipe()
	t.Cleanup(func() { there.Close(); here.Close() })
	under = &counting{Conn: here}
	return httpconn.New(under, 10*time.Second), under, there
}

// TestEndlessWriteTimeout: a write that may take as long as a time.Duration can be is made.
func TestEndlessWriteTimeout(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	c := httpconn.New(here, math.MaxInt64)
	read := make(chan error, 1)
	go func() { // it ends with the read
		_, err := there.Read(make([]byte, 1))
		read <- err
	}()
	if n, err := c.Write([]byte("x")); n != 1 || err != nil {
		t.Errorf("Write returned %d, %v", n, err)
		there.Close()
	}
	if err := <-read; err != nil {
		t.Error(err)
	}
}

// TestReadDeadline has reads end when they are to, and not when an earlier deadline has passed.
func TestReadDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, client := pair(t)
		b := make([]byte, 8)
		begun := time.Now()
		ends := func(after time.Duration) {
			t.Helper()
			if _, err := c.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != after {
				t.Errorf("a read ended after %v with %v, want %v and a deadline", time.Since(begun), err, after)
			}
		}
		c.SetReadDeadline(begun.Add(10 * time.Second))
		ends(10 * time.Second)
		ends(10 * time.Second)
		c.SetReadDeadline(begun.Add(time.Minute)) // later
		ends(time.Minute)
		c.SetReadDeadline(begun.Add(2 * time.Minute))
		go func() {
			time.Sleep(time.Second)
			c.SetReadDeadline(begun.Add(62 * time.Second)) // earlier, while the read waits
		}()
		ends(62 * time.Second)
		c.SetReadDeadline(begun.Add(2 * time.Minute))
		go func() {
			time.Sleep(time.Second)
			c.SetReadDeadline(begun.Add(3 * time.Minute)) // later, while the read waits
		}()
		ends(3 * time.Minute)
		c.SetReadDeadline(time.Time{})
		go func() {
			time.Sleep(time.Second)
			c.SetReadDeadline(time.Unix(1, 0)) // at once
		}()
		ends(3*time.Minute + time.Second)
		ends(3*time.Minute + time.Second)
		c.SetReadDeadline(begun.Add(4 * time.Minute))
		go func() {
			time.Sleep(time.Second)
			c.SetReadDeadline(time.Time{}) // never
			time.Sleep(time.Hour)
			client.Write([]byte("late"))
		}()
		if n, err := c.Read(b); n != 4 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

// TestDeadlineUnderneath: a deadline that the server sets underneath, as that of a handshake, ends reads.
func TestDeadlineUnderneath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, under, _ := pair(t)
		b := make([]byte, 8)
		ends := func() {
			t.Helper()
			done := make(chan error, 1)
			go func() {
				_, err := c.Read(b)
				done <- err
			}()
			select {
			case err := <-done:
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("a read ended with %v", err)
				}
			case <-time.After(time.Hour):
				t.Error("a read goes on beyond the deadline")
				c.Close()
				<-done
			}
		}
		c.SetReadDeadline(time.Now().Add(time.Second))
		ends() // and leaves nothing behind that hides the next one
		c.SetReadDeadline(time.Time{})
		go func() {
			time.Sleep(time.Second)
			under.SetDeadline(time.Unix(1, 0))
		}()
		ends()
		ends()
	})
}

// TestFewDeadlines: the deadlines of a request, of which each is later than the one before, cost nothing.
func TestFewDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, under, client := pair(t)
		b := make([]byte, 8)
		var writing sync.WaitGroup
		defer writing.Wait()
		writing.Go(func() {
			for range 100 {
				client.Write([]byte("request"))
				time.Sleep(time.Millisecond)
			}
		})
		for range 100 {
			c.SetReadDeadline(time.Now().Add(3 * time.Minute)) // of an idle connection
			if n, err := c.Read(b); n != 7 || err != nil {
				t.Fatalf("%d bytes, %v", n, err)
			}
			c.SetReadDeadline(time.Now().Add(10 * time.Second)) // of a header
			c.SetReadDeadline(time.Time{})
			c.SetReadDeadline(time.Now().Add(30 * time.Second)) // of a body
			c.SetReadDeadline(time.Unix(1, 0))                  // of the read that watches for the client, which has not begun
			c.SetReadDeadline(time.Time{})
		}
		if under.set > 0 {
			t.Errorf("100 requests have set %d deadlines of the connection underneath, want none", under.set)
		}
	})
}

// TestWriteDeadline gives each write its time, whatever the one before has left of its own.
func TestWriteDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, client := pair(t)
		go func() {
			b := make([]byte, 8)
			for range 30 {
				client.Read(b)
			}
		}()
		for range 30 {
			if _, err := c.Write([]byte("answer")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		begun := time.Now()
		_, err := c.Write([]byte("answer"))
		if took := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) || took < 10*time.Second || took > 12500*time.Millisecond {
			t.Errorf("a write that the client does not read took %v: %v", took, err)
		}
	})
}

// TestClosed has a read that waits end, and no other begin.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := pair(t)
		go func() {
			time.Sleep(time.Second)
			c.Close()
		}()
		b := make([]byte, 8)
		for range 2 {
			if _, err := c.Read(b); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a read: %v", err)
			}
		}
		if err := c.SetReadDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a deadline: %v", err)
		}
		if _, err := c.Write(b); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a write: %v", err)
		}
	})
}
