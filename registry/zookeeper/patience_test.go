package zookeeper

import (
	"net"
	"testing"
	"time"
)

func TestPatience(t *testing.T) {
	var p patience
	wants := func(what string, want time.Duration) {
		t.Helper()
		if got := p.limit(); got != want {
			t.Errorf("%s it is %v, want %v", what, got, want)
		}
	}
	wants("at first", leastPatience)
	p.late()
	wants("after no server was in time", 2*leastPatience)
	for range 5 {
		p.late()
	}
	wants("after that has happened often", mostPatience)
	p.met(5 * time.Second)
	wants("after a slow server", 10*time.Second)
	p.met(time.Hour)
	wants("after a server that was slower than it may be", mostPatience)
	p.met(time.Millisecond)
	wants("after a quick server", leastPatience)
}

// TestSlowServer: a server that takes longer for a session than clients wait at first gets
// one to begin, also for a watch, of which each attempt has a session of its own.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	const takes = leastPatience + 500*time.Millisecond
	address := silent(t, func(conn net.Conn) {
		// It ends with the connection, which silent closes.
		go func() {
			if _, err := readRequest(conn); err != nil {
				return
			}
			time.Sleep(takes)
			welcome(conn)
		}()
	})
	d := connect(t, Config{Servers: []string{address}})
	for n := range 3 {
		s, err := d.borrow()
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.wait(operation(t))
		d.release(s)
		if err == nil {
			return
		}
		t.Logf("attempt %d: %v", n+1, err)
	}
	t.Error("the server is never given the time that it takes")
}
