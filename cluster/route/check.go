package route

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// check returns the first thing in a revision that cannot be right, nil if there
// is none.
func (v *Revision) check() *Error {
	c := new(checker)
	if v.Version < 0 {
		c.wrong("version", "%d is below 0", v.Version)
	}
	c.text("by", v.By, maxName)
	c.text("note", strings.NewReplacer("\n", " ", "\t", " ").Replace(v.Note), maxNote)
	for i := range v.Instances {
		c.instanceRule(fmt.Sprintf("instances[%d]", i), &v.Instances[i])
	}
	names := make(map[string]bool)
	keys := make(map[string]bool)
	for i := range v.Routes {
		rule, path := &v.Routes[i], fmt.Sprintf("routes[%d]", i)
		if rule.Name == "" || names[rule.Name] {
			c.wrong(path+".name", "every route needs a name of its own: it is what explanations call it")
		}
		names[rule.Name] = true
		c.routeRule(path, rule)
		keys[rule.By] = true
		for _, cond := range rule.When.Metadata {
			keys[cond.Key] = true
		}
		if delete(keys, ""); len(keys) > maxKeys {
			c.wrong(path, "the routes ask for more than %d different metadata keys: use fewer", maxKeys)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Methods)) {
		path := "methods[" + strconv.Quote(name) + "]"
		c.methodName(path, name)
		c.method(path, v.Methods[name])
	}
	return c.err
}

// checker keeps the first error.
type checker struct{ err *Error }

func (c *checker) wrong(field, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{Field: field, Reason: fmt.Sprintf(format, args...)}
	}
}

func (c *checker) text(field, s string, limit int) {
	switch {
	case len(s) > limit:
		c.wrong(field, "this has %d bytes, at most %d are allowed", len(s), limit)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		c.wrong(field, "%q is not printable text", shorten(s))
	}
}

func (c *checker) instanceRule(path string, v *InstanceRule) {
	c.text(path+".name", v.Name, maxName)
	c.match(path+".match", &v.Match)
	if v.Weight == nil && v.State == nil {
		c.wrong(path, `the rule says nothing: give it a "weight" or a "state"`)
	}
	if v.Weight != nil && (*v.Weight < 0 || *v.Weight > maxWeight) {
		c.wrong(path+".weight", "%d is not a weight from 0 to %d", *v.Weight, maxWeight)
	}
}

func (c *checker) routeRule(path string, v *RouteRule) {
	c.text(path+".name", v.Name, maxName)
	for i, m := range v.When.Methods {
		c.methodName(element(path+".when.methods", i, v.When.Methods), m)
	}
	for i, cond := range v.When.Metadata {
		inner := fmt.Sprintf("%s.when.metadata[%d]", path, i)
		c.metadataKey(inner+".key", cond.Key)
		if len(cond.In) == 0 {
			c.wrong(inner, `there is no "in": list the values that are meant, "*" for any`)
		}
		c.patterns(inner+".in", cond.In)
	}
	if v.By != "" {
		c.metadataKey(path+".by", v.By)
	}
	if v.Else != "" && v.Else != Any && v.Else != Fail {
		c.wrong(path+".else", "%q is neither %q nor %q", shorten(v.Else), Any, Fail)
	}
	c.sides(path+".to", v.To)
}

func (c *checker) sides(path string, to []Side) {
	if len(to) == 0 {
		c.wrong(path, `the route leads nowhere: list the sides that its calls go to, such as {"percent":100,"match":{"version":"2.0"}}`)
		return
	}
	sum := 0
	for i := range to {
		inner := fmt.Sprintf("%s[%d]", path, i)
		c.match(inner+".match", &to[i].Match)
		p := to[i].Percent
		if !(p >= 0 && p <= 100) || math.Abs(p*places/100-float64(hundredths(p))) > 1e-6 {
			c.wrong(inner+".percent", "%v is not a number from 0 to 100 with at most two decimals", p)
			return
		}
		sum += hundredths(p)
	}
	if sum != places {
		c.wrong(path, "the percentages add up to %v: make it 100", float64(sum)*100/places)
	}
}

func (c *checker) match(path string, m *Match) {
	named := 0
	for _, f := range []struct {
		name string
		in   Patterns
	}{{"id", m.ID}, {"address", m.Address}, {"group", m.Group}, {"version", m.Version}, {"zone", m.Zone}} {
		c.patterns(path+"."+f.name, f.in)
		named += len(f.in)
	}
	for _, tag := range slices.Sorted(maps.Keys(m.Tags)) {
		inner := path + ".tags[" + strconv.Quote(tag) + "]"
		c.text(inner, tag, maxName)
		c.patterns(inner, m.Tags[tag])
		named += len(m.Tags[tag])
	}
	if named == 0 {
		c.wrong(path, `nothing is asked of an instance: name at least one field, or "id":"*" for all`)
	}
}

func (c *checker) patterns(path string, list Patterns) {
	for i, s := range list {
		c.text(element(path, i, list), s, maxName)
	}
}

// element is the path of a pattern, which may stand alone.
func element(path string, i int, list Patterns) string {
	if len(list) == 1 {
		return path
	}
	return path + "[" + strconv.Itoa(i) + "]"
}

func (c *checker) metadataKey(path, key string) {
	c.text(path, key, maxName)
	switch {
	case key == "":
		c.wrong(path, "a metadata key is missing")
	case strings.HasPrefix(key, "weft-"):
		c.wrong(path, `%q: no call has it, keys that begin with "weft-" are reserved`, shorten(key))
	case strings.EqualFold(key, "authorization"):
		c.wrong(path, "credentials do not belong into rules, which every program with access to the registry can read: let callers send another key")
	}
}

func (c *checker) methodName(path, name string) {
	c.text(path, name, maxName)
	switch {
	case name == "":
		c.wrong(path, "the name of the method is missing")
	case strings.Contains(name, "."):
		c.wrong(path, "%q: write the method without its service, %q, since the rules are those of one service", shorten(name), shorten(methodOf(name)))
	}
}

func (c *checker) method(path string, m Method) {
	if field, err := m.check(); err != nil {
		c.wrong(path+"."+field, "%v", err)
	}
}

// Check tells what is wrong with the settings of a method.
func (m Method) Check() error {
	field, err := m.check()
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}

// check tells which field is wrong, and how.
func (m Method) check() (field string, err error) {
	switch {
	case m.Timeout < 0 || m.Timeout > maxTimeout:
		return "timeout", fmt.Errorf("%v is not a time up to %v", m.Timeout, maxTimeout)
	case m.Attempts < 0 || m.Attempts > maxAttempts:
		return "attempts", fmt.Errorf("%d is not a number from 1 to %d: it counts the first attempt too", m.Attempts, maxAttempts)
	case m.MaxInFlight < 0 || m.MaxInFlight > maxRate:
		return "max_in_flight", fmt.Errorf("%d is not a number from 1 to %d", m.MaxInFlight, maxRate)
	case !(m.Rate >= 0 && m.Rate <= maxRate):
		return "rate", fmt.Errorf("%v is not a number above 0 and up to %d", m.Rate, maxRate)
	}
	switch m.FailMode {
	case "", "failfast", "failover", "failtry", "failbackup":
	default:
		return "fail_mode", fmt.Errorf("%q is no fail mode: it is failfast, failover, failtry or failbackup", shorten(string(m.FailMode)))
	}
	if m.FailMode == "failbackup" && m.Idempotent != nil && !*m.Idempotent {
		return "fail_mode", errors.New("failbackup makes a call twice, and the method is said not to be idempotent: choose another")
	}
	return "", nil
}
