package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/msg"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// script is a peer without a network: a call takes a set time, by the clock of
// the test's bubble, so what is measured is known beforehand.
type script struct {
	took    map[msg.Method]time.Duration
	fail    func(call int64) error // what the n-th call of all returns
	dialErr error
	calls   atomic.Int64

	mu    sync.Mutex
	dials []DialConfig
	open  atomic.Int64 // clients that were not closed
}

func newScript() *script {
	return &script{
		took: map[msg.Method]time.Duration{
			msg.Say: time.Millisecond, msg.Slow: 5 * time.Millisecond, msg.Sleep: 10 * time.Millisecond,
			msg.Medium: 20 * time.Millisecond, msg.Large: 50 * time.Millisecond, msg.Add: 2 * time.Millisecond,
		},
		fail: func(int64) error { return nil },
	}
}

func (*script) Name() string { return "script" }
func (*script) Describe() contract.Description {
	return contract.Description{Language: "Go", Version: "script 1", MaxCallers: 300, MaxCallersWhy: "it says so"}
}
func (*script) Serve(context.Context, ServeConfig) error { return errors.New("no server") }

// Supports what a peer of bytes does, and no sums with them.
func (*script) Supports(codec msg.Codec, method msg.Method) error {
	if codec == msg.VT || codec == msg.Raw && method != msg.Add {
		return nil
	}
	return errors.New("script does not carry " + string(codec))
}

func (s *script) Dial(_ context.Context, cfg DialConfig) (Client, error) {
	if s.dialErr != nil {
		return nil, s.dialErr
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials = append(s.dials, cfg)
	s.open.Add(1)
	c := &scriptClient{peer: s, closed: make(chan struct{})}
	c.close = sync.OnceFunc(func() {
		s.open.Add(-1)
		close(c.closed)
	})
	return c, nil
}

type scriptClient struct {
	peer   *script
	calls  atomic.Int64
	closed chan struct{}
	close  func()
}

func (c *scriptClient) Caller(int) (Caller, error) { return c, nil }
func (*scriptClient) Conns() int                   { return 3 }
func (c *scriptClient) Close() error               { c.close(); return nil }

func (c *scriptClient) Call(m msg.Method) error {
	select {
	case <-time.After(c.peer.took[m]):
	case <-c.closed:
		return errors.New("closed")
	}
	c.calls.Add(1)
	return c.peer.fail(c.peer.calls.Add(1))
}

// child is a program of the contract in this process, and this end of its streams.
type child struct {
	in     *io.PipeWriter
	out    *io.PipeReader
	events *json.Decoder
	ended  chan error
}

func startChild(t *testing.T, peers Peers, args ...string) *child {
	toChild, in := io.Pipe()
	out, fromChild := io.Pipe()
	c := &child{in: in, out: out, events: json.NewDecoder(bufio.NewReader(out)), ended: make(chan error, 1)}
	go func() { // ends with the child
		c.ended <- Run(t.Context(), args, peers, toChild, fromChild, io.Discard)
		toChild.Close()
		fromChild.Close()
	}()
	return c
}

func (c *child) tell(order string) error {
	_, err := io.WriteString(c.in, order+"\n")
	return err
}

// next is the child's next event; io.EOF when it has ended.
func (c *child) next() (e contract.Event, err error) {
	err = c.events.Decode(&e)
	return e, err
}

// loadIn runs a load child in a bubble and plays its parent.
func loadIn(t *testing.T, peer *script, args ...string) (result contract.Event, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := startChild(t, Peers{peer}, args...)
		for {
			e, eof := c.next()
			if eof != nil {
				break
			}
			switch e.Event {
			case contract.Warm:
				if err := c.tell(contract.OrderGo); err != nil {
					t.Fatal(err)
				}
			case contract.Result:
				result = e
				c.in.Close()
			case contract.Failed:
				err = errors.New(e.Error)
			default:
				t.Errorf("an event %q", e.Event)
			}
		}
		c.in.Close()
		if childErr := <-c.ended; (childErr != nil) != (err != nil) {
			t.Errorf("load returned %v and told the parent %v", childErr, err)
		}
	})
	if err == nil {
		if bad := errors.Join(result.Main.Check(), result.Side.Check()); bad != nil {
			t.Error(bad)
		}
		if open := peer.open.Load(); open != 0 {
			t.Errorf("%d clients were left open", open)
		}
	}
	return result, err
}

