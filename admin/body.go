package admin

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/weftrpc/weft/internal/stock"
)

// body is a request or reply as JSON, masked and cut at most bytes; "" for none.
func (s *service) body(method string, v any, most int) string {
	if v == nil {
		return ""
	}
	var text []byte
	var err error
	if m, ok := stock.Message(v); ok {
		text, err = protojson.Marshal(m)
	} else {
		text, err = json.Marshal(v)
	}
	var value any
	if err == nil {
		in := json.NewDecoder(bytes.NewReader(text))
		in.UseNumber()
		err = in.Decode(&value)
	}
	if err == nil {
		hides := s.cfg.Mask
		if hides == nil {
			hides = func(_, path string) bool { return Sensitive(path) }
		}
		text, err = json.Marshal(masked(value, func(path string) bool { return hides(method, path) }, ""))
	}
	if err != nil {
		return clip("(it has no form in JSON: "+err.Error()+")", mostError)
	}
	return clip(string(text), most)
}

// masked is a decoded JSON value without what is hidden. The path of a field has the names of the
// fields around it before its own, with dots between them; an element of a list has the path of the
// list, and one of a map its key as a name.
func masked(v any, hides func(path string) bool, path string) any {
	if path != "" && hides(path) {
		return mask
	}
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			inner := name
			if path != "" {
				inner = path + "." + name
			}
			v[name] = masked(field, hides, inner)
		}
	case []any:
		for i := range v {
			v[i] = masked(v[i], hides, path)
		}
	}
	return v
}
