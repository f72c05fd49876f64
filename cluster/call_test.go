package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/transport"
)

func TestCallsGoToAllServers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		c := f.client(func(cfg *cluster.Config) { cfg.Balancer = balance.RoundRobin() })
		who(t, t.Context(), c)
		synctest.Wait() // until the list and the rules are both known: then the turn begins anew
		got := shares(t, c, 300)
		if got["a"] != 100 || got["b"] != 100 || got["c"] != 100 {
			t.Errorf("the shares are %v, want a hundred each", got)
		}
		f.add("d", weft.Instance{})
		time.Sleep(time.Second)
		if got := shares(t, c, 40); got["d"] != 10 {
			t.Errorf("with a fourth server the shares are %v, want ten each", got)
		}
		must(t, f.servers["a"].srv.Shutdown(t.Context()))
		if got := shares(t, c, 30); got["a"] != 0 {
			t.Errorf("a server that is gone answers: %v", got)
		}
	})
}

// Nothing runs twice, and nothing fails, while servers come and go in peace.
func TestShutdownLosesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		for _, n := range f.servers {
			n.slow(10 * time.Millisecond)
		}
		c := f.client(nil)
		var made atomic.Int64
		load(t, c, 32, 3*time.Second, &made, nil, func() {
			for round := range 3 {
				for _, name := range []string{"a", "b", "c"} {
					must(t, f.servers[name].srv.Shutdown(t.Context()))
					n := f.servers[name]
					fresh := f.add(name, weft.Instance{})
					fresh.slow(10 * time.Millisecond)
					fresh.runs.Add(n.runs.Load())
					time.Sleep(time.Duration(100+round) * time.Millisecond)
				}
			}
		})
		var ran int64
		for _, n := range f.servers {
			ran += n.runs.Load()
		}
		if ran != made.Load() {
			t.Errorf("%d calls ran %d times", made.Load(), ran)
		}
	})
}

// load has callers call without a pause while f runs, at least for a time. Every
// error is one of the test, unless failed takes it.
func load(t *testing.T, c weft.Caller, callers int, atLeast time.Duration, made *atomic.Int64, failed func(error), f func()) {
	t.Helper()
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for !stop.Load() {
				_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{})
				made.Add(1)
				switch {
				case err == nil:
				case failed != nil:
					failed(err)
				default:
					t.Errorf("call: %v", err)
					return
				}
			}
		})
	}
	began := time.Now()
	f()
	if left := atLeast - time.Since(began); left > 0 {
		time.Sleep(left)
	}
	stop.Store(true)
	wg.Wait()
}

func TestFailModes(t *testing.T) {
	type want struct {
		err  bool
		runs int64
	}
	for _, tt := range []struct {
		name       string
		mode       cluster.FailMode
		idempotent bool
		failure    *weft.Error // of every server
		want       want        // runs on all servers
	}{
		{"failfast", cluster.Failfast, true, weft.Errorf(weft.Unavailable, "no"), want{true, 1}},
		{"failover", cluster.Failover, true, weft.Errorf(weft.Unavailable, "no"), want{true, 3}},
		{"failover of what ran", cluster.Failover, false, weft.Errorf(weft.Unavailable, "no"), want{true, 1}},
		{"an answer", cluster.Failover, true, weft.Errorf(weft.NotFound, "no"), want{true, 1}},
		{"busy", cluster.Failover, true, weft.Errorf(weft.ResourceExhausted, "no"), want{true, 1}},
		{"busy for a while", cluster.Failover, true, weft.Errorf(weft.ResourceExhausted, "no").WithRetryAfter(time.Second), want{true, 3}},
		{"never again", cluster.Failover, true, weft.Errorf(weft.Unavailable, "no").WithRetryAfter(-1), want{true, 1}},
		{"failtry", cluster.Failtry, true, weft.Errorf(weft.Unavailable, "no"), want{true, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFleet(t, "a", "b", "c", "d")
				c := f.client(func(cfg *cluster.Config) {
					cfg.FailMode = tt.mode
					cfg.Methods = map[string]route.Method{"Who.*": {Idempotent: &tt.idempotent}}
				})
				for range 50 {
					who(t, t.Context(), c) // pays for retries
				}
				before := make(map[string]int64)
				for name, n := range f.servers {
					n.fail.Store(tt.failure)
					before[name] = n.runs.Load()
				}
				_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{})
				if (err != nil) != tt.want.err {
					t.Errorf("the call ends with %v", err)
				}
				var runs, servers int64
				for name, n := range f.servers {
					if d := n.runs.Load() - before[name]; d > 0 {
						runs += d
						servers++
					}
				}
				if runs != tt.want.runs {
					t.Errorf("the call ran %d times, want %d", runs, tt.want.runs)
				}
				if tt.mode == cluster.Failtry && servers != 1 {
					t.Errorf("failtry asked %d servers", servers)
				}
				if tt.mode == cluster.Failover && servers != runs {
					t.Errorf("failover asked %d servers in %d attempts", servers, runs)
				}
			})
		})
	}
}

