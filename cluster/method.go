package cluster

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/internal/limits"
	"github.com/weftrpc/weft/cluster/internal/published"
	"github.com/weftrpc/weft/cluster/retry"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/internal/stats"
)

// mostMethods is how many methods are counted, and limited, by themselves. Their names may come from the callers of a program that passes
// calls on.
const mostMethods = 1 << 12

// method is one method that was called.
type method struct {
	name    string
	service *service
	policy  atomic.Pointer[policy]
	*counted
}

// counted is what the calls of a method have shown; those beyond mostMethods have one together.
type counted struct {
	number                   int // of its breakers
	limits                   limits.Limits
	calls                    stats.Method // as their callers saw them
	streams, retries, hedges atomic.Uint64
	failures                 [4]atomic.Uint64 // failed attempts, by outcome
	openings                 uint64           // of breakers on servers that have left; guarded by the client's lock
	times                    stats.Method     // of attempts, for hedges
	hedge                    atomic.Int64     // nanoseconds after which to hedge, and
	hedged                   atomic.Int64     // when that was computed, on the client's clock
}

// policy is how a method's calls are made under certain rules.
type policy struct {
	rules      *route.Rules
	published  *published.Methods
	failMode   FailMode
	timeout    time.Duration // by rule or configuration; 0: that of the client
	attempts   int           // 0: those of the retry policy
	idempotent bool
	opts       []weft.CallOption // what of this goes with every attempt
	most       limits.Policy
}

// method finds a method; the last one is remembered: callers repeat themselves. Its service may have been closed, which has no view then.
func (c *Client) method(name string) (*method, error) {
	if m := c.last.Load(); m != nil && m.name == name {
		return m, nil
	}
	found, ok := c.methods.Load(name)
	if !ok {
		m, err := c.newMethod(name)
		if err != nil {
			return nil, err
		}
		found = m
	}
	m := found.(*method)
	c.last.Store(m)
	return m, nil
}

func (c *Client) newMethod(name string) (*method, error) {
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || dot == len(name)-1 {
		return nil, &weft.Error{Code: weft.InvalidArgument, Outcome: weft.NotSent, Method: name,
			Message: "the method's name is not of the form Service.Method"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return nil, closedError(name)
	}
	name = strings.Clone(name) // which may be in memory that is used again
	found, kept := c.methods.Load(name)
	if kept && c.services.Has(name[:dot], found.(*method).service) {
		return found.(*method), nil
	}
	s, err := c.serviceForLocked(name[:dot])
	if err != nil {
		return nil, err
	}
	m := &method{name: name, service: s}
	switch most := len(c.numbered); {
	case kept: // of a service that was closed meanwhile
		m.counted = found.(*method).counted
		c.numbered[m.number] = m
	case most >= mostMethods:
		if most == mostMethods {
			c.numbered = append(c.numbered, &method{counted: &counted{number: most}})
		}
		m.counted = c.numbered[mostMethods].counted
		return m, nil // it is not kept
	default:
		m.counted = &counted{number: most}
		c.numbered = append(c.numbered, m)
	}
	c.methods.Store(name, m)
	return m, nil
}

// reopened returns a method whose service was closed, because it was not called, with the service as it is open now.
func (m *method) reopened() (*method, error) {
	c := m.service.c
	fresh, err := c.newMethod(m.name)
	if err == nil {
		c.last.CompareAndSwap(m, fresh)
	}
	if err != nil || fresh.counted == m.counted {
		return fresh, err
	}
	return &method{name: m.name, service: fresh.service, counted: m.counted}, nil // it has its place among the calls in flight
}

// policyUnder returns the method's policy with what a view has.
func (m *method) policyUnder(c *Client, v *view) *policy {
	if p := m.policy.Load(); p != nil && p.rules == v.rules && p.published == v.published {
		return p
	}
	p := c.policyFor(m.name, v.rules, v.published)
	m.policy.Store(p)
	return p
}

// policyFor puts together what the rules, the configuration, the servers and the defaults say of a method, in this order.
func (c *Client) policyFor(name string, rules *route.Rules, published *published.Methods) *policy {
	dot := strings.LastIndexByte(name, '.')
	service := name[:dot]
	p := &policy{rules: rules, published: published, failMode: c.cfg.FailMode, idempotent: published.Has(name[dot+1:])}
	for _, m := range []route.Method{c.cfg.Methods[service+".*"], c.cfg.Methods[name], rules.Method(name)} {
		if m.Timeout > 0 {
			p.timeout = m.Timeout
		}
		if m.Attempts > 0 {
			p.attempts = m.Attempts
		}
		if m.Idempotent != nil {
			p.idempotent = *m.Idempotent
		}
		if m.FailMode != "" && checkFailMode(m.FailMode) == nil {
			p.failMode = m.FailMode
		}
		if m.MaxInFlight > 0 {
			p.most.InFlight = int64(m.MaxInFlight)
		}
		if m.Rate > 0 {
			p.most.Rate = m.Rate
		}
	}
	if p.timeout > 0 {
		p.opts = []weft.CallOption{weft.WithTimeout(p.timeout)}
	}
	return p
}

// retries is the retry policy of a client as the method has it.
func (p *policy) retries(rp retry.Policy) retry.Policy {
	if p.attempts > 0 {
		rp.Attempts = p.attempts
	}
	return rp
}

// options are what an attempt is made with: the caller's own go before.
func (p *policy) options(opts []weft.CallOption) []weft.CallOption {
	if len(p.opts) == 0 {
		return opts
	}
	return append(p.opts[:len(p.opts):len(p.opts)], opts...)
}

const (
	hedgeQuantile = 0.95
	hedgeLeast    = 50               // calls that must have been timed
	hedgeFresh    = time.Second      // how long a computed delay is used
	hedgeFloor    = time.Millisecond // timers are no finer than this
)

// hedgeAfter is the time in which 19 of 20 calls of the method end; 0 while too few are known.
func (m *method) hedgeAfter(now time.Duration) time.Duration {
	at := m.hedged.Load()
	if at != 0 && now-time.Duration(at) < hedgeFresh || !m.hedged.CompareAndSwap(at, int64(max(now, 1))) {
		return time.Duration(m.hedge.Load())
	}
	sum := m.times.Summary()
	after := time.Duration(0)
	if sum.Timed >= hedgeLeast {
		after = max(sum.Quantile(hedgeQuantile), hedgeFloor)
	}
	m.hedge.Store(int64(after))
	return after
}

// time notes how long an attempt took.
func (m *method) time(took time.Duration) { m.times.Ended(rand.Uint32(), 0, int64(took)) }
