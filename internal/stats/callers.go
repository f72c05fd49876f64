package stats

import (
	"strings"
	"sync"
	"sync/atomic"
)

// MaxNamed is how many methods have statistics of their own: the names may come from peers, so their number must be bounded.
const MaxNamed = 1 << 12

// Callers are the statistics of the methods that a side calls. The zero value is ready. All methods may be called from any goroutine.
type Callers struct {
	first  atomic.Pointer[Called] // of the method that was called first: a client may call no other
	more   sync.Map               // of the others: method name → *Called
	named  atomic.Int32
	others Called // of all methods beyond MaxNamed
	last   atomic.Pointer[Called]
}

// Called are the statistics of a method that was called.
type Called struct {
	name string
	Method
}

// Of finds the statistics of a method and remembers them: callers repeat themselves.
//
//go:noinline
func (c *Callers) Of(method string) *Called {
	if m := c.last.Load(); m != nil && m.name == method {
		return m
	}
	if c.first.Load() == nil {
		c.first.CompareAndSwap(nil, &Called{name: strings.Clone(method)})
	}
	m := c.Known(method)
	if m == nil {
		if c.named.Load() >= MaxNamed {
			return &c.others
		}
		method = strings.Clone(method)
		found, ok := c.more.LoadOrStore(method, &Called{name: method})
		if m = found.(*Called); !ok {
			c.named.Add(1)
		}
	}
	c.last.Store(m)
	return m
}

// Kept returns the name of a method in memory of its own, for what outlasts the call: that of the caller may be used again.
func (c *Callers) Kept(method string) string {
	if m := c.last.Load(); m != nil && m.name == method {
		return m.name
	}
	if m := c.Known(method); m != nil {
		return m.name
	}
	return strings.Clone(method)
}

// Known is the statistics of a method; nil: it was not called, or has none of its own.
func (c *Callers) Known(method string) *Called {
	if m := c.first.Load(); m != nil && m.name == method {
		return m
	}
	found, _ := c.more.Load(method)
	m, _ := found.(*Called)
	return m
}

// All gives the methods that were called, in no order; those beyond MaxNamed as one without a name.
func (c *Callers) All(yield func(method string, s *Summary) bool) {
	if m := c.first.Load(); m != nil && !yield(m.name, m.Summary()) {
		return
	}
	for name, m := range c.more.Range {
		if !yield(name.(string), m.(*Called).Summary()) {
			return
		}
	}
	if others := c.others.Summary(); others.Calls() > 0 {
		yield("", others)
	}
}
