// Package route is the rules by which clients route calls.
//
// The rules of a service are one document of JSON, which a registry keeps under
// the name "rules/" and the service. They say which instances get calls and how
// many, which calls go to which part of the instances, and with what timeout,
// attempts and limits a method is called. [Parse] reads them strictly: what
// cannot be right is an [*Error] that says where it is and what to do.
//
//	rules, err := route.Parse(doc)          the document of the registry
//	plan := rules.Plan(instances)           on every change of the rules or the list
//	target := plan.Route(call)              for every call
//	method := rules.Method("Arith.Mul")     for every call
//
// A [Plan] is what rules make of one list of instances: the weight and state of
// each, and the subsets that calls can be sent to. Asking it takes no lock and
// allocates nothing. [Live] holds the rules of a service as documents come, and
// keeps the last good ones when a new one does not parse.
//
// Before rules are stored, [DryRun] tells what they would change; [Next] gives
// them a number, an author and a history, and [Rollback] brings old ones back.
// Afterwards [Plan.Explain] tells why a call goes where it goes.
//
// Rules, plans and what they return never change, so any number of goroutines
// may share them. Nothing here reads a clock or a random source but Live, which
// notes the time; random bits come with the call, so equal calls go equal ways.
//
// The guide for operators, with every field, is docs/guide/rules.md.
package route

import (
	"strings"

	"github.com/weftrpc/weft"
)

// Rules are the rules of one service, ready for use. A nil *Rules is no rules:
// every call may go to every instance.
type Rules struct {
	version   int
	text      []byte // as Encode gives it
	instances []instanceRule
	routes    []route
	index     index
	keys      []string // of the metadata that the routes ask for, at most maxKeys
	methods   methods
}

type instanceRule struct {
	name   string
	match  matcher
	weight *int
	state  *weft.State
}

type route struct {
	name       string
	methods    *patterns // nil: every method
	conditions []condition
	by         int    // the metadata key that splits are sticky by, an index into keys; None: none
	seed       uint64 // the hash of the name
	sides      []side
	fail       bool // a side without instances fails its calls
}

type condition struct {
	key int // an index into keys
	in  patterns
}

// Parse reads a document. What it may contain is what a [Revision] has, and a
// history. Its error is an [*Error].
func Parse(doc []byte) (*Rules, error) {
	v, err := readRevision(doc)
	if err != nil {
		return nil, err
	}
	return compile(v)
}

// compile takes a revision that has been checked.
func compile(v *Revision) (*Rules, error) {
	text, err := v.Encode()
	if err != nil {
		return nil, err
	}
	r := &Rules{text: text, version: v.Version, methods: compileMethods(v.Methods)}
	for i, rule := range v.Instances {
		r.instances = append(r.instances, instanceRule{instanceRuleName(rule.Name, i), newMatcher(&rule.Match), rule.Weight, rule.State})
	}
	for i := range v.Routes {
		r.routes = append(r.routes, r.compileRoute(&v.Routes[i]))
	}
	r.index = newIndex(r.routes, v.Routes)
	return r, nil
}

func (r *Rules) compileRoute(rule *RouteRule) route {
	rt := route{name: rule.Name, by: None, seed: hashOf(fnvOffset, rule.Name), fail: rule.Else == Fail}
	if rule.By != "" {
		rt.by = r.keyOf(rule.By)
	}
	if len(rule.When.Methods) > 0 {
		rt.methods = newPatterns(rule.When.Methods)
	}
	for _, c := range rule.When.Metadata {
		rt.conditions = append(rt.conditions, condition{r.keyOf(c.Key), *newPatterns(c.In)})
	}
	upTo := uint64(0)
	for i := range rule.To {
		upTo += uint64(hundredths(rule.To[i].Percent))
		rt.sides = append(rt.sides, side{upTo, rule.To[i].Percent, newMatcher(&rule.To[i].Match)})
	}
	return rt
}

// keyOf is the index of a metadata key.
func (r *Rules) keyOf(key string) int {
	for i, known := range r.keys {
		if known == key {
			return i
		}
	}
	r.keys = append(r.keys, key)
	return len(r.keys) - 1
}

// Encode returns the document of the rules, without a history, indented: of a
// document close to MaxDocument more than Parse takes. The caller owns the bytes.
func (r *Rules) Encode() []byte {
	if r == nil {
		return []byte("{}\n")
	}
	return append([]byte(nil), r.text...)
}

// Version is the number of the revision, 0 if it has none.
func (r *Rules) Version() int {
	if r == nil {
		return 0
	}
	return r.version
}

// Revision returns the rules as they are written. It is the caller's own copy: to
// change and encode again.
func (r *Rules) Revision() Revision {
	v, err := readUnbounded(r.Encode())
	if err != nil {
		return Revision{} // what was encoded here can be read here
	}
	return *v
}

// Call is what rules may know about a call.
type Call struct {
	// Method is the full name, "Service.Method", or only what is behind its last dot.
	Method string

	// Metadata is what travels beside the call. Of a key that occurs more than once
	// the first value counts.
	Metadata weft.Metadata

	// Key keeps calls together: of one route, equal keys go to the same side of a
	// split, from every client. A route that names a metadata key goes by its value
	// first. An empty key is no key.
	Key string

	// Random holds 64 random bits, by which calls without a key are split. They are
	// scrambled, so the same bits may go to a balancer afterwards.
	Random uint64
}

// None is the index of no subset.
const None = -1

// Target is where a call goes.
type Target struct {
	// Subset is an index into Plan.Subsets. None: a rule wants the call to fail,
	// because no instance matches what it asks for.
	Subset int

	// Else is the subset to go on with when every instance of Subset has been tried
	// or is out of reach. None: there is nothing more to try.
	Else int

	// Rule is the name of the route that took the call, "" for none.
	Rule string
}

// methodOf is the name of a method without its service.
func methodOf(method string) string {
	return method[strings.LastIndexByte(method, '.')+1:]
}
