package harness

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/bench/internal/msg"
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
	closed  chan struct{}
}

func newScript() *script {
	return &script{
		took: map[msg.Method]time.Duration{
			msg.Say: time.Millisecond, msg.Slow: 5 * time.Millisecond, msg.Sleep: 10 * time.Millisecond, msg.Large: 50 * time.Millisecond,
		},
		fail: func(int64) error { return nil },
	}
}

func (*script) Name() string                             { return "script" }
func (*script) Supports(msg.Codec, msg.Method) error     { return nil }
func (*script) Serve(context.Context, ServeConfig) error { return errors.New("no server") }
func (s *script) Caller(int) (Caller, error)             { return s, nil }
func (*script) Conns() int                               { return 3 }
func (s *script) Close() error                           { close(s.closed); return nil }
func (s *script) Dial(context.Context, DialConfig) (Client, error) {
	if s.dialErr != nil {
		return nil, s.dialErr
	}
	s.closed = make(chan struct{}) // here, so that it belongs to the bubble
	return s, nil
}

func (s *script) Call(m msg.Method) error {
	select {
	case <-time.After(s.took[m]):
	case <-s.closed:
		return errors.New("closed")
	}
	return s.fail(s.calls.Add(1))
}

// loadIn runs a client child in a bubble and plays its parent.
func loadIn(t *testing.T, peer *script, task Task) (result *Result, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		toChild, childIn := io.Pipe()
		childOut, fromChild := io.Pipe()
		ended := make(chan error, 1)
		go func() { // ends with the child
			ended <- Load(t.Context(), Peers{peer}, toChild, fromChild)
			fromChild.Close()
		}()
		parent := newLines(childOut, childIn)
		if err := parent.send(task); err != nil {
			t.Fatal(err)
		}
		for {
			var e event
			if parent.receive(&e) != nil {
				break
			}
			switch e.Event {
			case eventWarm:
				if err := parent.send(order{orderGo}); err != nil {
					t.Fatal(err)
				}
			case eventResult:
				result = e.Result
			case eventFailed:
				err = errors.New(e.Error)
			}
		}
		childIn.Close()
		if childErr := <-ended; (childErr != nil) != (err != nil) {
			t.Errorf("Load returned %v and told the parent %v", childErr, err)
		}
	})
	return result, err
}

func task(work Workload, callers int) Task {
	return Task{
		Peer: "script", Codec: msg.Raw, Workload: work, Callers: callers,
		Warmup: 400 * time.Millisecond, Measure: time.Second,
	}
}

func TestLoadCountsWhatTheCallersDid(t *testing.T) {
	tests := []struct {
		name         string
		task         Task
		inWindow     int64
		main, side   int64
		p50, sideP50 time.Duration
	}{
		{name: "say", task: task(Say, 10), inWindow: 10_000, main: 10_000, p50: time.Millisecond},
		{name: "sleep", task: task(Sleep, 10), inWindow: 1000, main: 1000, p50: 10 * time.Millisecond},
		{name: "large", task: task(Large, 10), inWindow: 10_000, main: 10_000, side: 20, p50: time.Millisecond, sideP50: 50 * time.Millisecond},
		{
			// A slow call and 99 others take 104 ms; nine times that leaves 64 ms,
			// for one more slow call and 59 others.
			name: "slow", task: task(Slow, 1), inWindow: 950, main: 950, side: 10, p50: time.Millisecond, sideP50: 5 * time.Millisecond,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result, err := loadIn(t, newScript(), test.task)
			if err != nil {
				t.Fatal(err)
			}
			if result.InWindow != test.inWindow || result.Main.Count != test.main || result.Side.Count != test.side {
				t.Errorf("%d in the window, %d main, %d side; want %d, %d, %d",
					result.InWindow, result.Main.Count, result.Side.Count, test.inWindow, test.main, test.side)
			}
			if !near(result.Main.P50, test.p50) || !near(result.Side.P50, test.sideP50) {
				t.Errorf("p50 %v and %v; want %v and %v", result.Main.P50, result.Side.P50, test.p50, test.sideP50)
			}
			if result.Window != time.Second || result.Failures != 0 || result.Conns != 3 {
				t.Errorf("window %v, %d failures, %d connections", result.Window, result.Failures, result.Conns)
			}
			// With calls of 10 ms, one more or less in a part of the warm-up is a change.
			if result.Warmup != 400*time.Millisecond && test.p50 == time.Millisecond {
				t.Errorf("a steady peer was warmed up for %v", result.Warmup)
			}
		})
	}
}