// loadArgs warm up for 400 ms and measure a second; more may change that.
func loadArgs(work contract.Workload, callers int, more ...string) []string {
	return append([]string{
		"load", "-peer", "script", "-codec", "vtproto", "-addr", "here:1", "-workload", string(work),
		"-callers", strconv.Itoa(callers), "-warmup", "0.4", "-seconds", "1",
	}, more...)
}

func TestLoadCountsWhatTheCallersDid(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name         contract.Workload
		callers      int
		main, side   int64
		p50, sideP50 time.Duration
	}{
		{name: contract.Echo, callers: 10, main: 10_000, p50: ms},
		{name: contract.Delay, callers: 10, main: 1000, p50: 10 * ms},
		{name: contract.Math, callers: 2, main: 1000, p50: 2 * ms},
		{name: contract.MathNew, callers: 2, main: 1000, p50: 2 * ms},
		{name: contract.Mixed, callers: 10, main: 10_000, side: 50, p50: ms, sideP50: 20 * ms},
		{name: contract.Large, callers: 10, main: 10_000, side: 20, p50: ms, sideP50: 50 * ms},
		// A slow call and 99 others take 104 ms; nine times that leaves 64 ms, for
		// one more slow call and 59 others.
		{name: contract.Slow, callers: 1, main: 950, side: 10, p50: ms, sideP50: 5 * ms},
	}
	for _, test := range tests {
		t.Run(string(test.name), func(t *testing.T) {
			result, err := loadIn(t, newScript(), loadArgs(test.name, test.callers)...)
			if err != nil {
				t.Fatal(err)
			}
			if result.Calls != test.main || result.Main.Count != test.main || result.Side.Count != test.side || result.Late != 0 {
				t.Errorf("%d calls, %d main, %d side, %d late; want %d, %d, 0",
					result.Calls, result.Main.Count, result.Side.Count, result.Late, test.main, test.side)
			}
			p50, sideP50 := result.Main.Quantile(0.5), result.Side.Quantile(0.5)
			if !near(p50, test.p50) || !near(sideP50, test.sideP50) {
				t.Errorf("p50 %d and %d; want %v and %v", p50, sideP50, test.p50, test.sideP50)
			}
			if result.Seconds != 1 || result.Failures != 0 || result.Conns == 0 {
				t.Errorf("%v s, %d failures, %d connections", result.Seconds, result.Failures, result.Conns)
			}
			// With calls of 10 ms, one more or less in a part of the warm-up is a change.
			if result.Measured.Warmup != 0.4 && test.p50 == ms {
				t.Errorf("a steady peer was warmed up for %v s", result.Measured.Warmup)
			}
		})
	}
}

func near(got int64, want time.Duration) bool { return (time.Duration(got) - want).Abs() <= want/1000 }

func TestLoadMakesANumberOfCalls(t *testing.T) {
	for _, work := range []contract.Workload{contract.Echo, contract.Large} {
		result, err := loadIn(t, newScript(), loadArgs(work, 3, "-calls", "100")...) // 34 + 33 + 33
		if err != nil {
			t.Fatal(err)
		}
		if result.Calls != 100 || result.Late != 0 {
			t.Errorf("%s: %d calls, %d late, want 100 and none", work, result.Calls, result.Late)
		}
		if result.Seconds != 0.034 {
			t.Errorf("%s: took %v s, want 34 ms", work, result.Seconds)
		}
	}
}

func TestMoreCallersThanCalls(t *testing.T) {
	result, err := loadIn(t, newScript(), loadArgs(contract.Echo, 10, "-calls", "3")...)
	if err != nil {
		t.Fatal(err)
	}
	if result.Calls != 3 || result.Seconds != 0.001 {
		t.Errorf("%d calls in %v s, want 3 in 1 ms", result.Calls, result.Seconds)
	}
}

