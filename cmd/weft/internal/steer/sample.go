package steer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/cluster/route"
)

// calls are those that rules are tried with. It is the value of a flag.
type calls []route.Call

// String is empty: there are none at first.
func (c *calls) String() string { return "" }

// Type is what the help calls the value.
func (c *calls) Type() string { return "call" }

// Set adds a call such as "Say user=ann".
func (c *calls) Set(text string) error {
	words := strings.Fields(text)
	if len(words) == 0 {
		return fmt.Errorf("%q names no method", text)
	}
	call := route.Call{Method: words[0]}
	for _, word := range words[1:] {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return fmt.Errorf("%q is no metadata: want a key, = and a value", word)
		}
		call.Metadata = call.Metadata.With(key, value)
	}
	*c = append(*c, call)
	return nil
}

// of returns the calls with the name of a service before their methods.
func (c calls) of(service string) []route.Call {
	out := slices.Clone(c)
	for i := range out {
		if !strings.HasPrefix(out[i].Method, service+".") {
			out[i].Method = service + "." + out[i].Method
		}
	}
	return out
}

// anything stands for a method, or for a value, that no rule names.
const anything = "*"

// asked is a call that no rule asks for, and one for each route of either rules that the
// route takes.
func asked(both ...*route.Rules) calls {
	all := calls{{Method: anything}}
	for _, rules := range both {
		for _, r := range rules.Revision().Routes {
			call := route.Call{Method: anything}
			if len(r.When.Methods) > 0 {
				call.Method = r.When.Methods[0]
			}
			for _, condition := range r.When.Metadata {
				if value := condition.In[0]; value != "" {
					call.Metadata = call.Metadata.With(condition.Key, value)
				}
			}
			same := func(o route.Call) bool {
				return o.Method == call.Method && o.Metadata.String() == call.Metadata.String()
			}
			if !slices.ContainsFunc(all, same) {
				all = append(all, call)
			}
		}
	}
	return all
}
