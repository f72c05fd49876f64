//go:build unix

package chaos

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/tcp"
)

// Three servers are restarted in turn, ten times, with SIGTERM. No call fails.
func TestRollingRestart(t *testing.T) {
	f := newFleet(t, "a", "b", "c")
	l := f.drive(f.client(nil), 8, 8, 0)
	restarts := 0
	for range 10 {
		for _, name := range []string{"a", "b", "c"} {
			f.servers[name].stop()
			f.start(name).serves()
			restarts++
			time.Sleep(100 * time.Millisecond)
		}
	}
	l.end()
	v := l.check()
	v.sound(t)
	none(t, "idempotent calls", l.errs)
	none(t, "unmarked calls", l.unsafe)
	t.Logf("figure: %d restarts, %d calls: failed %d, lost %d, doubled %d; longest %v",
		restarts, v.calls+l.calls, len(l.errs)+len(l.unsafe), v.lost, v.doubled, l.longest.Round(time.Millisecond))
}

// Servers are killed under load. What was in flight on them may fail unless it is
// idempotent; nothing else may.
func TestKill(t *testing.T) {
	const unmarked, kills = 8, 6
	f := newFleet(t, "a", "b", "c")
	for _, s := range f.servers {
		s.order(Order{Delay: 2 * time.Millisecond})
	}
	l := f.drive(f.client(nil), 8, unmarked, 0)
	for i := range kills {
		time.Sleep(500 * time.Millisecond)
		s := f.servers[[]string{"a", "b", "c"}[i%3]]
		s.kill()
		time.Sleep(200 * time.Millisecond)
		f.start(s.name).serves()
	}
	time.Sleep(time.Second)
	l.end()
	v := l.check()
	v.sound(t)
	none(t, "idempotent calls", l.errs)
	// Each kill can take what is in flight on the server, and no more.
	if n := len(l.unsafe); n > kills*unmarked {
		t.Errorf("%d unmarked calls failed in %d kills with %d callers; the first: %v", n, kills, unmarked, l.unsafe[0])
	}
	t.Logf("figure: %d kills, %d idempotent calls: failed %d; %d unmarked calls: failed %d (in flight at a kill), doubled %d, phantom %d",
		kills, l.calls, len(l.errs), v.calls, len(l.unsafe), v.doubled, v.phantom)
}

// conns is TCP whose connections can be reset.
type conns struct {
	transport.Transport
	mu   sync.Mutex
	open []net.Conn
}

// Dial implements transport.Transport.
func (c *conns) Dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := c.Transport.Dial(ctx, addr)
	if err == nil {
		c.mu.Lock()
		c.open = append(c.open, conn)
		c.mu.Unlock()
	}
	return conn, err
}

// reset resets every connection.
func (c *conns) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0) // has the peer see a reset, not an end
		}
		conn.Close()
	}
	c.open = nil
}

// Every connection is reset, five times. It costs the unmarked calls that were in flight,
// and those alone: no server is left out for it.
func TestReset(t *testing.T) {
	const unmarked, resets = 24, 5
	f := newFleet(t, "a", "b", "c")
	for _, s := range f.servers {
		s.order(Order{Delay: 2 * time.Millisecond})
	}
	network := &conns{Transport: tcp.New(nil)}
	l := f.drive(f.client(func(cfg *cluster.Config) { cfg.Client.Transports = []transport.Transport{network} }), 24, unmarked, 0)
	longest := time.Duration(0)
	for range resets {
		time.Sleep(time.Second)
		l.mark()
		network.reset()
		time.Sleep(time.Second)
		l.mu.Lock()
		longest = max(longest, l.gap)
		l.mu.Unlock()
	}
	l.end()
	v := l.check()
	v.sound(t)
	none(t, "idempotent calls", l.errs)
	// A caller whose call was lost may make the next on a connection that is reset a moment later.
	if n := len(l.unsafe); n > 2*resets*unmarked {
		t.Errorf("%d unmarked calls failed in %d resets with %d callers; the first: %v", n, resets, unmarked, l.unsafe[0])
	}
	if longest > time.Second {
		t.Errorf("for %v no call was answered", longest)
	}
	t.Logf("figure: %d resets of all connections, %d idempotent calls: failed %d; %d unmarked calls: failed %d, doubled %d; the longest time without an answer %v",
		resets, l.calls, len(l.errs), v.calls, len(l.unsafe), v.doubled, longest.Round(time.Millisecond))
}

