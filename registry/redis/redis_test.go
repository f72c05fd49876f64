package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// redisServer starts a server that writes what it has to its disk at once, with more
// arguments, and returns it with its address.
func redisServer(t *testing.T, args ...string) (*registrytest.Process, string) {
	t.Helper()
	return redisServerAt(t, registrytest.FreePort(t), args...)
}

// clusterPort returns a port that is free, as is that 10,000 above, which a node of a
// cluster takes too: below those that the system gives to connections.
func clusterPort(t *testing.T) int {
	t.Helper()
	for {
		if port := registrytest.FreePort(t, 10_000); port+10_000 < 32_768 {
			return port
		}
	}
}

// redisServerAt is redisServer at a port.
func redisServerAt(t *testing.T, port int, args ...string) (*registrytest.Process, string) {
	t.Helper()
	data := t.TempDir()
	address := fmt.Sprintf("127.0.0.1:%d", port)
	return registrytest.NewProcess(t, registrytest.Program{
		Name: "redis-server",
		Path: registrytest.Find(t, "redis-server"),
		Args: append([]string{
			"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", data,
			"--save", "", "--appendonly", "yes", "--appendfsync", "no",
		}, args...),
		Data: data,
		Ready: func(ctx context.Context) error {
			c := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, Protocol: 2, Dialer: dialer(nil)})
			defer c.Close()
			err := c.Ping(ctx).Err()
			if err != nil && strings.HasPrefix(err.Error(), "NOAUTH") {
				return nil
			}
			return err
		},
	}), address
}

