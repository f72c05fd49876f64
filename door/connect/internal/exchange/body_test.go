package exchange

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// TestLimit has reads end when they are to, and not when an earlier deadline has passed.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &body{}
		b.init(nil, false)
		begun := time.Now()
		after := func(d time.Duration) time.Time { return begun.Add(d) }
		ends := func(d time.Duration) {
			t.Helper()
			if _, err := b.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != d {
				t.Errorf("a read ended after %v with %v, want %v and a deadline", time.Since(begun), err, d)
			}
		}
		b.limit(after(10 * time.Second))
		b.limit(after(20 * time.Second)) // later
		ends(20 * time.Second)
		ends(20 * time.Second)
		b.limit(after(time.Minute))
		b.limit(time.Time{})
		b.limit(after(30 * time.Second)) // earlier
		ends(30 * time.Second)
		b.limit(after(time.Hour))
		go func() {
			time.Sleep(time.Second)
			b.limit(time.Unix(1, 0)) // at once
		}()
		ends(31 * time.Second)
		b.limit(time.Time{})
		go func() {
			time.Sleep(2 * time.Hour)
			b.limit(after(3 * time.Hour))
		}()
		ends(3 * time.Hour)
	})
}
