package redial_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/weftrpc/weft/internal/flights"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/redial"
)

func TestMain(m *testing.M) { leak.Main(m) }

// conn is a connection whose end the test decides about.
type conn struct {
	gone func()
	over chan struct{}
	once sync.Once
	end  redial.End
	dead atomic.Bool
}

func (c *conn) lose(end redial.End) {
	c.once.Do(func() {
		c.end = end
		c.dead.Store(true)
		close(c.over)
	})
}

// client is a client of one link.
type client struct {
	redial.Link[conn]
	cfg                redial.Config
	stop               context.CancelFunc
	closed             atomic.Bool
	work               flights.Flights
	connects, failures atomic.Uint64
	logged             atomic.Int32

	mu     sync.Mutex
	fail   func(attempt int) error // nil: attempts succeed
	tries  []time.Time
	exited bool // the next attempt ends its goroutine
}

var (
	errDown  = errors.New("down")
	errWrong = errors.New("wrong")
	errExit  = errors.New("exited")
	errNo    = errors.New("rejected")
)

func newClient(t *testing.T) *client {
	c := &client{}
	life, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.cfg = redial.Config{
		Life: life, Closed: &c.closed, Work: &c.work, Backoff: 100 * time.Millisecond, Most: 30 * time.Second,
		Lasting: func(err error) bool { return errors.Is(err, errWrong) }, Exited: errExit,
		Log: func(slog.Level, error, int) { c.logged.Add(1) }, Connects: &c.connects, Failures: &c.failures,
	}
	c.Init(&c.cfg, c)
	t.Cleanup(func() {
		c.closed.Store(true)
		stop()
		for _, one := range c.Retire() {
			one.lose(redial.End{})
		}
		<-c.work.Close()
	})
	return c
}

func (c *client) Connect(context.Context) (*conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries = append(c.tries, time.Now())
	if c.exited {
		c.exited = false
		runtime.Goexit() // as a hook may
	}
	if c.fail != nil {
		if err := c.fail(len(c.tries)); err != nil {
			return nil, err
		}
	}
	one := &conn{over: make(chan struct{})}
	return one, nil
}

func (c *client) Usable(one *conn) bool { return !one.dead.Load() }
func (c *client) Close(one *conn)       { one.lose(redial.End{}) }
func (c *client) Ended(one *conn) redial.End {
	return one.end
}
func (c *client) Run(one *conn, gone, ended func()) {
	one.gone = gone
	<-one.over
	gone()
	ended()
}

func (c *client) attempts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.tries)
}

func (c *client) wait(t *testing.T, d time.Duration, fast bool) (*conn, error) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return c.Wait(ctx, fast)
}

// A connection is made when it is needed, and anew when it is lost.
func TestConnectsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		time.Sleep(time.Minute)
		if c.attempts() != 0 || c.Current() != nil {
			t.Error("the link has connected without need")
		}
		one, err := c.wait(t, time.Second, false)
		if err != nil || c.Current() != one || c.Open() != 1 {
			t.Fatalf("Wait: %v, %v", one, err)
		}
		time.Sleep(time.Second)
		one.lose(redial.End{Err: errDown})
		synctest.Wait()
		if two := c.Current(); two == nil || two == one || c.Open() != 1 || c.connects.Load() != 2 {
			t.Errorf("the connection after the lost one is %v, %d are open", two, c.Open())
		}
	})
}

// While the server is not there the pauses grow; a caller that waits makes them short.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		c.fail = func(int) error { return errDown }
		if _, err := c.wait(t, time.Second, true); !errors.Is(err, errDown) {
			t.Fatalf("a fast wait returns %v, want the error of the attempt", err)
		}
		time.Sleep(5 * time.Minute)
		few := c.attempts()
		if few < 12 || few > 30 {
			t.Errorf("%d attempts in five minutes, want about twenty", few)
		}
		if n := int(c.logged.Load()); n < 3 || n > 6 {
			t.Errorf("%d attempts were logged of %d, want fewer the longer it lasts", n, few)
		}
		_, err := c.wait(t, 20*time.Second, false)
		late, ok := errors.AsType[*redial.LateError](err)
		if !ok || !errors.Is(late.Last, errDown) {
			t.Errorf("a wait that ends returns %v", err)
		}
		if n := c.attempts() - few; n < 2 || n > 25 {
			t.Errorf("%d attempts while a caller has waited 20 s, want about one a second", n)
		}
	})
}

// What is not likely to change is told at once, and the next attempt may go well.
func TestLasting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		c.fail = func(n int) error {
			if n < 3 {
				return errWrong
			}
			return nil
		}
		if _, err := c.wait(t, time.Minute, false); !errors.Is(err, errWrong) {
			t.Errorf("Wait returns %v", err)
		}
		time.Sleep(10 * time.Second)
		if c.Current() == nil || c.failures.Load() != 2 {
			t.Errorf("after %d failures there is no connection", c.failures.Load())
		}
	})
}

// A connection that the server has not taken counts as a failure, of which one caller is told.
func TestRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		one := &conn{over: make(chan struct{})}
		_, ended := c.Adopt(one)
		one.lose(redial.End{Err: errNo, Rejected: true, Final: true})
		c.mu.Lock()
		c.fail = func(int) error { return errDown }
		c.mu.Unlock()
		ended()
		if _, err := c.wait(t, time.Second, false); !errors.Is(err, errNo) {
			t.Errorf("the first caller is told %v", err)
		}
		if _, err := c.wait(t, time.Second, false); errors.Is(err, errNo) {
			t.Errorf("the second caller is told %v", err)
		}
	})
}

// A hook that ends the goroutine of an attempt does not end the attempts.
func TestExited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		c.exited = true
		if _, err := c.wait(t, time.Second, true); !errors.Is(err, errExit) {
			t.Errorf("the first wait returns %v", err)
		}
		if _, err := c.wait(t, time.Minute, false); err != nil {
			t.Errorf("the second wait returns %v", err)
		}
	})
}

// A connection that takes no more calls is replaced while its calls end.
func TestDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		one, err := c.wait(t, time.Second, false)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait() // until Run has the connection
		one.gone()
		synctest.Wait()
		if two := c.Current(); two == nil || two == one || c.Open() != 2 {
			t.Errorf("the connection is %v, %d are open", two, c.Open())
		}
		one.lose(redial.End{})
		synctest.Wait()
		if c.Open() != 1 || c.attempts() != 2 {
			t.Errorf("%d connections are open after %d attempts", c.Open(), c.attempts())
		}
		ended := weak.Make(one)
		one = nil
		runtime.GC()
		if ended.Value() != nil {
			t.Error("a connection that has ended is kept")
		}
	})
}

func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		c.fail = func(int) error { return errDown }
		go func() {
			time.Sleep(time.Second)
			c.stop()
		}()
		if _, err := c.wait(t, time.Minute, false); !errors.Is(err, redial.ErrClosed) {
			t.Errorf("Wait returns %v, want ErrClosed", err)
		}
		c.Retire()
		if _, err := c.wait(t, time.Minute, false); !errors.Is(err, redial.ErrClosed) {
			t.Errorf("Wait after Retire returns %v, want ErrClosed", err)
		}
	})
}