// One of three servers is frozen: its connections stay open and it answers nothing.
func TestFreeze(t *testing.T) {
	f := newFleet(t, "a", "b", "c")
	c := f.client(nil)
	l := f.drive(c, 16, 0, 0)
	time.Sleep(2 * time.Second)
	l.mark()
	before := l.count()
	f.servers["a"].signal(syscall.SIGSTOP)
	frozen := time.Now()
	ejected := time.Duration(0)
	for ejected == 0 && time.Since(frozen) < 10*time.Second {
		time.Sleep(20 * time.Millisecond)
		for _, k := range c.Explain(t.Context(), "Work.Get", nil).Candidates {
			if k.Instance.Address == f.servers["a"].listen && strings.Contains(k.Why, "last resort") {
				ejected = time.Since(frozen)
			}
		}
	}
	time.Sleep(time.Until(frozen.Add(8 * time.Second)))
	calls, slow := l.count()-before, l.slowCalls()
	l.mark()
	f.servers["a"].signal(syscall.SIGCONT)
	thawed := time.Now()
	back := time.Duration(0)
	for back == 0 && time.Since(thawed) < 40*time.Second {
		time.Sleep(250 * time.Millisecond)
		if shares := l.mark(); shares["a"]*5 > shares["a"]+shares["b"]+shares["c"] {
			back = time.Since(thawed)
		}
	}
	l.end()
	none(t, "idempotent calls", l.errs)
	if ejected == 0 || ejected > 2*time.Second {
		t.Errorf("a frozen server was ejected after %v, want at most 2 s", ejected)
	}
	if slow*200 > calls {
		t.Errorf("%d of %d calls took more than 100 ms, want at most 0.5 %%", slow, calls)
	}
	if back == 0 {
		t.Error("forty seconds after it thawed the server has not a fifth of the calls")
	}
	t.Logf("figure: ejected after %v; %d of %d calls above 100 ms (%.3f %%); failed %d; a fifth of the calls again %v after it thawed",
		ejected.Round(10*time.Millisecond), slow, calls, 100*float64(slow)/float64(calls), len(l.errs), back.Round(100*time.Millisecond))
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

func (l *load) slowCalls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slow
}

// The registry is dead for a minute. No call fails, and a server that has come meanwhile is
// found soon after.
func TestRegistryOutage(t *testing.T) {
	const outage = time.Minute
	f := newFleet(t, "a", "b", "c")
	l := f.drive(f.client(nil), 4, 4, 5*time.Millisecond)
	time.Sleep(time.Second)
	f.etcd.Kill(t)
	time.Sleep(outage - 5*time.Second)
	f.start("new").serves()
	time.Sleep(5 * time.Second)
	l.mark()
	f.etcd.Start(t)
	back := time.Now()
	seen := time.Duration(0)
	for seen == 0 && time.Since(back) < 20*time.Second {
		time.Sleep(20 * time.Millisecond)
		if l.mark()["new"] > 0 {
			seen = time.Since(back)
		}
	}
	f.await(4, 10*time.Second)
	time.Sleep(ttl)
	l.end()
	v := l.check()
	v.sound(t)
	none(t, "idempotent calls", l.errs)
	none(t, "unmarked calls", l.unsafe)
	if seen == 0 || seen > 5*time.Second {
		t.Errorf("a new server got its first call %v after the registry was back, want at most 5 s", seen)
	}
	t.Logf("figure: registry dead for %v, %d calls: failed %d; a server started meanwhile is called %v after the return",
		outage, v.calls+l.calls, len(l.errs)+len(l.unsafe), seen.Round(10*time.Millisecond))
}

