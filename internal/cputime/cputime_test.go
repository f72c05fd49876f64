package cputime_test

import (
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/cputime"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestUsed works until the time that is used has grown by some milliseconds.
func TestUsed(t *testing.T) {
	before := cputime.Used()
	if before <= 0 {
		t.Fatalf("a process that runs has used %v", before)
	}
	deadline := time.Now().Add(time.Minute)
	for n := 0; cputime.Used()-before < 5*time.Millisecond; n++ {
		if n%1000 == 0 && time.Now().After(deadline) {
			t.Fatalf("after a minute of work the process has used %v more", cputime.Used()-before)
		}
	}
}
