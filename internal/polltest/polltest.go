// Package polltest waits in tests for a condition that becomes true after a while.
package polltest

import (
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