func TestLostServer(t *testing.T) {
	for _, tt := range []struct {
		name       string
		idempotent bool
	}{{"unmarked calls", false}, {"idempotent calls", true}} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFleet(t, "a", "b", "c")
				for _, n := range f.servers {
					n.slow(5 * time.Millisecond)
				}
				c := f.client(func(cfg *cluster.Config) {
					cfg.Methods = map[string]route.Method{"Who.Who": {Idempotent: &tt.idempotent}}
				})
				const callers = 30
				var made, lost atomic.Int64
				load(t, c, callers, 2*time.Second, &made, func(err error) {
					lost.Add(1)
					if weft.CodeOf(err) != weft.Unavailable {
						t.Errorf("a call ended with %v", err)
					}
				}, func() {
					time.Sleep(time.Second)
					f.servers["a"].srv.Close()
				})
				switch n := lost.Load(); {
				case tt.idempotent && n > 0:
					t.Errorf("%d idempotent calls were lost with their server", n)
				case !tt.idempotent && n > callers:
					t.Errorf("%d calls of %d callers were lost with one server", n, callers)
				}
			})
		})
	}
}

// A retry never goes to the server that failed, and says that it is one.
func TestAttemptNumber(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		c := f.client(func(cfg *cluster.Config) { cfg.Balancer = balance.RoundRobin() })
		for range 20 {
			who(t, t.Context(), c)
		}
		f.servers["a"].fail.Store(weft.Errorf(weft.Unavailable, "no"))
		retried := 0
		for range 4 {
			r, err := weft.Invoke[Reply](cluster.WithIdempotent(t.Context()), c, "Who.Who", &Args{})
			must(t, err)
			if r.Server != "b" || r.Attempt > 1 {
				t.Errorf("attempt %d was answered by %s", r.Attempt, r.Server)
			}
			retried += r.Attempt
		}
		if retried < 2 {
			t.Errorf("%d of four calls were retried, want half of them at least", retried)
		}
	})
}

// However much fails, servers get little more than they would without retries.
func TestBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		for _, n := range f.servers {
			n.fail.Store(weft.Errorf(weft.Unavailable, "no"))
			n.slow(10 * time.Millisecond)
		}
		yes := true
		c := f.client(func(cfg *cluster.Config) {
			cfg.Methods = map[string]route.Method{"Who.Who": {Idempotent: &yes}}
			cfg.Breaker.Ratio, cfg.Breaker.Consecutive = 1, 1<<30 // this is not about breakers
			cfg.Breaker.Calls = 1 << 30
		})
		var made atomic.Int64
		const d = 20 * time.Second
		load(t, c, 16, d, &made, func(error) {}, func() {})
		var runs int64
		for _, n := range f.servers {
			runs += n.runs.Load()
		}
		if most := float64(made.Load())*1.15 + 3*d.Seconds(); float64(runs) > most {
			t.Errorf("%d calls made %d attempts, want at most %.0f", made.Load(), runs, most)
		}
		if runs == made.Load() {
			t.Error("nothing was retried")
		}
	})
}