func TestSideCallsAreNoneOfTheNumber(t *testing.T) {
	result, err := loadIn(t, newScript(), loadArgs(contract.Slow, 1, "-calls", "300")...)
	if err != nil {
		t.Fatal(err)
	}
	if result.Calls != 300 || result.Side.Count != 4 {
		t.Errorf("%d calls and %d at the side, want 300 and 4", result.Calls, result.Side.Count)
	}
}

func TestLoadCountsTheCallThatEndsLate(t *testing.T) {
	peer := newScript()
	peer.took[msg.Say] = 300 * time.Millisecond // the fourth ends 200 ms late
	result, err := loadIn(t, peer, loadArgs(contract.Echo, 2)...)
	if err != nil {
		t.Fatal(err)
	}
	if result.Calls != 8 || result.Late != 2 || result.Seconds != 1 {
		t.Errorf("%d calls, %d late in %v s; want 8, 2, 1", result.Calls, result.Late, result.Seconds)
	}
}

func TestLoadCountsFailures(t *testing.T) {
	peer := newScript()
	peer.fail = func(call int64) error {
		if call%100 == 0 {
			return errors.New("lost a thread")
		}
		return nil
	}
	result, err := loadIn(t, peer, loadArgs(contract.Echo, 1)...)
	if err != nil {
		t.Fatal(err)
	}
	// A failed call takes 1 ms and a pause of 1 ms: 101 ms for each hundred.
	if result.Failures < 12 || result.Failures > 14 { // of the warm-up and of the second
		t.Errorf("%d failures", result.Failures)
	}
	if result.FirstError != "lost a thread" {
		t.Errorf("first error %q", result.FirstError)
	}
	if result.Calls < 970 || result.Calls > 985 {
		t.Errorf("%d calls succeeded", result.Calls)
	}
}

func TestLoadGivesUp(t *testing.T) {
	dead := newScript()
	dead.fail = func(int64) error { return errors.New("no server") }
	refused := newScript()
	refused.dialErr = errors.New("refused")
	stuck := newScript()
	stuck.took[msg.Say] = time.Hour
	tests := []struct {
		name string
		peer *script
		args []string
		want string
	}{
		{"no call succeeds", dead, loadArgs(contract.Echo, 2), "no server"},
		{"no connection", refused, loadArgs(contract.Echo, 2), "refused"},
		{"no connection for a call", refused, loadArgs(contract.MathNew, 2), "refused"},
		{"no reply comes", stuck, loadArgs(contract.Echo, 2), "did not end within"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := loadIn(t, test.peer, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestLoadEndsWithItsParent(t *testing.T) {
	tests := []struct {
		name   string
		orders []string
		want   string // of the error; none is fine as well, of a run that lost its parent
	}{
		{name: "before the measured phase", want: "ended without"},
		{name: "in the measured phase", orders: []string{contract.OrderGo}},
		{name: "told something else", orders: []string{"spin"}, want: `"spin"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := startChild(t, Peers{newScript()}, loadArgs(contract.Echo, 2, "-seconds", "3600")...)
				if e, err := c.next(); err != nil || e.Event != contract.Warm {
					t.Fatalf("%+v, %v", e, err)
				}
				for _, order := range test.orders {
					if err := c.tell(order); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Second)
				left := time.Now()
				c.in.Close()
				c.out.Close()
				if err := <-c.ended; err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("a child without a parent returned %v, want an error with %q", err, test.want)
				}
				if took := time.Since(left); took > 5*time.Second {
					t.Errorf("the child went on for %v", took)
				}
			})
		})
	}
}

func TestWarmupGoesOnWhileTheRateRises(t *testing.T) {
	peer := newScript()
	started := false
	var begin time.Time
	peer.fail = func(int64) error { // slower calls at first, one caller only
		if !started {
			started, begin = true, time.Now()
		}
		if elapsed := time.Since(begin); elapsed < 600*time.Millisecond {
			time.Sleep(10*time.Millisecond - elapsed/60)
		}
		return nil
	}
	result, err := loadIn(t, peer, loadArgs(contract.Echo, 1)...)
	if err != nil {
		t.Fatal(err)
	}
	if warmup := result.Measured.Warmup; warmup < 0.6 || warmup > 1.2 {
		t.Errorf("warmed up for %v s, while the rate rose for 600 ms", warmup)
	}
}
