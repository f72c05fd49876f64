// Package quota bounds how many calls a caller may make in a window of time, such as a day. A call
// beyond its quota is refused before its request is decoded, with ResourceExhausted and the time after
// which the next window begins.
//
//	q, err := quota.New(&quota.Config{Quotas: []quota.Quota{
//		{By: quota.Principal, Calls: 100_000, Every: 24 * time.Hour, Of: map[string]int64{"partner": 5_000_000}},
//	}})
//	srv := weft.NewServer(&weft.ServerConfig{Authenticate: authenticate, Plugins: []weft.Plugin{q.Plugin()}})
//
// Windows begin at multiples of their length since the beginning of 1970, UTC: those of 24 hours at
// midnight. Each server counts by itself; with several the quota of each is a part of the whole. What
// bounds the calls of a second is plugin/ratelimit.
package quota

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/keyed"
)

// Reason is the Error.Reason of a call that is beyond a quota.
const Reason = "QUOTA_EXCEEDED"

// By says what has a quota of its own.
type By = keyed.By

// What can have a quota of its own.
const (
	Server    = keyed.Server    // all calls together
	Service   = keyed.Service   // the calls of each service
	Method    = keyed.Method    // the calls of each method
	Principal = keyed.Principal // the calls of each principal; those without a name together
	Address   = keyed.Address   // the calls from each IP address, whatever the port; of IPv6 from each /64
)

// Quota is one quota. A call is charged to every quota that it fits, or to none when one of them
// refuses it.
type Quota struct {
	By      By               // what has this quota of its own
	Calls   int64            // in a window
	Every   time.Duration    // the length of a window, at least a second
	Methods []string         // "Arith.Mul", "Arith.*", "*"; nil: all
	Of      map[string]int64 // the quotas of some keys, such as names of principals or addresses, in place of Calls; 0: they may make none
	Cost    map[string]int64 // what a call of a method is charged; of others 1. 0: it is free
}

// DefaultMaxKeys is how many principals, addresses and so on each quota tells apart.
const DefaultMaxKeys = keyed.DefaultMaxKeys

// Config configures a Counter.
type Config struct {
	// Quotas must not be empty.
	Quotas []Quota
	// MaxKeys is how many keys each quota tells apart, beside those of Quota.Of. One that has not
	// been used in the window makes room; the calls of further keys share one quota. 0:
	// DefaultMaxKeys.
	MaxKeys int
	// OwnServices counts calls of the services that weft registers for operators and tools too: health,
	// administration, reflection. Otherwise they are counted by a quota alone whose Methods name them or
	// their service, so that a caller that has used up what it may call can still be probed and looked at.
	OwnServices bool
}

// Counter holds quotas. Its methods may be called from any goroutine.
type Counter struct {
	mu     sync.Mutex
	quotas []*quota
}

// quota is a Quota with what was charged. It is guarded by Counter.mu.
type quota struct {
	Quota
	scope  keyed.Scope
	of     map[keyed.Key]*own // Quota.Of; they do not compete with others for room
	keys   *keyed.Table[keyed.Key, used]
	shared used
	latest int64 // the number of the last window that a call was charged in
}

// own is what a key of Quota.Of may make and was charged.
type own struct {
	most int64
	used used
}

// used is what a key was charged in a window.
type used struct {
	window int64 // its number
	n      int64
}

// New makes a Counter.
func New(cfg *Config) (*Counter, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	shared := keyed.Config{Plugin: "quota", List: "Quotas", Entries: len(cfg.Quotas), MaxKeys: cfg.MaxKeys, OwnServices: cfg.OwnServices}
	keys, err := shared.Keys()
	if err != nil {
		return nil, err
	}
	c := &Counter{}
	for i, q := range cfg.Quotas {
		scope, err := shared.Scope(i, q.By, q.Methods)
		if err != nil {
			return nil, err
		}
		if wrong := q.wrong(); wrong != "" {
			return nil, shared.Wrong(i, "%s", wrong)
		}
		of := make(map[keyed.Key]*own, len(q.Of))
		for name, n := range q.Of {
			key, err := q.By.Parse(name)
			if _, twice := of[key]; err == nil && twice {
				err = fmt.Errorf("%s is named more than once", key)
			}
			if err != nil {
				return nil, shared.Wrong(i, "Of[%q]: %w", name, err)
			}
			of[key] = &own{most: n}
		}
		q.Cost = maps.Clone(q.Cost)
		c.quotas = append(c.quotas, &quota{Quota: q, scope: scope, of: of, keys: keyed.New[keyed.Key, used](keys)})
	}
	return c, nil
}

// wrong is what is wrong with a quota; "": nothing.
func (q *Quota) wrong() string {
	switch {
	case q.Calls < 0 || q.Calls == 0 && len(q.Of) == 0:
		return fmt.Sprintf("Calls is %d, want 1 or more, or 0 for no calls but those of the keys in Of", q.Calls)
	case q.Every < time.Second:
		return fmt.Sprintf("Every is %v, want a second or more; plugin/ratelimit is for shorter times", q.Every)
	}
	for name, n := range q.Of {
		if n < 0 {
			return fmt.Sprintf("Of[%q] is %d, want 0 or more", name, n)
		}
	}
	for method, n := range q.Cost {
		if n < 0 {
			return fmt.Sprintf("Cost[%q] is %d, want 0 or more", method, n)
		}
	}
	return ""
}