// A handler whose own caller retries does not retry.
func TestNestedCallsDoNotMultiply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		inner := f.client(nil)
		for range 50 {
			who(t, t.Context(), inner)
		}
		front := weft.NewServer(&weft.ServerConfig{Logger: silent(), Transports: []transport.Transport{f.net}})
		must(t, weft.Handle(front, "Front.Ask", func(ctx context.Context, a *Args) (*Reply, error) {
			return weft.Invoke[Reply](cluster.WithIdempotent(ctx), inner, "Who.Who", a)
		}))
		l, err := front.Listen(t.Context(), "mem://front")
		must(t, err)
		go front.Serve(l) // this goroutine ends with the server
		defer front.Close()
		c, err := weft.Dial(t.Context(), "mem://front", &weft.ClientConfig{Logger: silent(), Transports: []transport.Transport{f.net}})
		must(t, err)
		defer c.Close()
		for _, n := range f.servers {
			n.fail.Store(weft.Errorf(weft.Unavailable, "no"))
			n.runs.Store(0)
		}
		for tried, want := range []int64{3, 1} {
			_, err := weft.Invoke[Reply](t.Context(), c, "Front.Ask", &Args{}, weft.WithAttempt(tried))
			if err == nil {
				t.Error("the call went well")
			}
			var runs int64
			for _, n := range f.servers {
				runs += n.runs.Swap(0)
			}
			if runs != want {
				t.Errorf("a call that was tried %d times before made %d attempts, want %d", tried, runs, want)
			}
		}
	})
}

func TestHedge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		for _, n := range f.servers {
			n.slow(10 * time.Millisecond)
		}
		c := f.client(func(cfg *cluster.Config) {
			cfg.FailMode, cfg.Balancer = cluster.Failbackup, balance.RoundRobin()
		})
		ctx := cluster.WithIdempotent(t.Context())
		for range 200 {
			who(t, ctx, c)
		}
		time.Sleep(2 * time.Second)
		f.servers["a"].slow(3 * time.Second)
		var worst time.Duration
		for range 9 {
			began := time.Now()
			var back weft.Metadata
			name := who(t, ctx, c, weft.WithReplyMetadata(&back))
			if name == "a" {
				t.Error("the slow server was waited for")
			}
			if got := back.Get("server"); got != name {
				t.Errorf("%s answered and the metadata of %q came back", name, got)
			}
			worst = max(worst, time.Since(began))
		}
		if worst > 100*time.Millisecond {
			t.Errorf("the slowest hedged call took %v, want about twice 10 ms", worst)
		}
		time.Sleep(100 * time.Millisecond)
		if n := f.servers["a"].open.Load(); n != 0 {
			t.Errorf("%d attempts that lost still run", n)
		}
		// What is not idempotent is not hedged.
		slowest := time.Duration(0)
		for range 3 {
			began := time.Now()
			who(t, t.Context(), c)
			slowest = max(slowest, time.Since(began))
		}
		if slowest < time.Second {
			t.Error("a call that is not idempotent was hedged")
		}
	})
}

// A hedge is one of the attempts that a method has.
func TestHedgeCounts(t *testing.T) {
	for most, want := range map[int]int64{1: 1, 2: 2, 3: 3} {
		bubble(t, func(t *testing.T) {
			f := newFleet(t, "a", "b", "c", "d")
			for _, n := range f.servers {
				n.slow(10 * time.Millisecond)
			}
			c := f.client(func(cfg *cluster.Config) {
				cfg.Methods = map[string]route.Method{"Who.*": {Attempts: most, FailMode: cluster.Failbackup}}
			})
			ctx := cluster.WithIdempotent(t.Context())
			for range 200 {
				who(t, ctx, c)
			}
			time.Sleep(2 * time.Second)
			var before, after int64
			for _, n := range f.servers {
				n.slow(time.Second)
				n.fail.Store(&weft.Error{Code: weft.Unavailable, Message: "no"})
				before += n.runs.Load()
			}
			err := c.Call(ctx, "Who.Who", &Args{}, &Reply{})
			if weft.CodeOf(err) != weft.Unavailable {
				t.Errorf("the call ended with %v", err)
			}
			for _, n := range f.servers {
				after += n.runs.Load()
			}
			if after-before != want {
				t.Errorf("%d attempts were made, want %d", after-before, want)
			}
		})
	}
}

