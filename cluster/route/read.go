package route

import (
	"fmt"
	"strconv"

	"github.com/weftrpc/weft"
)

// readRevision reads the newest revision of a document and checks it. The older
// ones are left alone, so that nothing in the past keeps the present from working.
func readRevision(doc []byte) (*Revision, error) {
	if err := checkSize(doc); err != nil {
		return nil, err
	}
	return readUnbounded(doc)
}

func checkSize(doc []byte) error {
	if len(doc) > MaxDocument {
		return &Error{Reason: fmt.Sprintf("the document has %d bytes, at most %d are allowed: remove what is no longer needed", len(doc), MaxDocument)}
	}
	return nil
}

// readUnbounded reads a document of any size.
func readUnbounded(doc []byte) (*Revision, error) {
	r, err := newReader(doc)
	if err != nil {
		return nil, err
	}
	v := new(Revision)
	r.place[""] = r.here()
	if err := r.revision(v)(""); err != nil {
		return nil, err
	}
	if wrong := v.check(); wrong != nil {
		return nil, r.wrong(wrong.Field, "%s", wrong.Reason)
	}
	return v, nil
}

func (r *reader) revision(v *Revision) value {
	return r.object(map[string]value{
		"version":   r.int(&v.Version),
		"time":      r.time(&v.Time),
		"by":        r.string(&v.By),
		"note":      r.string(&v.Note),
		"instances": list(r, maxInstanceRules, &v.Instances, r.instanceRule),
		"routes":    list(r, maxRoutes, &v.Routes, r.routeRule),
		"methods":   table(r, maxMethods, &v.Methods, r.method),
		"history":   r.skip(),
	})
}

func (r *reader) instanceRule(v *InstanceRule) value {
	return r.object(map[string]value{
		"name":   r.string(&v.Name),
		"match":  r.match(&v.Match),
		"weight": func(path string) error { v.Weight = new(int); return r.int(v.Weight)(path) },
		"state":  r.state(&v.State),
	})
}

func (r *reader) state(dst **weft.State) value {
	return func(path string) error {
		const want = `"on", "draining" or "off"`
		text, err := token[string](r, path, want)
		if err != nil {
			return err
		}
		*dst = new(weft.State)
		if (*dst).UnmarshalText([]byte(text)) != nil {
			return r.wrong(path, "%q is not a state: it must be %s", shorten(text), want)
		}
		return nil
	}
}

func (r *reader) routeRule(v *RouteRule) value {
	read := r.object(map[string]value{
		"name": r.string(&v.Name),
		"when": r.object(map[string]value{
			"methods":  r.patterns(&v.When.Methods),
			"metadata": list(r, maxConditions, &v.When.Metadata, r.condition),
		}),
		"by":   r.string(&v.By),
		"to":   list(r, maxSides, &v.To, r.side),
		"else": r.string(&v.Else),
	})
	return func(path string) error {
		if err := read(path); err != nil {
			return err
		}
		for i := range v.To {
			inner := path + ".to[" + strconv.Itoa(i) + "]"
			switch _, given := r.place[inner+".percent"]; {
			case given:
			case len(v.To) > 1:
				return r.wrong(inner, "there is no percent: only a side alone can do without")
			default:
				v.To[i].Percent = 100
			}
		}
		return nil
	}
}

func (r *reader) condition(v *Condition) value {
	return r.object(map[string]value{
		"key": r.string(&v.Key),
		"in":  r.patterns(&v.In),
	})
}

func (r *reader) side(v *Side) value {
	return r.object(map[string]value{
		"percent": r.number(&v.Percent),
		"match":   r.match(&v.Match),
	})
}

func (r *reader) match(v *Match) value {
	return r.object(map[string]value{
		"id":      r.patterns(&v.ID),
		"address": r.patterns(&v.Address),
		"group":   r.patterns(&v.Group),
		"version": r.patterns(&v.Version),
		"zone":    r.patterns(&v.Zone),
		"tags":    table(r, maxTags, &v.Tags, r.patterns),
	})
}

// patterns reads a list of strings, or a string alone.
func (r *reader) patterns(dst *Patterns) value {
	read := list(r, maxPatterns, (*[]string)(dst), r.string)
	return func(path string) error {
		if r.doc[r.here()] != '[' {
			*dst = make(Patterns, 1)
			return r.string(&(*dst)[0])(path)
		}
		if err := read(path); err != nil {
			return err
		}
		if len(*dst) == 0 {
			return r.wrong(path, "an empty list matches nothing: name what is meant, or remove the field")
		}
		return nil
	}
}

func (r *reader) method(v *Method) value {
	read := r.object(map[string]value{
		"timeout":       r.duration(&v.Timeout),
		"attempts":      r.int(&v.Attempts),
		"idempotent":    r.bool(&v.Idempotent),
		"fail_mode":     r.string((*string)(&v.FailMode)),
		"max_in_flight": r.int(&v.MaxInFlight),
		"rate":          r.number(&v.Rate),
	})
	return func(path string) error {
		if err := read(path); err != nil {
			return err
		}
		for field, zero := range map[string]bool{
			"timeout": v.Timeout == 0, "attempts": v.Attempts == 0, "max_in_flight": v.MaxInFlight == 0, "rate": v.Rate == 0,
		} {
			if _, given := r.place[path+"."+field]; given && zero {
				return r.wrong(path+"."+field, "0 says nothing here: remove the field to leave this to the client's configuration")
			}
		}
		return nil
	}
}
