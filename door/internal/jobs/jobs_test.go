package jobs

import (
	"log/slog"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// conn is a connection that counts flushes. Its guard is that of a server, got by a door.
type conn struct {
	*weft.DoorConn

	mu      sync.Mutex
	changed *sync.Cond
	running int // goroutines; the monitor may start one at any time
	flushes int
}

func (c *conn) Go(f func()) {
	c.add(1)
	// It ends with f; wait waits for it.
	go func() {
		defer c.add(-1)
		f()
	}()
}

func (c *conn) add(n int) {
	c.mu.Lock()
	c.running += n
	c.mu.Unlock()
	c.changed.Broadcast()
}

func (c *conn) FlushReplies() {
	c.mu.Lock()
	c.flushes++
	c.mu.Unlock()
	c.changed.Broadcast()
}

// call notes what was done with it.
type call struct {
	run            func()
	ran            chan struct{}
	stalled, alone bool
}

func (x *call) Run() {
	defer close(x.ran)
	if x.run != nil {
		x.run()
	}
}
func (x *call) Stalled() { x.stalled = true }
func (x *call) Alone()   { x.alone = true }

// door hands its connection to a test.
type door struct {
	got  chan *weft.DoorConn
	done chan struct{}
}

func (d door) Name() string                         { return "test" }
func (d door) Protocols() []string                  { return nil }
func (d door) Match(prefix []byte) (yes, more bool) { return prefix[0] == 'x', false }
func (d door) Serve(c *weft.DoorConn) error {
	d.got <- c
	<-d.done
	return nil
}

// connected returns a connection of a server.
func connected(t *testing.T) *conn {
	t.Helper()
	d := door{make(chan *weft.DoorConn, 1), make(chan struct{})}
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{d}, Logger: slog.New(slog.DiscardHandler)})
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(l) })
	peer, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := peer.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	c := &conn{DoorConn: <-d.got}
	c.changed = sync.NewCond(&c.mu)
	t.Cleanup(func() {
		close(d.done)
		_ = peer.Close()
		_ = srv.Close()
		served.Wait()
	})
	return c
}

// wait waits until all calls have run, there were some flushes, and no goroutine runs. It returns the
// number of flushes.
func (c *conn) wait(all []*call, flushes int) int {
	for _, x := range all {
		<-x.ran
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.running > 0 || c.flushes < flushes {
		c.changed.Wait()
	}
	return c.flushes
}

func calls(n int) (all []*call) {
	for range n {
		all = append(all, &call{ran: make(chan struct{})})
	}
	return all
}

// Calls of one read run one after the other, and their replies are written once for each job. On a busy
// machine any call may seem to be held up.
func TestTogether(t *testing.T) {
	c := connected(t)
	var j Jobs
	all := calls(Most + 3)
	var mu sync.Mutex
	var ran []int
	for i, x := range all {
		x.run = func() {
			mu.Lock()
			defer mu.Unlock()
			if i < Most {
				ran = append(ran, i)
			}
		}
		j.Add(c, x)
	}
	j.Submit()
	j.Submit() // of nothing
	flushes := c.wait(all, 2)
	if slices.ContainsFunc(all, func(x *call) bool { return x.stalled }) {
		return
	}
	if len(ran) != Most || !slices.IsSorted(ran) || flushes != 2 {
		t.Errorf("the first job ran %v; %d flushes, want 2", ran, flushes)
	}
}

// The calls behind one that is held up get goroutines of their own.
func TestSpread(t *testing.T) {
	c := connected(t)
	var j Jobs
	all := calls(4)
	all[1].run = func() {
		for _, x := range all[2:] {
			<-x.ran
		}
	}
	for _, x := range all {
		j.Add(c, x)
	}
	j.Submit()
	c.wait(all, 2) // one while the call is held up
	if !all[2].alone || !all[3].alone {
		t.Errorf("calls behind one that is held up do not write their own replies: %+v, %+v", all[2], all[3])
	}
}

// A handler that ends its goroutine loses no other call.
func TestExit(t *testing.T) {
	c := connected(t)
	var j Jobs
	all := calls(3)
	all[0].run = runtime.Goexit
	for _, x := range all {
		j.Add(c, x)
	}
	j.Submit()
	c.wait(all, 1)
}

// Another goroutine reads on behind a call that holds up the one that reads, or ends it.
func TestReadOn(t *testing.T) {
	for _, ends := range []bool{false, true} {
		c := connected(t)
		var r Reader
		reads := make(chan struct{})
		r.Init(c, func() { close(reads) })
		all := calls(1)
		all[0].run = func() {
			if ends {
				runtime.Goexit()
			}
			<-reads
		}
		stays := false
		c.Go(func() { stays = r.RunHere(all[0]) })
		<-reads
		if flushes := c.wait(all, 1); stays || !all[0].stalled || flushes != 1 {
			t.Errorf("the goroutine stays: %v; the call is said to be held up: %v; %d flushes, want 1", stays, all[0].stalled, flushes)
		}
	}
}