// With consistent hashing all clients agree, whatever order they learnt servers in.
func TestClientsAgree(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
		ring := func(cfg *cluster.Config) { cfg.Balancer = balance.Ring() }
		first, second := f.client(ring), f.client(ring)
		const n = 500
		at := make(map[string]string)
		for i := range n {
			key := fmt.Sprint("key", i)
			ctx := cluster.WithKey(t.Context(), key)
			at[key] = who(t, ctx, first)
			if other := who(t, ctx, second); other != at[key] {
				t.Fatalf("%s goes to %s with one client and to %s with the other", key, at[key], other)
			}
		}
		must(t, f.servers["d"].srv.Shutdown(t.Context()))
		time.Sleep(time.Second)
		moved := 0
		for key, was := range at {
			if is := who(t, cluster.WithKey(t.Context(), key), first); is != was {
				moved++
			}
		}
		if moved > n*12/100 || moved == 0 {
			t.Errorf("without one of ten servers %d of %d keys moved, want at most 12 %%", moved, n)
		}
	})
}

func TestOneway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		c := f.client(nil)
		for range 10 {
			must(t, c.Notify(t.Context(), "Who.Who", &Args{}))
		}
		time.Sleep(time.Second)
		if n := f.servers["a"].runs.Load() + f.servers["b"].runs.Load(); n != 10 {
			t.Errorf("ten one-way calls ran %d times", n)
		}
	})
}

// What a handler passes on of a call of its own is not what became of this one.
func TestPassedOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		f.servers["a"].fail.Store(weft.Errorf(weft.Unavailable, "passed on").WithReason("BREAKER_OPEN"))
		c := f.client(nil)
		_, err := weft.Invoke[Reply](t.Context(), c, "Who.Who", &Args{})
		wantError(t, err, weft.Unavailable, weft.Executed, "passed on")
	})
}

// When an attempt may have run, the call may have, whatever became of the next attempt.
func TestWhatTheWholeCallDid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		f.servers["a"].slow(time.Second)
		c := f.client(nil)
		go func() {
			time.Sleep(500 * time.Millisecond)
			f.servers["a"].srv.Close()
		}()
		_, err := weft.Invoke[Reply](cluster.WithIdempotent(t.Context()), c, "Who.Who", &Args{}, weft.WithTimeout(5*time.Second))
		wantError(t, err, weft.Unavailable, weft.OutcomeUnknown)
	})
}

// A stream whose context ends gives its place back.
func TestStreamLeavesWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a")
		c := f.client(func(cfg *cluster.Config) {
			cfg.Methods = map[string]route.Method{"Who.Chat": {MaxInFlight: 2}}
		})
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := weft.OpenStream[Args, Reply](ctx, c, "Who.Chat")
			must(t, err)
			cancel()
			synctest.Wait()
		}
	})
}

// A stream that says nothing for long costs its server neither its connection nor its
// breaker, and lasts though the server leaves the list.
func TestQuietStreams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		c := f.client(nil)
		var streams []*weft.Stream[Reply, Args]
		for range 40 {
			s, err := weft.OpenStream[Args, Reply](t.Context(), c, "Who.Chat")
			must(t, err)
			streams = append(streams, s)
		}
		time.Sleep(20 * time.Minute)
		for _, k := range c.Explain(t.Context(), "Who.Chat", nil).Candidates {
			if strings.Contains(k.Why, "breaker") {
				t.Errorf("streams that wait have opened a breaker: %s", k.Why)
			}
		}
		must(t, f.servers["a"].reg.Close()) // the server goes on
		time.Sleep(20 * time.Minute)
		for _, s := range streams {
			must(t, s.Send(&Args{}))
			_, err := s.Recv()
			must(t, err)
			must(t, s.Close())
		}
	})
}

