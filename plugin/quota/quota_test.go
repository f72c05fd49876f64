package quota_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/quota"
)

func counter(t *testing.T, quotas ...quota.Quota) *quota.Counter {
	t.Helper()
	c, err := quota.New(&quota.Config{Quotas: quotas})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Each principal has its quota, over weft's own wire and for streams; a refusal says when to come back.
func TestPrincipals(t *testing.T) {
	q := counter(t, quota.Quota{By: quota.Principal, Calls: 3, Every: 1000 * time.Hour, Of: map[string]int64{"gold": 10, "eve": 0}})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{q.Plugin()},
		Authenticate: func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) { return cred.Token, nil }})
	for name, n := range map[string]int{"ada": 3, "gold": 10, "eve": 0} {
		c := w.Dial(t, &weft.ClientConfig{Credential: weft.StaticCredential("", name)})
		for i := range n {
			if i == 0 {
				if got, err := plugintest.Count(t.Context(), c, 2); got != 2 || err != nil {
					t.Error(got, err)
				}
			} else if err := c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil); err != nil {
				t.Errorf("%s, call %d: %v", name, i, err)
			}
		}
		e := plugintest.IsError(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil), weft.ResourceExhausted, weft.Refused)
		after, ok := e.RetryAfter()
		if e.Reason != quota.Reason || !ok || after > 1000*time.Hour || (after < 0) != (name == "eve") {
			t.Errorf("%s: %v, %v", name, e, after)
		}
		if _, err := plugintest.Count(t.Context(), c, 1); !errors.Is(err, weft.ResourceExhausted) {
			t.Errorf("%s: a stream: %v", name, err)
		}
	}
	if err := w.DialDoor(t).Call("Arith.Mul", &plugintest.Args{}, &plugintest.Result{}); err != nil {
		t.Errorf("a caller without a name: %v", err)
	}
	usage := ""
	for _, u := range q.Usage() {
		usage += fmt.Sprintf("%q %d/%d ", u.Key, u.Used, u.Most)
	}
	if usage != `"" 1/3 "ada" 3/3 "gold" 10/10 ` && usage != `"" 1/3 "ada" 3/3 "eve" 0/0 "gold" 10/10 ` {
		t.Error(usage)
	}
}

// call charges a call of a method.
func call(t *testing.T, q *quota.Counter, method string) error {
	t.Helper()
	return q.Plugin().Hooks[0].(weft.BeforeReadRequestBodyHook).BeforeReadRequestBody(t.Context(), &weft.CallInfo{Method: method})
}

// A window ends; calls cost what they cost; a call that one quota refuses is not charged to another.
func TestWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := counter(t,
			quota.Quota{By: quota.Server, Calls: 10, Every: 24 * time.Hour, Cost: map[string]int64{"A.Large": 8, "A.Free": 0, "A.Never": 11}},
			quota.Quota{By: quota.Method, Calls: 2, Every: time.Hour, Methods: []string{"A.Small"}})
		take := func(method string, want bool) {
			t.Helper()
			if err := call(t, q, method); (err == nil) != want {
				t.Errorf("%s: %v", method, err)
			}
		}
		take("A.Small", true)
		take("A.Small", true)
		time.Sleep(20 * time.Minute)
		for range 5 {
			take("A.Small", false) // by the second quota, and not charged to the first
		}
		e, _ := errors.AsType[*weft.Error](call(t, q, "A.Small"))
		if after, _ := e.RetryAfter(); after != 40*time.Minute || e.Message != "the quota by method, which is 2 in 1h0m0s, is used up; try again in 40m0s" {
			t.Errorf("after %v: %v", after, e)
		}
		e, _ = errors.AsType[*weft.Error](call(t, q, "A.Never"))
		if after, _ := e.RetryAfter(); after >= 0 || e.Message != "the call is charged as 11, more than the quota by server, which is 10 in 24h0m0s: it can never be made" {
			t.Errorf("after %v: %v", after, e)
		}
		take("A.Large", true)
		take("A.Large", false)
		take("A.Other", false)
		take("A.Free", true)
		usage := q.Usage()
		time.Sleep(40 * time.Minute)
		take("A.Small", false) // by the first quota
		time.Sleep(23 * time.Hour)
		take("A.Large", true)
		take("A.Small", true)
		take("A.Small", true)
		take("A.Small", false)

		// What was charged survives the program, as long as its window.
		again := counter(t, quota.Quota{By: quota.Server, Calls: 10, Every: 24 * time.Hour}, quota.Quota{By: quota.Method, Calls: 2, Every: time.Hour})
		again.Restore(usage) // of yesterday
		again.Restore([]quota.Usage{{Quota: 7}, {Quota: -1}})
		if n := len(again.Usage()); n != 0 {
			t.Errorf("%+v", again.Usage())
		}
		again.Restore(q.Usage())
		if got, want := fmt.Sprint(again.Usage()), fmt.Sprint(q.Usage()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// More keys than there is room for share one quota, until the window ends.
func TestKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := quota.New(&quota.Config{MaxKeys: 2, Quotas: []quota.Quota{{By: quota.Method, Calls: 1, Every: time.Minute}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			taken := 0
			for i := range 10 {
				if call(t, q, fmt.Sprint("A.", i)) == nil {
					taken++
				}
			}
			if taken != 3 || len(q.Usage()) != 2 {
				t.Errorf("%d calls, %v", taken, q.Usage())
			}
			time.Sleep(time.Minute)
		}
	})
}

