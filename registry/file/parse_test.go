package file

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, data string
		want       []string // service, ID, address and weight of each instance
	}{
		{"empty object", `{}`, nil},
		{"no services", `{"services": {}}`, nil},
		{"no instances", ` {"services" : {"Arith" : [ ] } } `, nil},
		{"least", `{"services":{"Arith":[{"address":"tcp://10.0.0.7:8972"}]}}`, []string{"Arith tcp://10.0.0.7:8972 tcp://10.0.0.7:8972 0"}},
		{"several", `{
			"services": {
				"Arith": [
					{"id": "b", "address": "tcp://10.0.0.8:8972", "weight": 300, "state": "draining"},
					{"id": "a", "address": "unix:///tmp/a", "service": "Arith", "tags": {"x": "y"}}
				],
				"größe/服务": [{"address": "tcp://10.0.0.9:1"}]
			}
		}
		`, []string{"Arith b tcp://10.0.0.8:8972 300", "Arith a unix:///tmp/a 0", "größe/服务 tcp://10.0.0.9:1 tcp://10.0.0.9:1 0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			all, err := parse("x.json", []byte(test.data))
			if err != nil || all == nil {
				t.Fatalf("parse returned %v, %v", all, err)
			}
			var got []string
			for _, list := range all {
				for _, i := range list {
					got = append(got, fmt.Sprintf("%s %s %s %d", i.Service, i.ID, i.Address, i.Weight))
				}
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	const good = `{"address": "tcp://10.0.0.7:8972"}`
	for _, test := range []struct {
		name, data string
		want       string // the position and some words
	}{
		{"empty", ``, "x.json:1:1: unexpected end"},
		{"no JSON", `hello`, "x.json:1:1: invalid character 'h'"},
		{"comma missing", "{\n  \"services\": {\n    \"Arith\": [" + good + "\n    \"Greeter\": []\n  }\n}", "x.json:4:5: invalid character '\"' after array element"},
		{"comma too many", "{\n  \"services\": {\n    \"Arith\": [" + good + ",]\n  }\n}", "x.json:3:50: invalid character ']'"},
		{"cut", `{"services": {`, "x.json:1:14: unexpected end"},
		{"two files", "{}\n{}", "x.json:2:1: invalid character '{' after top-level value"},
		{"list", `[]`, "x.json:1:1: the file is an object"},
		{"misspelled", "{\n\t\"servces\": {}}", `x.json:2:2: unknown field "servces"`},
		{"services twice", `{"services": {}, "services": {}}`, `x.json:1:18: the field "services" is there twice`},
		{"services a list", `{"services": []}`, `x.json:1:14: "services" is an object`},
		{"services null", `{"services": null}`, `x.json:1:14: "services" is an object`},
		{"a service twice", "{\"services\": {\"Größe\": [], \"A\": [],\n \"A\": []}}", `x.json:2:2: the service "A" is there twice`},
		{"columns are characters", "{\"services\": {\"Größe\": [], \"Größe\": []}}", `x.json:1:28: the service "Größe" is there twice`},
		{"service an object", `{"services": {"A": {}}}`, `x.json:1:20: the service "A" is a list`},
		{"instance a string", `{"services": {"A": ["tcp://10.0.0.7:1"]}}`, "x.json:1:21: an instance is an object such as"},
		{"instance null", `{"services": {"A": [null]}}`, "x.json:1:21: an instance is an object"},
		{"unknown field", "{\"services\": {\"A\": [" + good + ",\n   {\"adress\": \"x\"}]}}", `x.json:2:4: json: unknown field "adress"`},
		{"wrong type", "{\"services\": {\"A\": [\n {\"address\": \"tcp://10.0.0.7:1\",\n  \"weight\": \"much\"}]}}", "x.json:3:"},
		{"wrong state", `{"services": {"A": [{"address": "tcp://10.0.0.7:1", "state": "dead"}]}}`, "want on, draining or off"},
		{"no address", `{"services": {"A": [{}]}}`, `instance "" of service "A": address ""`},
		{"bad address", `{"services": {"A": [{"address": "10.0.0.7:8972"}]}}`, "x.json:1:21: "},
		{"other service", `{"services": {"A": [{"service": "B", "address": "tcp://10.0.0.7:1"}]}}`, `an instance of "B" is among those of "A"`},
		{"bad service", `{"services": {"A B": [` + good + `]}}`, "the service needs a name"},
		{"ID twice", `{"services": {"A": [` + good + `, ` + good + `]}}`, `x.json:1:57: the service "A" has two instances with the ID "tcp://10.0.0.7:8972"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			all, err := parse("x.json", []byte(test.data))
			if err == nil {
				t.Fatalf("parse took it: %v", all)
			}
			if !strings.HasPrefix(err.Error(), "x.json:") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %q, want %q", err, test.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"services":{"Arith":[{"address":"tcp://10.0.0.7:8972","position":{"lat":1,"lon":2}}]}}`))
	f.Add([]byte("{\n\"services\": {\"A\": [null, {\"id\": \"\\ud800\"}]}, \"x\": 1}"))
	f.Add([]byte(`{"services":{"":[{"address":"a:b"}]}}{`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parse("x.json", data)
		if err != nil {
			var line, column int
			if n, _ := fmt.Sscanf(err.Error(), "x.json:%d:%d: ", &line, &column); n != 2 || line < 1 || column < 1 {
				t.Errorf("the error has no position: %v", err)
			}
			return
		}
		for service, list := range all {
			for _, i := range list {
				if err := i.Check(); err != nil || i.Service != service {
					t.Errorf("it took %+v of %q: %v", i, service, err)
				}
			}
			ids := slices.SortedFunc(slices.Values(list), func(a, b weft.Instance) int { return strings.Compare(a.ID, b.ID) })
			if len(slices.CompactFunc(ids, func(a, b weft.Instance) bool { return a.ID == b.ID })) != len(list) {
				t.Errorf("it took two instances with the same ID: %+v", list)
			}
		}
	})
}