// The default timeout is for calls whose context has no deadline.
func TestLongerThanTheDefault(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		c := f.client(nil)
		f.add("a", weft.Instance{}).slow(25 * time.Second)
		f.servers["a"].fail.Store(weft.Errorf(weft.Unavailable, "not yet"))
		go func() {
			time.Sleep(26 * time.Second)
			f.servers["a"].fail.Store(nil)
		}()
		ctx, cancel := context.WithTimeout(cluster.WithIdempotent(t.Context()), 2*time.Minute)
		defer cancel()
		who(t, ctx, c)
	})
}

// A balancer of the user's own can go by what servers report of themselves.
func TestReportedLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		f.servers["a"].slow(20 * time.Millisecond)
		f.servers["b"].slow(10 * time.Millisecond)
		c := f.client(func(cfg *cluster.Config) {
			cfg.Balancer = balance.Func(func(set []balance.Node, call balance.Call) int {
				if set[0].Load == nil || set[1].Load == nil {
					return int(call.Random % 2)
				}
				if set[0].Load.Latency < set[1].Load.Latency {
					return 0
				}
				return 1
			})
		})
		var made atomic.Int64
		load(t, c, 4, 35*time.Second, &made, nil, func() {})
		if got := shares(t, c, 10); got["b"] != 10 {
			t.Errorf("after a report of their load the calls go to %v, want all at b, which is faster", got)
		}
	})
}

func TestGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newFleet(t, "a").client(nil)
		var reply Reply
		call := <-c.Go(t.Context(), "Who.Who", &Args{}, &reply, nil).Done
		if call.Error != nil || reply.Server != "a" {
			t.Errorf("the call ended with %v and %v", call.Error, reply)
		}
	})
}

func TestStreams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		c := f.client(func(cfg *cluster.Config) { cfg.Balancer = balance.RoundRobin() })
		who(t, t.Context(), c)
		time.Sleep(time.Second) // until the rules are known, too: then the turn begins anew
		seen := make(map[string]int)
		for range 6 {
			s, err := weft.OpenStream[Args, Reply](t.Context(), c, "Who.Chat")
			must(t, err)
			var name string
			for range 5 {
				must(t, s.Send(&Args{}))
				r, err := s.Recv()
				must(t, err)
				if name != "" && r.Server != name {
					t.Errorf("a stream moved from %s to %s", name, r.Server)
				}
				name = r.Server
			}
			must(t, s.CloseSend())
			if _, err := s.Recv(); err == nil {
				t.Error("the stream does not end")
			}
			seen[name]++
		}
		if seen["a"] != 2 || seen["b"] != 2 || seen["c"] != 2 {
			t.Errorf("six streams went to %v, want two each", seen)
		}
		// A server that cannot be reached costs no stream, once that is known.
		f.servers["b"].srv.Close()
		time.Sleep(time.Millisecond)
		for range 6 {
			s, err := weft.OpenStream[Args, Reply](t.Context(), c, "Who.Chat")
			must(t, err)
			must(t, s.Send(&Args{}))
			if _, err := s.Recv(); err != nil {
				t.Errorf("a stream: %v", err)
			}
			s.Close()
		}
	})
}

func TestFanOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		f.servers["b"].slow(50 * time.Millisecond)
		f.servers["c"].slow(90 * time.Millisecond)
		c := f.client(nil)
		answers, err := cluster.Broadcast[Reply](t.Context(), c, "Who.Who", &Args{})
		must(t, err)
		got := make(map[string]int)
		for _, a := range answers {
			got[a.Reply.Server]++
		}
		if keys(got) != "[a b c]" {
			t.Errorf("a broadcast was answered by %v", got)
		}
		var back weft.Metadata
		quickest, err := cluster.Fork[Reply](t.Context(), c, "Who.Who", &Args{}, weft.WithReplyMetadata(&back))
		must(t, err)
		if back.Get("server") != "a" || quickest.Metadata.Get("server") != "a" {
			t.Errorf("the metadata of a fork is %v and %v", back, quickest.Metadata)
		}
		if quickest.Reply.Server != "a" || quickest.Instance.ID != "mem://a" {
			t.Errorf("the first of a fork is %s at %s", quickest.Reply.Server, quickest.Instance.ID)
		}
		time.Sleep(time.Second)
		f.servers["a"].fail.Store(weft.Errorf(weft.FailedPrecondition, "not I"))
		if a, err := cluster.Fork[Reply](t.Context(), c, "Who.Who", &Args{}); err != nil || a.Reply.Server != "b" {
			t.Errorf("when the first fails a fork gives %v, %v", a, err)
		}
		// A server that died is part of the answer.
		f.servers["c"].srv.Close()
		answers, err = cluster.Broadcast[Reply](t.Context(), c, "Who.Who", &Args{})
		if err == nil || len(answers) < 2 {
			t.Errorf("a broadcast with a failure gives %d answers and %v", len(answers), err)
		}
		answers, err = cluster.Inform[Reply](t.Context(), c, "Who.Who", &Args{})
		must(t, err)
		for _, a := range answers {
			if (a.Err == nil) != (a.Instance.ID == "mem://b") {
				t.Errorf("%s says %v", a.Instance.ID, a.Err)
			}
		}
		if _, err := cluster.Inform[Reply](t.Context(), c, "Nobody.Home", &Args{}, weft.WithTimeout(time.Second)); err == nil {
			t.Error("Inform without a server goes well")
		}
	})
}

func TestDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b", "c")
		for _, n := range f.servers {
			n.slow(time.Minute)
		}
		c := f.client(nil)
		for _, tt := range []struct {
			name string
			ctx  time.Duration
			opts []weft.CallOption
			want time.Duration
		}{
			{"the default", 0, nil, weft.DefaultTimeout},
			{"the call's", 0, []weft.CallOption{weft.WithTimeout(2 * time.Second)}, 2 * time.Second},
			{"the context's", time.Second, nil, time.Second},
		} {
			ctx, cancel := cluster.WithIdempotent(t.Context()), context.CancelFunc(func() {})
			if tt.ctx > 0 {
				ctx, cancel = context.WithTimeout(ctx, tt.ctx)
			}
			began := time.Now()
			_, err := weft.Invoke[Reply](ctx, c, "Who.Who", &Args{}, tt.opts...)
			cancel()
			if weft.CodeOf(err) != weft.DeadlineExceeded {
				t.Errorf("%s: %v", tt.name, err)
			}
			if d := time.Since(began); d < tt.want || d > tt.want+100*time.Millisecond {
				t.Errorf("%s: the call took %v, want %v", tt.name, d, tt.want)
			}
		}
	})
}

// broken is a message that no codec carries.
type broken struct{ Done chan int }

// What a codec can never carry is found before a call is sent: there is one attempt, and no server is to blame.
func TestTypesAreFoundBeforeSending(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		c := f.client(nil)
		ctx := cluster.WithIdempotent(t.Context())
		check := func(err error) {
			t.Helper()
			e, ok := errors.AsType[*weft.Error](err)
			if !ok || e.Code != weft.InvalidArgument || e.Outcome != weft.NotSent || !strings.Contains(e.Message, "Done") {
				t.Errorf("%v, want InvalidArgument, not sent, with the name of the field", err)
			}
		}
		_, err := weft.Invoke[broken](ctx, c, "Who.Who", &Args{})
		check(err)
		check(c.Call(ctx, "Who.Who", &broken{}, &Reply{}))
		check(c.Notify(ctx, "Who.Who", &broken{}))
		check((<-c.Go(ctx, "Who.Who", &Args{}, &broken{}, nil).Done).Error)
		_, err = weft.OpenStream[Args, broken](ctx, c, "Who.Chat")
		check(err)
		_, err = weft.OpenStream[broken, Reply](ctx, c, "Who.Chat")
		check(err)
		for _, n := range f.servers {
			if runs := n.runs.Load(); runs != 0 {
				t.Errorf("%d calls have reached server %s", runs, n.name)
			}
		}
		if m := statsOf(t, c, "Who.Who"); m.Retries != 0 {
			t.Errorf("%d retries", m.Retries)
		}
		shares(t, c, 10) // no server is left out
	})
}