// Calls of the services that weft registers are not charged, unless a quota names them or OwnServices
// is set.
func TestOwnServices(t *testing.T) {
	for _, tt := range []struct {
		own     bool
		methods []string
		refused bool
	}{{false, nil, false}, {false, []string{"weft.v1.Health.*"}, true}, {true, nil, true}} {
		q, err := quota.New(&quota.Config{OwnServices: tt.own, Quotas: []quota.Quota{{By: quota.Server, Calls: 1, Every: 1e6 * time.Hour, Methods: tt.methods}}})
		if err != nil {
			t.Fatal(err)
		}
		_ = call(t, q, "weft.v1.Health.Check")
		if err := call(t, q, "weft.v1.Health.Check"); (err != nil) != tt.refused {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

func TestWrongConfig(t *testing.T) {
	for _, q := range []quota.Quota{{By: "planet", Calls: 1, Every: time.Hour}, {By: quota.Server, Every: time.Hour}, {By: quota.Server, Calls: 1, Every: time.Millisecond},
		{By: quota.Server, Calls: 1, Every: time.Hour, Methods: []string{"x"}}, {By: quota.Server, Calls: 1, Every: time.Hour, Of: map[string]int64{"x": -1}},
		{By: quota.Server, Calls: 1, Every: time.Hour, Cost: map[string]int64{"x": -1}}} {
		if _, err := quota.New(&quota.Config{Quotas: []quota.Quota{q}}); err == nil {
			t.Errorf("%+v is accepted", q)
		}
	}
	for _, cfg := range []*quota.Config{nil, {}, {MaxKeys: -1, Quotas: []quota.Quota{{By: quota.Server, Calls: 1, Every: time.Hour}}}} {
		if _, err := quota.New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

// The keys that are named have their quotas also when others have taken all places, and addresses are named in any form.
func TestNamed(t *testing.T) {
	q, err := quota.New(&quota.Config{MaxKeys: 1, Quotas: []quota.Quota{{By: quota.Principal, Calls: 1, Every: 1000 * time.Hour, Of: map[string]int64{"gold": 3}}}})
	if err != nil {
		t.Fatal(err)
	}
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{q.Plugin()},
		Authenticate: func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) { return cred.Token, nil }})
	call := func(name string) error {
		return w.Dial(t, &weft.ClientConfig{Credential: weft.StaticCredential("", name)}).Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil)
	}
	for _, name := range []string{"a", "b"} { // which share a quota
		if err := call(name); err != nil {
			t.Error(name, err)
		}
	}
	plugintest.IsError(t, call("c"), weft.ResourceExhausted, weft.Refused)
	for range 3 {
		if err := call("gold"); err != nil {
			t.Error(err)
		}
	}
	plugintest.IsError(t, call("gold"), weft.ResourceExhausted, weft.Refused)
	again, err := quota.New(&quota.Config{Quotas: []quota.Quota{{By: quota.Principal, Calls: 1, Every: 1000 * time.Hour, Of: map[string]int64{"gold": 3}}}})
	if err != nil {
		t.Fatal(err)
	}
	if again.Restore(q.Usage()); len(again.Usage()) != 2 { // a and gold: what others share has no name
		t.Error(again.Usage())
	}

	for _, address := range []string{"127.0.0.1", "::ffff:127.0.0.1", "127.0.0.1/32"} {
		q := counter(t, quota.Quota{By: quota.Address, Calls: 9, Every: time.Hour, Of: map[string]int64{address: 0}})
		c := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{q.Plugin()}}).Dial(t, nil)
		plugintest.IsError(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil), weft.ResourceExhausted, weft.Refused)
	}
	for _, of := range []map[string]int64{{"10.0.0.0/8": 1}, {"127.0.0.1": 1, "127.0.0.1/32": 2}} {
		if _, err := quota.New(&quota.Config{Quotas: []quota.Quota{{By: quota.Address, Every: time.Hour, Of: of}}}); !errors.Is(err, weft.InvalidArgument) {
			t.Errorf("%v: %v", of, err)
		}
	}
}