// connect makes a driver, which the end of the test closes. It waits longer for an answer
// than a busy machine needs, also for the largest values.
func connect(t *testing.T, cfg Config) *driver {
	t.Helper()
	d, err := newDriverWithin(cfg, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// operation is the context of an operation that must succeed.
func operation(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func instance(service, id string) weft.Instance {
	return weft.Instance{Service: service, ID: id, Address: "tcp://10.0.0.7:8972"}
}

func put(t *testing.T, d *driver, i weft.Instance, ttl time.Duration) {
	t.Helper()
	if err := d.Put(operation(t), i, ttl); err != nil {
		t.Fatalf("Put: %v", err)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server, address := redisServer(t)
	registrytest.Run(t, registrytest.Config{
		New:    func(t *testing.T) registry.Driver { return open(t, Config{Addresses: []string{address}}) },
		Server: server,
		Probe:  server.Probe,
	})
}

// TestCluster runs the kit against a cluster, which refuses scripts whose keys lie on
// different nodes. Named twice, its one node is taken for a cluster.
func TestCluster(t *testing.T) {
	t.Parallel()
	server, address := redisServerAt(t, clusterPort(t), "--cluster-enabled", "yes")
	c := raw(t, address) // which waits for the answer: to assign the slots again would be an error
	ctx := operation(t)
	if err := c.ClusterAddSlotsRange(ctx, 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for {
		info, err := c.ClusterInfo(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(info, "cluster_state:ok") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	registrytest.Run(t, registrytest.Config{
		New:   func(t *testing.T) registry.Driver { return open(t, Config{Addresses: []string{address, address}}) },
		Probe: server.Probe,
	})
}

// open makes a driver that the conformance kit closes.
func open(t *testing.T, cfg Config) *driver {
	t.Helper()
	d, err := newDriver(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestNewChecksItsConfig(t *testing.T) {
	good := []string{"127.0.0.1"}
	for _, test := range []struct {
		name string
		cfg  Config
		want string // "": it is good
	}{
		{"one server", Config{Addresses: good}, ""},
		{"a database", Config{Addresses: good, DB: 3}, ""},
		{"a Sentinel", Config{Addresses: []string{"127.0.0.1:26379"}, Master: "weft"}, ""},
		{"no addresses", Config{}, "no Addresses"},
		{"an empty address", Config{Addresses: []string{""}}, "empty"},
		{"a user without a password", Config{Addresses: good, User: "weft"}, "Password"},
		{"a Sentinel without a port", Config{Addresses: good, Master: "weft"}, "port"},
		{"a brace", Config{Addresses: good, Prefix: "a{b"}, "brace"},
		{"a database below zero", Config{Addresses: good, DB: -1}, "DB"},
		{"a database of a cluster", Config{Addresses: []string{"a", "b"}, DB: 1}, "DB"},
		{"a short TTL", Config{Addresses: good, Registry: registry.Config{TTL: time.Millisecond}}, "TTL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := New(test.cfg)
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Fatalf("New returned %v, want an error about %s", err, test.want)
			case err == nil:
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestServer is about what one server does and loses.
func TestServer(t *testing.T) {
	t.Parallel()
	_, address := redisServer(t)
	for _, test := range []struct {
		name string
		run  func(t *testing.T, address string)
	}{
		{"changes are announced", testAnnounced},
		{"announcements are received again after the connection was lost", testAnnouncedAgain},
		{"a change that was not announced is seen", testUnannounced},
		{"subscriptions end with their watches", testSubscriptions},
		{"expiry is seen by a watch", testExpirySeen},
		{"expiry is told by the clock of the server", testClock},
		{"an unchanged list is not sent again", testUnchanged},
		{"a Put of the same is no change", testSamePut},
		{"scripts that the server has forgotten are sent again", testScriptFlush},
		{"what is not used does not stay for ever", testGarbage},
		{"the revision outlives the last instance", testRevision},
		{"databases and prefixes do not mix", testApart},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, address) })
	}
}

// raw is a plain client of the server, with a password if it needs one.
func raw(t *testing.T, address string, password ...string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: address, Protocol: 2, Password: strings.Join(password, ""),
		ReadTimeout: time.Minute, WriteTimeout: time.Minute, // some values have 64 MiB
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// subscribers waits until so many listen to a channel.
func subscribers(t *testing.T, c *redis.Client, channel string, want int64) {
	t.Helper()
	var got map[string]int64
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var err error
		if got, err = c.PubSubNumSub(operation(t), channel).Result(); err != nil {
			t.Fatal(err)
		}
		if got[channel] == want {
			return
		}
	}
	t.Fatalf("%s has %d subscribers, want %d", channel, got[channel], want)
}

// listeners returns the IDs of the connections that listen to a channel.
func listeners(t *testing.T, c *redis.Client) (ids []string) {
	t.Helper()
	text, err := c.Do(operation(t), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		id, _, _ := strings.Cut(line, " ") // "id=7 addr=..."
		ids = append(ids, id)
	}
	return ids
}

// unpolled makes a driver that reads again only what is announced.
func unpolled(t *testing.T, address string) *driver {
	t.Helper()
	d := connect(t, Config{Addresses: []string{address}})
	d.poll = time.Hour
	return d
}

// announced fails the test unless a watch of an unpolled driver sees changes.
func announced(t *testing.T, d *driver, w *registrytest.Watch, service string) {
	t.Helper()
	for n := range 6 {
		put(t, d, instance(service, strconv.Itoa(n)), time.Minute)
		w.Count(t, n+1)
	}
}

func testAnnounced(t *testing.T, address string) {
	d := unpolled(t, address)
	w := registrytest.NewWatch(t, d, "Announced")
	w.Count(t, 0)
	subscribers(t, raw(t, address), d.service("Announced").channel, 1)
	announced(t, connect(t, Config{Addresses: []string{address}}), w, "Announced")
}

func testAnnouncedAgain(t *testing.T, address string) {
	c := raw(t, address)
	d := unpolled(t, address)
	w := registrytest.NewWatch(t, d, "Again")
	w.Count(t, 0)
	channel := d.service("Again").channel
	subscribers(t, c, channel, 1)
	before := listeners(t, c)
	if err := c.ClientKillByFilter(operation(t), "TYPE", "pubsub").Err(); err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, time.Minute, "the driver listens again, on another connection", func() error {
		now := listeners(t, c)
		if len(now) == 0 || slices.ContainsFunc(now, func(id string) bool { return slices.Contains(before, id) }) {
			return fmt.Errorf("connections %q listen, before that %q did", now, before)
		}
		return nil
	})
	subscribers(t, c, channel, 1)
	announced(t, connect(t, Config{Addresses: []string{address}}), w, "Again")
}

// testUnannounced publishes on a channel without listeners, which is as if the
// network had lost it.
func testUnannounced(t *testing.T, address string) {
	d := connect(t, Config{Addresses: []string{address}})
	put(t, d, instance("Unannounced", "a"), time.Minute)
	w := registrytest.NewWatch(t, connect(t, Config{Addresses: []string{address}}), "Unannounced")
	w.Count(t, 1)
	subscribers(t, raw(t, address), d.service("Unannounced").channel, 1)
	i := instance("Unannounced", "b")
	value, err := registry.Encode(i)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.scripts.put.Run(operation(t), d.client, d.service("Unannounced").keys, "nowhere", "b", value, 60_000).Err(); err != nil {
		t.Fatal(err)
	}
	w.Count(t, 2)
}

// testClock: what is kept is a time of the server, to which nothing of the client's
// clock has come.
func testClock(t *testing.T, address string) {
	c := raw(t, address)
	d := connect(t, Config{Addresses: []string{address}})
	before, err := c.Time(operation(t)).Result()
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, instance("Clock", "a"), time.Minute)
	after, err := c.Time(operation(t)).Result()
	if err != nil {
		t.Fatal(err)
	}
	score, err := c.ZScore(operation(t), d.service("Clock").keys[1], "a").Result()
	if err != nil {
		t.Fatal(err)
	}
	if at := time.UnixMilli(int64(score)); at.Before(before.Add(time.Minute-time.Millisecond)) || at.After(after.Add(time.Minute)) {
		t.Errorf("the instance expires at %v, want a minute after %v", at, before)
	}
	// It has expired when the server says so, whatever time it is here.
	if err := c.ZAdd(operation(t), d.service("Clock").keys[1], redis.Z{Score: float64(after.UnixMilli()), Member: "a"}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := d.Refresh(operation(t), instance("Clock", "a"), time.Minute); !errors.Is(err, registry.ErrLost) {
		t.Errorf("Refresh of what has expired on the server returned %v, want ErrLost", err)
	}
}

func testSubscriptions(t *testing.T, address string) {
	d := connect(t, Config{Addresses: []string{address}})
	channel := d.service("Subscriptions").channel
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		one, two := make(chan error, 1), make(chan error, 1)
		// Both end with their context.
		go func() { one <- d.Watch(ctx, "Subscriptions", func(registry.List) {}) }()
		go func() { two <- d.Watch(ctx, "Subscriptions", func(registry.List) {}) }()
		subscribers(t, raw(t, address), channel, 1)
		cancel()
		for _, ended := range []chan error{one, two} {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Watch returned %v, want the error of its context", err)
			}
		}
		subscribers(t, raw(t, address), channel, 0)
	}
}

func testExpirySeen(t *testing.T, address string) {
	d := connect(t, Config{Addresses: []string{address}})
	w := registrytest.NewWatch(t, d, "Expiry")
	put(t, d, instance("Expiry", "a"), time.Minute)
	put(t, d, instance("Expiry", "b"), time.Minute)
	before := w.Count(t, 2)
	began := time.Now()
	if err := d.Refresh(operation(t), instance("Expiry", "a"), time.Second); err != nil {
		t.Fatal(err)
	}
	after := w.Count(t, 1)
	if took := time.Since(began); took < time.Second {
		t.Errorf("an instance that was refreshed for a second was gone after %v", took)
	}
	if after.Revision <= before.Revision {
		t.Errorf("the revision after expiry is %d, and was %d", after.Revision, before.Revision)
	}
}

func testUnchanged(t *testing.T, address string) {
	d := connect(t, Config{Addresses: []string{address}})
	put(t, d, instance("Unchanged", "a"), time.Minute)
	topic := d.service("Unchanged")
	answer, err := d.scripts.list.Run(operation(t), d.client, topic.keys, topic.channel, "").Slice()
	if err != nil || len(answer) != 2 {
		t.Fatalf("the list of a new reader is %v, %v, want a revision and instances", answer, err)
	}
	answer, err = d.scripts.list.Run(operation(t), d.client, topic.keys, topic.channel, answer[0]).Slice()
	if err != nil || len(answer) != 1 {
		t.Errorf("the list of a reader that knows it is %v, %v, want a revision alone", answer, err)
	}
}

func testSamePut(t *testing.T, address string) {
	d := connect(t, Config{Addresses: []string{address}})
	put(t, d, instance("Same", "a"), time.Minute)
	first := registrytest.NewWatch(t, d, "Same").Count(t, 1)
	put(t, d, instance("Same", "a"), time.Minute)
	if second := registrytest.NewWatch(t, d, "Same").Count(t, 1); second.Revision != first.Revision {
		t.Errorf("the revision is %d after a Put of what was there, and was %d", second.Revision, first.Revision)
	}
}

func testScriptFlush(t *testing.T, address string) {
	c := raw(t, address)
	d := connect(t, Config{Addresses: []string{address}})
	w := registrytest.NewWatch(t, d, "Flush")
	i := instance("Flush", "a")
	operations := []struct {
		name string
		run  func(ctx context.Context) error
	}{
		{"Put", func(ctx context.Context) error { return d.Put(ctx, i, time.Minute) }},
		{"Refresh", func(ctx context.Context) error { return d.Refresh(ctx, i, time.Minute) }},
		{"Store", func(ctx context.Context) error { return d.Store(ctx, "flushed", []byte("x"), 0) }},
		{"Delete", func(ctx context.Context) error { return d.Delete(ctx, i) }},
		{"Put", func(ctx context.Context) error { return d.Put(ctx, i, time.Minute) }},
	}
	for _, o := range operations {
		if err := c.ScriptFlush(operation(t)).Err(); err != nil {
			t.Fatal(err)
		}
		if err := o.run(operation(t)); err != nil {
			t.Errorf("%s after SCRIPT FLUSH: %v", o.name, err)
		}
	}
	w.Count(t, 1)
}

func testGarbage(t *testing.T, address string) {
	c := raw(t, address)
	d := connect(t, Config{Addresses: []string{address}, Prefix: "garbage"})
	put(t, d, instance("Garbage", "a"), 2*time.Minute)
	put(t, d, instance("Garbage", "b"), time.Minute) // does not shorten anything
	if err := d.Refresh(operation(t), instance("Garbage", "b"), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := d.Delete(operation(t), instance("Garbage", "b")); err != nil {
		t.Fatal(err)
	}
	keys, err := c.Keys(operation(t), "garbage:*").Result()
	if err != nil || len(keys) != 3 {
		t.Fatalf("there are the keys %v, %v, want three", keys, err)
	}
	for _, k := range keys {
		ttl, err := c.PTTL(operation(t), k).Result()
		if err != nil || ttl < time.Hour+time.Minute || ttl > time.Hour+2*time.Minute {
			t.Errorf("%s stays for %v, %v, want about %v", k, ttl, err, time.Hour+2*time.Minute)
		}
	}
}

func testRevision(t *testing.T, address string) {
	d := connect(t, Config{Addresses: []string{address}})
	w := registrytest.NewWatch(t, d, "Revision")
	last := w.Count(t, 0).Revision
	if last != 0 {
		t.Errorf("a service of which Redis knows nothing has revision %d, want 0", last)
	}
	i := instance("Revision", "a")
	for range 3 {
		put(t, d, i, time.Minute)
		revision := w.Count(t, 1).Revision
		if revision <= last {
			t.Errorf("the revision is %d after %d", revision, last)
		}
		if err := d.Delete(operation(t), i); err != nil {
			t.Fatal(err)
		}
		if last = w.Count(t, 0).Revision; last <= revision {
			t.Errorf("the revision is %d after %d", last, revision)
		}
	}
}

func testApart(t *testing.T, address string) {
	all := []*driver{
		connect(t, Config{Addresses: []string{address}, Prefix: "one"}),
		connect(t, Config{Addresses: []string{address}, Prefix: "two"}),
		connect(t, Config{Addresses: []string{address}, Prefix: "one", DB: 1}),
	}
	for n, d := range all {
		put(t, d, instance("Apart", strconv.Itoa(n)), time.Minute)
		if err := d.Store(operation(t), "Apart", []byte{byte(n)}, 0); err != nil {
			t.Errorf("Store in the place %d: %v", n, err)
		}
	}
	for n, d := range all {
		list := registrytest.NewWatch(t, d, "Apart").Count(t, 1)
		if id := list.Instances[0].ID; id != strconv.Itoa(n) {
			t.Errorf("in the place %d there is the instance %s", n, id)
		}
	}
}

// TestWipe empties the server under a watch, which stays, and under a Registry.
func TestWipe(t *testing.T) {
	t.Parallel()
	_, address := redisServer(t)
	c := raw(t, address)
	d := connect(t, Config{Addresses: []string{address}})
	i := instance("Wipe", "a")
	put(t, d, i, time.Minute)
	if err := d.Store(operation(t), "wiped", []byte("old"), 0); err != nil {
		t.Fatal(err)
	}
	old, err := d.Load(operation(t), "wiped")
	if err != nil {
		t.Fatal(err)
	}
	w := registrytest.NewWatch(t, d, "Wipe")
	before := w.Count(t, 1)

	if err := c.FlushAll(operation(t)).Err(); err != nil {
		t.Fatal(err)
	}
	if empty := w.Count(t, 0); empty.Revision != 0 {
		t.Errorf("a service of which Redis knows nothing any more has revision %d, want 0", empty.Revision)
	}
	if err := d.Refresh(operation(t), i, time.Minute); !errors.Is(err, registry.ErrLost) {
		t.Errorf("Refresh after FLUSHALL returned %v, want ErrLost", err)
	}
	put(t, d, i, time.Minute)
	if after := w.Count(t, 1); after.Revision <= before.Revision {
		t.Errorf("the revision is %d after FLUSHALL, and was %d before; clients would not use it", after.Revision, before.Revision)
	}
	if err := d.Store(operation(t), "wiped", []byte("late"), old.Version); !errors.Is(err, registry.ErrConflict) {
		t.Errorf("Store in the place of a lost document returned %v, want ErrConflict", err)
	}
	if err := d.Store(operation(t), "wiped", []byte("new"), 0); err != nil {
		t.Errorf("Store after FLUSHALL: %v", err)
	}
	if err := d.Store(operation(t), "wiped", []byte("late"), old.Version); !errors.Is(err, registry.ErrConflict) {
		t.Errorf("Store with a version from before FLUSHALL returned %v, want ErrConflict", err)
	}
}