// Plugin is for the Plugins of a server. A call that a plugin behind it refuses has been charged: let
// it be the last of those that refuse.
func (c *Counter) Plugin() weft.Plugin { return weft.Plugin{Name: "quota", Hooks: []any{hook{c}}} }

// hook is what the server calls.
type hook struct{ c *Counter }

// BeforeReadRequestBody refuses a call that is beyond a quota.
func (h hook) BeforeReadRequestBody(ctx context.Context, info *weft.CallInfo) error {
	return h.c.charge(ctx, info, time.Now())
}

// charge charges a call to all quotas that it fits, or to none.
func (c *Counter) charge(ctx context.Context, info *weft.CallInfo, now time.Time) error {
	var names [4]keyed.Key
	keys := names[:0]
	for _, q := range c.quotas {
		keys = append(keys, q.By.Of(ctx, info))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var room [4]*used
	charged := room[:0]
	for i, q := range c.quotas {
		var u *used
		if cost := q.cost(info.Method); cost > 0 && q.scope.Has(info.Method) {
			key := keys[i]
			u = q.atLocked(key, q.windowLocked(now))
			if most := q.most(key); u.n > most-cost {
				for j, before := range charged {
					if before != nil {
						before.n -= c.quotas[j].cost(info.Method)
					}
				}
				return q.refusal(most, cost, now)
			}
			u.n += cost
		}
		charged = append(charged, u)
	}
	return nil
}

// refusal is the error of a call that is beyond the quota of its key.
func (q *quota) refusal(most, cost int64, now time.Time) error {
	if cost > most {
		return weft.Errorf(weft.ResourceExhausted, "the call is charged as %d, more than the quota by %s, which is %d in %v: it can never be made", cost, q.By, most, q.Every).
			WithReason(Reason).WithRetryAfter(-1)
	}
	wait := q.endOf(q.latest).Sub(now)
	return weft.Errorf(weft.ResourceExhausted, "the quota by %s, which is %d in %v, is used up; try again in %v", q.By, most, q.Every, keyed.Wait(wait)).
		WithReason(Reason).WithRetryAfter(wait)
}

func (q *quota) cost(method string) int64 {
	if n, ok := q.Cost[method]; ok {
		return n
	}
	return 1
}

func (q *quota) most(key keyed.Key) int64 {
	if o := q.of[key]; o != nil {
		return o.most
	}
	return q.Calls
}

// windowLocked is the number of the window that is open. A clock that is set back over the end of a window does not open the one
// before again, in which all could be used once more.
func (q *quota) windowLocked(now time.Time) int64 {
	if window := q.windowOf(now); window != q.latest-1 {
		q.latest = window
	}
	return q.latest
}

// windowOf is the number of the window of a time.
func (q *quota) windowOf(t time.Time) int64 {
	n := t.UnixNano()
	if n < 0 {
		return -1
	}
	return n / int64(q.Every)
}

func (q *quota) endOf(window int64) time.Time { return time.Unix(0, (window+1)*int64(q.Every)) }

// atLocked is what a key was charged in a window.
func (q *quota) atLocked(key keyed.Key, window int64) *used {
	u := &q.shared
	if o := q.of[key]; o != nil {
		u = &o.used
	} else if found := q.keys.Add(key, func(u *used) bool { return u.window != window }); found != nil {
		u = found
	}
	if u.window != window {
		*u = used{window: window}
	}
	return u
}

// Usage is what a key was charged in the window that is open.
type Usage struct {
	Quota int       // the index in Config.Quotas
	Key   string    // such as the name of a principal
	Used  int64     // calls, by their cost
	Most  int64     // the quota
	Until time.Time // the end of the window
}

// Usage lists what the keys were charged in the windows that are open, by quota and key.
func (c *Counter) Usage() []Usage {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Usage
	for i, q := range c.quotas {
		window := q.windowLocked(now)
		add := func(key keyed.Key, u *used) {
			if u.window == window {
				out = append(out, Usage{i, key.String(), u.n, q.most(key), q.endOf(window)})
			}
		}
		for key, o := range q.of {
			add(key, &o.used)
		}
		for key, u := range q.keys.All() {
			add(key, u)
		}
	}
	slices.SortFunc(out, func(a, b Usage) int { return cmp.Or(cmp.Compare(a.Quota, b.Quota), cmp.Compare(a.Key, b.Key)) })
	return out
}

// Restore charges what Usage has returned, such as before the program was started anew. What belongs
// to windows that have ended, or to no quota, is left out.
func (c *Counter) Restore(all []Usage) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range all {
		if one.Quota < 0 || one.Quota >= len(c.quotas) || one.Used < 0 {
			continue
		}
		q := c.quotas[one.Quota]
		key, err := q.By.Parse(one.Key)
		if window := q.windowLocked(now); err == nil && q.endOf(window).Equal(one.Until) {
			u := q.atLocked(key, window)
			u.n += min(one.Used, q.most(key)) // so that no sum overflows
		}
	}
}
