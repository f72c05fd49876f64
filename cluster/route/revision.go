package route

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/weftrpc/weft"
)

// MaxDocument is how many bytes a document can have, its history included.
const MaxDocument = 256 << 10

// Limits of a document. They are far above any use and keep what a client holds,
// and the time a call spends on rules, in bounds.
const (
	maxInstanceRules = 500
	maxRoutes        = 64   // see index
	maxSides         = 8    // of a split
	maxConditions    = 16   // of a route, on metadata
	maxKeys          = 16   // different metadata keys in all routes
	maxPatterns      = 1000 // in a list
	maxTags          = 64   // in a match
	maxMethods       = 1000
	maxHistory       = 10
	maxName          = 255 // bytes of a name or pattern
	maxNote          = 4096
	maxAttempts      = 10
	maxTimeout       = 24 * time.Hour
	maxWeight        = 1 << 20
	maxRate          = 1 << 30 // calls a second, and calls in flight
)

// Revision is one version of the rules of a service, as it is written: the names
// in the JSON are those of the fields in lower case, with underscores.
type Revision struct {
	// Version counts up from 1 with every document that is stored; Time, By and Note
	// give the time, the author and the reason. Next and Rollback set them.
	Version int       `json:"version,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	By      string    `json:"by,omitempty"`
	Note    string    `json:"note,omitempty"`

	Instances []InstanceRule `json:"instances,omitempty"`
	Routes    []RouteRule    `json:"routes,omitempty"`

	// Methods has the settings of methods by name or pattern, without the service.
	// A method takes each setting from the name or the longest pattern that has it.
	Methods map[string]Method `json:"methods,omitempty"`
}

// InstanceRule sets the weight or the state of the instances that match. The first
// rule that matches an instance and has a weight decides its weight, and the first
// that has a state its state.
type InstanceRule struct {
	Name   string      `json:"name,omitempty"` // says why; "": "instances[0]"
	Match  Match       `json:"match"`
	Weight *int        `json:"weight,omitempty"` // 0: calls only when no other is left
	State  *weft.State `json:"state,omitempty"`
}

// RouteRule sends the calls for which When holds to one of its sides. Of the routes
// of a service the first that holds takes the call.
type RouteRule struct {
	Name string `json:"name"` // unique; equal names split equal keys equally
	When When   `json:"when,omitzero"`

	// By is a metadata key: calls with the same value go to the same side. Calls
	// without it, and all calls where By is "", go by Call.Key, and by chance when
	// that is empty too.
	By string `json:"by,omitempty"`

	To []Side `json:"to"`

	// Else says what becomes of calls whose side has no instance: Any, which is also
	// meant by "", or Fail.
	Else string `json:"else,omitempty"`
}

// What becomes of calls whose side has no instance.
const (
	Any  = "any"  // another side of the route, and if all are empty any instance
	Fail = "fail" // the call fails
)

// When is what a route asks of a call; all of it must hold. The zero When holds
// for every call.
type When struct {
	Methods  Patterns    `json:"methods,omitempty"` // without the service
	Metadata []Condition `json:"metadata,omitempty"`
}

// Condition holds when the first value of a metadata key matches.
type Condition struct {
	Key string   `json:"key"`
	In  Patterns `json:"in"`
}

// Side is a part of the instances that gets a part of the calls.
type Side struct {
	Percent float64 `json:"percent"` // of the calls, with at most two decimals; all sides: 100
	Match   Match   `json:"match"`
}

// Match is what is asked of an instance: every field that is there must match. At
// least one must be there.
type Match struct {
	ID      Patterns            `json:"id,omitempty"`
	Address Patterns            `json:"address,omitempty"`
	Group   Patterns            `json:"group,omitempty"`
	Version Patterns            `json:"version,omitempty"`
	Zone    Patterns            `json:"zone,omitempty"`
	Tags    map[string]Patterns `json:"tags,omitempty"`
}

// Patterns are names of which one must fit: byte for byte, or, where it has a *,
// with any bytes in its place. What is missing or empty fits "" and nothing else.
// In JSON they are a list, or one of them alone.
type Patterns []string

// MarshalJSON writes a single pattern without the list around it.
func (p Patterns) MarshalJSON() ([]byte, error) {
	if len(p) == 1 {
		return encode(p[0])
	}
	return encode([]string(p))
}

// Encode returns the document of a revision, without a history. It may be one that
// Parse refuses. The error says that a number or a time cannot be written as JSON.
func (v *Revision) Encode() ([]byte, error) { return encode(v) }

// encode is JSON as a person would write it: indented, and < stays <.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, &Error{Reason: fmt.Sprintf("this cannot be written as JSON: %v", err)}
	}
	return b.Bytes(), nil
}

// instanceRuleName is how a rule is called, also one that has no name.
func instanceRuleName(name string, i int) string {
	if name == "" {
		return "instances[" + strconv.Itoa(i) + "]"
	}
	return name
}
