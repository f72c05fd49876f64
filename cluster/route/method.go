package route

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// FailMode says what happens to a unary call that fails. Package cluster has the modes as constants.
type FailMode string

// Method is how the calls of a method are made. A zero field says nothing: what
// the client is configured with holds.
type Method struct {
	Timeout    time.Duration // of a call that its caller gave no deadline
	Attempts   int           // how often a call is made at most, the first time included
	Idempotent *bool         // whether a call may be made again after a failure that leaves open if it ran
	FailMode   FailMode      // "failfast", "failover", "failtry", "failbackup"

	// Limits of each client, for each method by itself.
	MaxInFlight int     // calls at the same time
	Rate        float64 // calls a second
}

// methodText is a Method in JSON.
type methodText struct {
	Timeout     string   `json:"timeout,omitempty"`
	Attempts    int      `json:"attempts,omitempty"`
	Idempotent  *bool    `json:"idempotent,omitempty"`
	FailMode    FailMode `json:"fail_mode,omitempty"`
	MaxInFlight int      `json:"max_in_flight,omitempty"`
	Rate        float64  `json:"rate,omitempty"`
}

// MarshalJSON writes what is not zero.
func (m Method) MarshalJSON() ([]byte, error) {
	t := methodText{"", m.Attempts, m.Idempotent, m.FailMode, m.MaxInFlight, m.Rate}
	if m.Timeout != 0 {
		t.Timeout = m.Timeout.String()
	}
	return encode(t)
}

// String is such as "timeout 250ms, 3 attempts, idempotent"; "as configured" for
// the zero Method.
func (m Method) String() string {
	var parts []string
	add := func(there bool, format string, args ...any) {
		if there {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(m.Timeout != 0, "timeout %v", m.Timeout)
	add(m.Attempts == 1, "1 attempt")
	add(m.Attempts > 1, "%d attempts", m.Attempts)
	add(m.Idempotent != nil && *m.Idempotent, "idempotent")
	add(m.Idempotent != nil && !*m.Idempotent, "not idempotent")
	add(m.FailMode != "", "%s", m.FailMode)
	add(m.MaxInFlight != 0, "%d in flight", m.MaxInFlight)
	add(m.Rate != 0, "%v calls/s", m.Rate)
	if parts == nil {
		return "as configured"
	}
	return strings.Join(parts, ", ")
}

// or fills in from another what m says nothing about.
func (m Method) or(o *Method) Method {
	m.Timeout = cmp.Or(m.Timeout, o.Timeout)
	m.Attempts = cmp.Or(m.Attempts, o.Attempts)
	m.Idempotent = cmp.Or(m.Idempotent, o.Idempotent)
	m.FailMode = cmp.Or(m.FailMode, o.FailMode)
	m.MaxInFlight = cmp.Or(m.MaxInFlight, o.MaxInFlight)
	m.Rate = cmp.Or(m.Rate, o.Rate)
	return m
}

// methods has the settings of methods: of those that are named all that holds for
// them, and for the others the patterns, the longest first.
type methods struct {
	named    map[string]Method
	patterns []methodPattern
}

type methodPattern struct {
	text string
	glob glob
	Method
}

func compileMethods(all map[string]Method) methods {
	var c methods
	for name, m := range all {
		if strings.Contains(name, "*") {
			c.patterns = append(c.patterns, methodPattern{name, newGlob(name), m})
		}
	}
	slices.SortFunc(c.patterns, func(a, b methodPattern) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text))
	})
	c.named = make(map[string]Method, len(all)-len(c.patterns))
	for name, m := range all {
		if !strings.Contains(name, "*") {
			c.named[name] = c.fill(m, name)
		}
	}
	return c
}

// fill adds to the settings of a method what patterns say.
func (c *methods) fill(m Method, name string) Method {
	for i := range c.patterns {
		if p := &c.patterns[i]; p.glob.match(name) {
			m = m.or(&p.Method)
		}
	}
	return m
}

// Method returns the settings of a method, "Service.Method" or only "Method". It
// takes no lock and allocates nothing: a look into a map for a method that is
// named, a comparison for each pattern for one that is not.
func (r *Rules) Method(method string) Method {
	if r == nil {
		return Method{}
	}
	name := methodOf(method)
	if m, ok := r.methods.named[name]; ok {
		return m
	}
	return r.methods.fill(Method{}, name)
}