func near(got, want time.Duration) bool { return (got - want).Abs() <= want/1000 }

func TestLoadMakesANumberOfCalls(t *testing.T) {
	for _, work := range []Workload{Say, Large} {
		numbered := task(work, 3)
		numbered.Calls = 100 // 34 + 33 + 33
		result, err := loadIn(t, newScript(), numbered)
		if err != nil {
			t.Fatal(err)
		}
		if result.Main.Count != 100 || result.InWindow != 100 {
			t.Errorf("%s: %d calls, %d in the window, want 100", work, result.Main.Count, result.InWindow)
		}
		if result.Window != 34*time.Millisecond {
			t.Errorf("%s: the window is %v, want 34 ms", work, result.Window)
		}
	}
}

func TestLoadCountsTheCallThatEndsLate(t *testing.T) {
	peer := newScript()
	peer.took[msg.Say] = 300 * time.Millisecond // the fourth ends 200 ms late
	result, err := loadIn(t, peer, task(Say, 2))
	if err != nil {
		t.Fatal(err)
	}
	if result.Main.Count != 8 || result.InWindow != 6 {
		t.Errorf("%d calls, %d in the window; want 8, 6", result.Main.Count, result.InWindow)
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
	result, err := loadIn(t, peer, task(Say, 1))
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
	if result.Main.Count < 970 || result.Main.Count > 985 {
		t.Errorf("%d calls succeeded", result.Main.Count)
	}
}

func TestLoadGivesUp(t *testing.T) {
	dead := newScript()
	dead.fail = func(int64) error { return errors.New("nobody there") }
	refused := newScript()
	refused.dialErr = errors.New("refused")
	stuck := newScript()
	stuck.took[msg.Say] = time.Hour
	unknown := task(Say, 1)
	unknown.Peer = "spindle"
	tests := []struct {
		name string
		peer *script
		task Task
		want string
	}{
		{"no call succeeds", dead, task(Say, 2), "nobody there"},
		{"no connection", refused, task(Say, 2), "refused"},
		{"no reply comes", stuck, task(Say, 2), "did not end within"},
		{"unknown peer", newScript(), unknown, `"script"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := loadIn(t, test.peer, test.task); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestLoadEndsWithItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toChild, childIn := io.Pipe()
		childOut, fromChild := io.Pipe()
		ended := make(chan time.Duration, 1)
		long := task(Say, 2)
		long.Measure = time.Hour
		begin := time.Now()
		go func() { // ends with the child
			if err := Load(t.Context(), Peers{newScript()}, toChild, fromChild); err == nil {
				t.Error("a child without a parent reported success")
			}
			ended <- time.Since(begin)
		}()
		parent := newLines(childOut, childIn)
		var e event
		if err := errors.Join(parent.send(long), parent.receive(&e), parent.send(order{orderGo})); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		childIn.Close()
		childOut.Close()
		if took := <-ended; took > 5*time.Second {
			t.Errorf("the child went on for %v", took)
		}
	})
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
	result, err := loadIn(t, peer, task(Say, 1))
	if err != nil {
		t.Fatal(err)
	}
	if result.Warmup < 600*time.Millisecond || result.Warmup > 1200*time.Millisecond {
		t.Errorf("warmed up for %v, while the rate rose for 600 ms", result.Warmup)
	}
}
