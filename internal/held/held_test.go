package held

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// New work is refused when there is no room, and the connection that holds most ends when far too
// much is held.
func TestRefuseThenEnd(t *testing.T) {
	m := New(10 << 20)
	var ended []string
	open := func(name string) *Account { return m.Open(func() { ended = append(ended, name) }) }
	small, large := open("small"), open("large")
	small.Add(1<<20 + free)
	if !large.Take(8<<20 + free) {
		t.Fatal("there is no room for 9 of 10 MiB")
	}
	if large.Take(2<<20) || small.Take(2<<20) || !small.Room(1<<20-free) {
		t.Error("the room that is left is not 1 MiB")
	}
	small.Add(1 << 20)
	if len(ended) != 0 {
		t.Errorf("%v has ended, though no more is held than may be", ended)
	}
	small.Add(2 << 20)
	if len(ended) != 1 || ended[0] != "large" {
		t.Fatalf("%v has ended, want the one that holds most", ended)
	}
	if got := m.Held(); got != 4<<20 {
		t.Errorf("%d bytes are counted, want 4 MiB", got)
	}
	large.Add(-8 << 20)
	large.Add(100)
	large.Close()
	small.Add(-4<<20 - free)
	if got := m.Held(); got != 0 || !small.Take(9<<20) {
		t.Errorf("%d bytes are counted, want none", got)
	}
	small.Close()
	if got := m.Held(); got != 0 {
		t.Errorf("after the end %d bytes are counted", got)
	}
}

// What is expected leaves room for what comes.
func TestExpect(t *testing.T) {
	m := New(8 << 20)
	a, b := m.Open(func() {}), m.Open(func() {})
	if !a.Expect(6<<20) || a.Expect(1<<20) || b.Expect(1<<20) || !b.Take(1<<20) {
		t.Error("not three quarters of the memory can be expected, or there is no room besides")
	}
	a.Add(-3 << 20)
	if !b.Expect(1 << 20) {
		t.Error("there is no room for what is expected when others have given theirs back")
	}
}

// A connection without a memory counts nothing.
func TestNoMemory(t *testing.T) {
	var m *Memory
	a := m.Open(nil)
	a.Add(1 << 50)
	if !a.Take(1<<50) || !a.Expect(1<<50) || !a.Room(1<<50) {
		t.Error("there is no room without a bound")
	}
	a.Close()
}

// Whatever is counted at once, and closed meanwhile, comes to nothing in the end.
func TestConcurrent(t *testing.T) {
	m := New(1 << 20)
	var ends atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		var once atomic.Int32
		a := m.Open(func() {
			ends.Add(1)
			if once.Add(1) > 1 {
				t.Error("a connection was ended twice")
			}
		})
		for range 2 {
			wg.Go(func() {
				for range 2000 {
					n := rand.Int64N(100_000)
					a.Add(n)
					a.Add(-n)
				}
			})
		}
		if rand.IntN(2) == 0 {
			wg.Go(a.Close)
		}
	}
	wg.Wait()
	if got := m.Held(); got != 0 {
		t.Errorf("%d bytes are counted after the end", got)
	}
}

// Limits are read as the system writes them.
func TestMachine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limit")
	for text, want := range map[string]int64{"max\n": 1<<63 - 1, "1048576\n": 1 << 20, "0\n": 1<<63 - 1, "": 1<<63 - 1} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := limitIn(file); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
	if err := os.WriteFile(file, []byte("Cached:  9 kB\nMemTotal:  2048 kB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := total(file); got != 2<<20 {
		t.Errorf("a machine of 2 MiB has %d bytes", got)
	}
	if got := Machine(); got < 1<<20 {
		t.Errorf("this machine has %d bytes", got)
	}
}