// The registry loses all its data, or stands still until every lease is over.
func TestRegistryLosesAll(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(t *testing.T, f *fleet)
	}{
		{"wiped", func(t *testing.T, f *fleet) {
			f.etcd.Wipe(t)
			time.Sleep(time.Second)
			f.etcd.Start(t)
		}},
		{"frozen", func(t *testing.T, f *fleet) {
			f.etcd.Freeze(t)
			time.Sleep(3 * ttl)
			f.etcd.Thaw(t)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, "a", "b", "c")
			l := f.drive(f.client(nil), 4, 4, 2*time.Millisecond)
			time.Sleep(time.Second)
			tt.fault(t, f)
			mended := time.Now()
			f.await(3, 20*time.Second)
			registered := time.Since(mended)
			l.mark()
			time.Sleep(2 * time.Second)
			shares := l.mark()
			l.end()
			v := l.check()
			v.sound(t)
			none(t, "idempotent calls", l.errs)
			none(t, "unmarked calls", l.unsafe)
			if len(shares) != 3 {
				t.Errorf("afterwards calls go to %v", shares)
			}
			if registered > ttl+2*time.Second {
				t.Errorf("the servers were registered again after %v, want within the TTL of %v", registered, ttl)
			}
			t.Logf("figure: registry %s, %d calls: failed %d; registered again after %v",
				tt.name, v.calls+l.calls, len(l.errs)+len(l.unsafe), registered.Round(10*time.Millisecond))
		})
	}
}

// A client that starts while the registry is away finds its servers on the disk.
func TestColdStart(t *testing.T) {
	f := newFleet(t, "a", "b")
	dir := t.TempDir()
	cached := func(cfg *cluster.Config) { cfg.Registry = f.registry(registry.Config{CacheDir: dir}) }
	first := f.client(cached)
	if _, err := weft.Invoke[Answer](t.Context(), first, "Work.Get", &Number{}); err != nil {
		t.Fatal(err)
	}
	polltest.True(t, time.Minute, "the list is on the disk", func() bool {
		lists, err := filepath.Glob(filepath.Join(dir, "*", "instances", "*.json"))
		return err == nil && len(lists) > 0
	})
	f.etcd.Kill(t)
	const enough = 500 * time.Millisecond
	took := time.Hour
	for try := 0; try < 5 && took > enough; try++ { // a busy machine may take long once
		began := time.Now()
		if _, err := weft.Invoke[Answer](t.Context(), f.client(cached), "Work.Get", &Number{}); err != nil {
			t.Errorf("the first call of a client without a registry: %v", err)
		}
		took = min(took, time.Since(began))
	}
	if took > enough {
		t.Errorf("the first call of each of five clients took %v or longer, want %v at most", took, enough)
	}
	_, err := weft.Invoke[Answer](t.Context(), f.client(nil), "Work.Get", &Number{})
	if weft.CodeOf(err) != weft.DeadlineExceeded || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("without registry and cache the call ends with %v", err)
	}
	t.Logf("figure: first call %v after the start, from the cache", took.Round(time.Millisecond))
}

// All servers fail every call. Retries do not make it worse, not even when no breaker
// holds them back.
func TestAllFail(t *testing.T) {
	for _, tt := range []struct {
		name    string
		breaker breaker.Config
	}{
		{"with breakers", breaker.Config{}},
		{"without breakers", breaker.Config{Calls: 1 << 30, Consecutive: 1 << 30}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, "a", "b", "c")
			for _, s := range f.servers {
				s.order(Order{Delay: time.Millisecond, Fail: true})
			}
			began := time.Now()
			l := f.drive(f.client(func(cfg *cluster.Config) { cfg.Breaker = tt.breaker }), 16, 0, time.Millisecond)
			time.Sleep(6 * time.Second)
			l.end()
			took := time.Since(began).Seconds()
			var ran uint64
			for _, s := range f.servers {
				ran += s.order(Order{})
			}
			if ran == 0 || len(l.errs) != l.calls {
				t.Errorf("%d of %d calls failed, in %d attempts", len(l.errs), l.calls, ran)
			}
			if most := 1.15*float64(l.calls) + 3*took; float64(ran) > most {
				t.Errorf("%d calls made %d attempts, want at most %.0f", l.calls, ran, most)
			}
			t.Logf("figure: %s, %d calls, all failed, %d attempts: %.3f a call; longest %v",
				tt.name, l.calls, ran, float64(ran)/float64(l.calls), l.longest.Round(time.Millisecond))
		})
	}
}

