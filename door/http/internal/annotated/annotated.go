// Package annotated reads the addresses that the option google.api.http gives methods in .proto files.
package annotated

import (
	"fmt"
	nethttp "net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/weftrpc/weft/door/http/internal/route"
	"github.com/weftrpc/weft/door/internal/fields"
)

// option is the number of google.api.http among the options of a method. Its value is a google.api.HttpRule.
const option = 72295728

// The fields of an HttpRule.
const (
	ruleGet      = 2
	rulePut      = 3
	rulePost     = 4
	ruleDelete   = 5
	rulePatch    = 6
	ruleBody     = 7
	ruleCustom   = 8
	ruleMore     = 11
	ruleResponse = 12
)

// Routes are the addresses of the method with a name, if the code of protoc-gen-go for its file is part of the program. wrong is why others
// cannot be served.
func Routes(name string) (all []*route.Route, wrong []error) {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	method, ok := d.(protoreflect.MethodDescriptor)
	if err != nil || !ok {
		return nil, nil
	}
	options, err := proto.Marshal(method.Options())
	if err != nil {
		return nil, []error{err}
	}
	fields.Each(options, func(n protowire.Number, value []byte) {
		if n != option {
			return
		}
		rules := [][]byte{value}
		fields.Each(value, func(n protowire.Number, more []byte) {
			if n == ruleMore {
				rules = append(rules, more)
			}
		})
		for _, rule := range rules {
			if r, err := routeOf(method, rule); err != nil {
				wrong = append(wrong, err)
			} else {
				all = append(all, r)
			}
		}
	})
	return all, wrong
}

// routeOf is the address of an HttpRule for a method.
func routeOf(m protoreflect.MethodDescriptor, rule []byte) (*route.Route, error) {
	verb, template, body, reply := "", "", "", ""
	var err error
	fields.Each(rule, func(n protowire.Number, value []byte) {
		switch n {
		case ruleGet, rulePut, rulePost, ruleDelete, rulePatch:
			verb, template = verbOf(n), string(value)
		case ruleBody:
			body = string(value)
		case ruleCustom:
			err = fmt.Errorf("http: google.api.http has a verb of its own (custom), which this door does not serve")
		case ruleResponse:
			reply = string(value)
		}
	})
	if err != nil {
		return nil, err
	}
	path, err := pathOf(m.Input(), template)
	if err != nil {
		return nil, err
	}
	r, err := route.Parse(verb, path)
	if err != nil {
		return nil, err
	}
	if body != "" && !r.TakesBody() {
		return nil, fmt.Errorf("http: google.api.http has a body for %s, which this door reads for POST, PUT and PATCH", verb)
	}
	if body != "" && body != "*" {
		if r.Body, err = jsonName(m.Input(), body); err != nil {
			return nil, err
		}
	}
	if reply != "" {
		r.Reply, err = jsonName(m.Output(), reply)
	}
	return r, err
}

func verbOf(n protowire.Number) string {
	switch n {
	case ruleGet:
		return nethttp.MethodGet
	case rulePut:
		return nethttp.MethodPut
	case rulePost:
		return nethttp.MethodPost
	case ruleDelete:
		return nethttp.MethodDelete
	}
	return nethttp.MethodPatch
}

// pathOf is a path of google.api.http as one of Get, with names of JSON.
func pathOf(in protoreflect.MessageDescriptor, template string) (string, error) {
	var path strings.Builder
	for rest := template; ; {
		literal, more, found := strings.Cut(rest, "{")
		if slices.ContainsFunc(strings.Split(literal, "/"), func(s string) bool { return strings.HasPrefix(s, "*") }) {
			return "", fmt.Errorf("http: the path %q of google.api.http has a wildcard without a name, which this door does not serve", template)
		}
		path.WriteString(literal)
		if !found {
			return path.String(), nil
		}
		field, behind, closed := strings.Cut(more, "}")
		if !closed {
			return "", fmt.Errorf("http: the path %q of google.api.http has a { without its }", template)
		}
		field, pattern, _ := strings.Cut(field, "=")
		name, err := jsonName(in, field)
		if err != nil {
			return "", err
		}
		path.WriteString("{" + name)
		if pattern != "" {
			path.WriteString("=" + pattern)
		}
		path.WriteByte('}')
		rest = behind
	}
}

// jsonName is the name in JSON of a field of a message, or of a field of a field, with dots.
func jsonName(in protoreflect.MessageDescriptor, field string) (string, error) {
	var names []string
	for part := range strings.SplitSeq(field, ".") {
		var f protoreflect.FieldDescriptor
		if in != nil {
			f = in.Fields().ByName(protoreflect.Name(part))
		}
		if f == nil {
			return "", fmt.Errorf("http: google.api.http names a field %q that the message does not have", field)
		}
		names = append(names, f.JSONName())
		in = f.Message()
	}
	return strings.Join(names, "."), nil
}
