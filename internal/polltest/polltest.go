// Package polltest waits in tests for a condition that becomes true after a while.
package polltest

import (
	"errors"
	"testing"
	"time"
)

// Pause is the time between two tries.
const Pause = 20 * time.Millisecond

// Until calls try, again and again, until it returns nil. It fails t with the last error
// when that takes longer than within, which may be generous: only a failure takes so long.
// what names the condition in the message.
func Until(t testing.TB, within time.Duration, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not so after %v: %s: %v", within, what, err)
		}
		time.Sleep(Pause)
	}
}

// True is Until for a condition without an error.
func True(t testing.TB, within time.Duration, what string, is func() bool) {
	t.Helper()
	Until(t, within, what, func() error {
		if !is() {
			return errors.New("it is false")
		}
		return nil
	})
}