// One of three servers is ten times slower than the others. There are few calls, and
// they take long, so that it stays ten times slower on a machine with little to give.
func TestSlowServer(t *testing.T) {
	f := newFleet(t, "a", "b", "c")
	for _, s := range f.servers {
		s.order(Order{Delay: 40 * time.Millisecond})
	}
	f.servers["a"].order(Order{Delay: 400 * time.Millisecond})
	l := f.drive(f.client(nil), 12, 0, 0)
	time.Sleep(2 * time.Second)
	l.mark()
	time.Sleep(8 * time.Second)
	shares := l.mark()
	l.end()
	none(t, "idempotent calls", l.errs)
	all := shares["a"] + shares["b"] + shares["c"]
	if shares["a"]*15 > all {
		t.Errorf("the slow server got %d of %d calls, want at most a fifteenth", shares["a"], all)
	}
	t.Logf("figure: a server ten times slower gets %.4f of a fair share", 3*float64(shares["a"])/float64(all))
}

// Servers come and go, three to eight and back, and no call fails.
func TestScale(t *testing.T) {
	f := newFleet(t, "a", "b", "c")
	l := f.drive(f.client(nil), 8, 8, 0)
	more := []string{"d", "e", "f", "g", "h"}
	for _, name := range more {
		f.start(name).serves()
	}
	f.await(8, 10*time.Second)
	time.Sleep(2 * time.Second)
	l.mark()
	time.Sleep(time.Second)
	if shares := l.mark(); len(shares) != 8 {
		t.Errorf("with eight servers the calls go to %v", shares)
	}
	for _, name := range more {
		f.servers[name].stop()
	}
	l.mark()
	time.Sleep(time.Second)
	if shares := l.mark(); len(shares) != 3 {
		t.Errorf("with three servers again the calls go to %v", shares)
	}
	l.end()
	v := l.check()
	v.sound(t)
	none(t, "idempotent calls", l.errs)
	none(t, "unmarked calls", l.unsafe)
	t.Logf("figure: three servers to eight and back, %d calls: failed %d, doubled %d", v.calls+l.calls, len(l.errs)+len(l.unsafe), v.doubled)
}

// Two clients with consistent hashing agree on every key, and few keys move when a
// server leaves.
func TestConsistentHash(t *testing.T) {
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprint("s", i))
	}
	f := newFleet(t, names...)
	ring := func(cfg *cluster.Config) { cfg.Balancer = balance.Ring() }
	first, second := f.client(ring), f.client(ring)
	const n = 1000
	ask := func(c *cluster.Client, key int) string {
		a, err := weft.Invoke[Answer](cluster.WithKey(t.Context(), fmt.Sprint(key)), c, "Work.Get", &Number{})
		if err != nil {
			t.Fatal(err)
		}
		return a.Server
	}
	at := make(map[int]string)
	for key := range n {
		at[key] = ask(first, key)
		if other := ask(second, key); other != at[key] {
			t.Fatalf("key %d goes to %s and to %s", key, at[key], other)
		}
	}
	f.servers["s3"].stop()
	f.await(9, 10*time.Second)
	time.Sleep(500 * time.Millisecond)
	moved := 0
	for key := range n {
		if now := ask(first, key); now != at[key] {
			moved++
			if at[key] != "s3" {
				t.Errorf("key %d moved from %s to %s, which are both there", key, at[key], now)
			}
		}
	}
	if moved > n*12/100 {
		t.Errorf("%d of %d keys moved, want at most 12 %%", moved, n)
	}
	t.Logf("figure: two clients agree on %d of %d keys; without one of ten servers %.1f %% move", n, n, 100*float64(moved)/n)
}
