// Package params makes JSON of the parts of paths and queries, by the schemas of the fields that
// they give.
package params

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/schema"
)

// fields are values from path and query, as a JSON object.
type fields map[string]any

// put sets a field, whose name may have dots.
func (f fields) put(name string, value any) {
	for {
		first, more, nested := strings.Cut(name, ".")
		if !nested {
			f[name] = value
			return
		}
		inner, ok := f[first].(fields)
		if !ok {
			inner = make(fields)
			f[first] = inner
		}
		f, name = inner, more
	}
}

// Object are the values of a request from its path and query as a JSON object; nil if there
// are none.
func Object(known map[string]*schema.Schema, vars map[string]string, query url.Values) ([]byte, *weft.Error) {
	if len(vars) == 0 && len(query) == 0 {
		return nil, nil
	}
	all := make(fields)
	for name, text := range vars {
		s := known[name]
		if s == nil {
			return nil, refusal(weft.Internal, "", "the path of the method has the field %s, which its request does not have", name)
		}
		if err := all.texts("path", name, s, []string{text}); err != nil {
			return nil, err
		}
	}
	for name, texts := range query {
		s := known[name]
		if _, twice := vars[name]; twice {
			return nil, refusal(weft.InvalidArgument, "", "field %s is in the path and in the query", name)
		}
		if s == nil {
			return nil, refusal(weft.InvalidArgument, "", "the query has the parameter %q, which the request does not have%s", clip(name), hint(known))
		}
		if err := all.texts("query", name, s, texts); err != nil {
			return nil, err
		}
	}
	object, err := json.Marshal(all)
	if err != nil {
		return nil, refusal(weft.Internal, "", "the parameters: %v", err)
	}
	return object, nil
}

// hint names the parameters that there are.
func hint(known map[string]*schema.Schema) string {
	if len(known) == 0 {
		return "; it has none that a query can give"
	}
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	const most = 12
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return "; it has " + strings.Join(names, ", ")
}

// texts puts the values of one field.
func (f fields) texts(from, name string, s *schema.Schema, texts []string) *weft.Error {
	if s.Type != "array" && len(texts) > 1 {
		return refusal(weft.InvalidArgument, "", "%s: %s has %d values, want one", from, name, len(texts))
	}
	list := make([]json.RawMessage, 0, len(texts))
	of := s
	if s.Type == "array" {
		of = s.Items
	}
	for _, text := range texts {
		v, ok := literalOf(of, text)
		if !ok {
			what := of.Type
			if of.ContentEncoding != "" {
				what = "base64"
			}
			return refusal(weft.InvalidArgument, weft.ReasonDecode, "%s: %s is %q, want a value of type %s", from, name, clip(text), what)
		}
		list = append(list, v)
	}
	if s.Type == "array" {
		f.put(name, list)
	} else {
		f.put(name, list[0])
	}
	return nil
}

// literalOf is a text as a JSON value of a type.
func literalOf(s *schema.Schema, text string) (json.RawMessage, bool) {
	switch s.Type {
	case "boolean":
		return json.RawMessage(text), text == "true" || text == "false"
	case "integer":
		if d, err := time.ParseDuration(text); err == nil && s.Duration {
			return strconv.AppendInt(nil, int64(d), 10), true
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return strconv.AppendInt(nil, n, 10), true
		}
		n, err := strconv.ParseUint(text, 10, 64)
		return strconv.AppendUint(nil, n, 10), err == nil
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			return nil, false
		}
		b, err := json.Marshal(n)
		return b, err == nil
	}
	if s.ContentEncoding == "base64" {
		b, err := Base64(text)
		if err != nil {
			return nil, false
		}
		text = base64.StdEncoding.EncodeToString(b)
	}
	b, err := json.Marshal(text)
	return b, err == nil
}

// Base64 decodes both alphabets, with padding or without.
func Base64(text string) ([]byte, error) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	return base64.RawStdEncoding.DecodeString(text)
}

// clip shortens what a peer has sent, for a message.
func clip(text string) string {
	const most = 64
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// refusal is the error of parameters that do not fit.
func refusal(code weft.Code, reason, format string, args ...any) *weft.Error {
	e := weft.Errorf(code, format, args...).WithReason(reason)
	e.Outcome = weft.Refused
	return e
}
