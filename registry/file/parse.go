package file

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/weftrpc/weft"
)

// services are the instances that the file names, by service.
type services map[string][]weft.Instance

// parser reads the file that people write. It is strict, because what people
// misspell would otherwise be silently left out.
type parser struct {
	path    string
	data    []byte
	decoder *json.Decoder // of data
}

// parse reads the content of the file at path. Errors begin with "path:line:column: ",
// which count from 1, columns in characters.
func parse(path string, data []byte) (services, error) {
	p := &parser{path: path, data: data, decoder: json.NewDecoder(bytes.NewReader(data))}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, p.wrongJSON(0, err)
	}
	// The file is JSON, so from here on only its shape can be wrong.
	var all services
	err := p.object(`the file is an object with the field "services"`, func(at int, field string) (err error) {
		switch {
		case field != "services":
			return p.wrong(at, `unknown field %q: the file has one field, "services"`, field)
		case all != nil:
			return p.wrong(at, `the field "services" is there twice`)
		}
		all, err = p.services()
		return err
	})
	if err == nil && all == nil {
		all = services{}
	}
	return all, err
}

func (p *parser) services() (services, error) {
	all := make(services)
	err := p.object(`"services" is an object whose fields are the names of services`, func(at int, service string) error {
		if _, twice := all[service]; twice {
			return p.wrong(at, "the service %q is there twice", service)
		}
		list, err := p.list(service)
		all[service] = list
		return err
	})
	return all, err
}

// object reads an object, and calls field for the position and the name of each
// field, to read its value.
func (p *parser) object(want string, field func(at int, name string) error) error {
	if err := p.open('{', want); err != nil {
		return err
	}
	for p.decoder.More() {
		at := p.next()
		name, err := p.decoder.Token()
		if err != nil {
			return p.wrongJSON(0, err)
		}
		if err := field(at, name.(string)); err != nil {
			return err
		}
	}
	_, err := p.decoder.Token() // the end
	return err
}

// list reads the instances of a service.
func (p *parser) list(service string) ([]weft.Instance, error) {
	if err := p.open('[', fmt.Sprintf("the service %q is a list of instances", service)); err != nil {
		return nil, err
	}
	list := []weft.Instance{}
	ids := make(map[string]bool)
	for p.decoder.More() {
		at := p.next()
		var value json.RawMessage
		if err := p.decoder.Decode(&value); err != nil {
			return nil, p.wrongJSON(0, err)
		}
		i, err := p.instance(at, service, value)
		if err != nil {
			return nil, err
		}
		if ids[i.ID] {
			return nil, p.wrong(at, "the service %q has two instances with the ID %q", service, i.ID)
		}
		ids[i.ID] = true
		list = append(list, i)
	}
	_, err := p.decoder.Token() // the end
	return list, err
}

func (p *parser) instance(at int, service string, value []byte) (weft.Instance, error) {
	var i weft.Instance
	if value[0] != '{' {
		return i, p.wrong(at, `an instance is an object such as {"address": "tcp://10.0.0.7:8972"}`)
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&i); err != nil {
		return i, p.wrongJSON(at, err)
	}
	if i.Service != "" && i.Service != service {
		return i, p.wrong(at, "an instance of %q is among those of %q", i.Service, service)
	}
	i.Service = service
	i.ID = cmp.Or(i.ID, i.Address)
	if err := i.Check(); err != nil {
		return i, p.wrong(at, "%w", err)
	}
	return i, nil
}

// open reads the begin of an object or a list.
func (p *parser) open(delim json.Delim, want string) error {
	at := p.next()
	token, err := p.decoder.Token()
	if err != nil {
		return p.wrongJSON(0, err)
	}
	if token != delim {
		return p.wrong(at, "%s", want)
	}
	return nil
}

// next is the position of the next value.
func (p *parser) next() int {
	at := int(p.decoder.InputOffset())
	for at < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[at]) >= 0 {
		at++
	}
	return at
}

// wrongJSON says what is wrong with the JSON of a value that begins at a position.
func (p *parser) wrongJSON(at int, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return p.wrong(at+int(syntax.Offset)-1, "%w", err)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return p.wrong(at+int(kind.Offset)-1, "%w", err)
	}
	return p.wrong(at, "%w", err)
}

// wrong makes an error of what is wrong at a position.
func (p *parser) wrong(at int, format string, args ...any) error {
	before := p.data[:min(max(at, 0), len(p.data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Errorf("%s:%d:%d: %w", p.path, line, column, fmt.Errorf(format, args...))
}
