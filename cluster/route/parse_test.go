package route_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/route"
)

// everything is a document with every field there is.
const everything = `{
  "version": 7, "time": "2026-01-31T15:04:05Z", "by": "ann", "note": "two <new> servers\nand a canary",
  "instances": [
    {"name": "disk", "match": {"id": "a1", "address": "*", "group": ["", "new"], "zone": "eu-*"}, "weight": 50, "state": "draining"},
    {"match": {"tags": {"gpu": "no", "rack": ["1", "2"]}}, "weight": 0}
  ],
  "routes": [
    {"name": "beta", "when": {"methods": ["Say", "Get*"], "metadata": [{"key": "user", "in": ["ann", "beta-*"]}]}, "by": "user",
     "to": [{"percent": 99.75, "match": {"version": "1.*"}}, {"percent": 0.25, "match": {"version": "2.0"}}], "else": "fail"},
    {"name": "rest", "to": [{"match": {"id": "*"}}], "else": "any"}
  ],
  "methods": {
    "Say": {"timeout": "250ms", "attempts": 3, "idempotent": true, "fail_mode": "failover", "max_in_flight": 100, "rate": 50.5},
    "*": {"timeout": "1m0s", "idempotent": false}
  },
  "history": [{"version": 6, "a field of the future": [{}]}]
}`

func TestParse(t *testing.T) {
	rules := parse(t, everything)
	v := rules.Revision()
	for _, test := range []struct {
		name      string
		got, want any
	}{
		{"version", v.Version, 7},
		{"time", v.Time, time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC)},
		{"by", v.By, "ann"},
		{"note", v.Note, "two <new> servers\nand a canary"},
		{"instances", len(v.Instances), 2},
		{"list", v.Instances[0].Match.Group, route.Patterns{"", "new"}},
		{"single", v.Instances[0].Match.ID, route.Patterns{"a1"}},
		{"weight", *v.Instances[0].Weight, 50},
		{"weight 0", *v.Instances[1].Weight, 0},
		{"state", *v.Instances[0].State, weft.Draining},
		{"tags", v.Instances[1].Match.Tags["rack"], route.Patterns{"1", "2"}},
		{"condition", v.Routes[0].When.Metadata[0], route.Condition{Key: "user", In: route.Patterns{"ann", "beta-*"}}},
		{"percent", v.Routes[0].To[1].Percent, 0.25},
		{"percent of a side alone", v.Routes[1].To[0].Percent, 100.0},
		{"else", v.Routes[0].Else, route.Fail},
		{"timeout", v.Methods["Say"].Timeout, 250 * time.Millisecond},
		{"method", v.Methods["Say"].String(), "timeout 250ms, 3 attempts, idempotent, failover, 100 in flight, 50.5 calls/s"},
		{"other method", v.Methods["*"].String(), "timeout 1m0s, not idempotent"},
	} {
		if fmt.Sprint(test.got) != fmt.Sprint(test.want) {
			t.Errorf("%s is %v, want %v", test.name, test.got, test.want)
		}
	}
	text := rules.Encode()
	again := parse(t, string(text))
	if string(again.Encode()) != string(text) {
		t.Errorf("encoded twice it differs:\n%s\n%s", text, again.Encode())
	}
	if strings.Contains(string(text), "history") || !strings.Contains(string(text), "two <new> servers") {
		t.Errorf("encoded as\n%s", text)
	}
	text[0] = 'x'
	if rules.Encode()[0] != '{' {
		t.Error("a change of the encoded bytes changes the rules")
	}
}

func TestParseRefuses(t *testing.T) {
	in := func(field, value string) string { return `{"` + field + `":` + value + `}` }
	routes := func(r string) string { return in("routes", "["+r+"]") }
	for _, test := range []struct {
		name   string
		doc    string
		at     string // line and column
		field  string
		reason string // a part of it
	}{
		{"empty", " ", "0:0", "", "write {}"},
		{"not JSON", "{\n  \"note\": nope}", "2:12", "", "not JSON"},
		{"cut off", `{"note":`, "1:8", "", "not JSON"},
		{"trailing data", "{}\n{}", "2:1", "", "not JSON"},
		{"trailing comma", `{"routes":[],}`, "1:14", "", "not JSON"},
		{"not UTF-8", "{\"note\":\"a\xff\"}", "1:11", "", "UTF-8"},
		{"columns count characters", `{"note":"äöü", nope}`, "1:16", "", "not JSON"},
		{"too large", in("note", `"`+strings.Repeat("x", route.MaxDocument)+`"`), "0:0", "", "at most 262144 are allowed"},
		{"not an object", `[]`, "1:1", "", "this is a list: it must be an object"},
		{"null", `null`, "1:1", "", "this is null: it must be an object"},
		{"unknown field", `{"rules":1}`, "1:2", "", `no field "rules": the fields are by, history, instances`},
		{"other case", `{"Routes":[]}`, "1:2", "", `no field "Routes"`},
		{"unknown field inside", routes(`{"name":"r","when":{"method":"Say"}}`), "1:32", "routes[0].when", "the fields are metadata, methods"},
		{"twice", "{\"note\":\"\",\n \"note\":\"\"}", "2:2", "", `"note" stands here twice`},
		{"twice inside", in("methods", `{"A":{"rate":1},"A":{"rate":2}}`), "1:28", "methods", `"A" stands here twice`},
		{"wrong type", in("note", "1"), "1:9", "note", "this is 1: it must be a string"},
		{"list for object", in("methods", "[]"), "1:12", "methods", "this is a list: it must be an object"},
		{"object for list", in("routes", "{}"), "1:11", "routes", "this is an object: it must be a list"},
		{"null for a list", in("routes", "null"), "1:11", "routes", "this is null"},
		{"time", in("time", `"yesterday"`), "1:9", "time", "is not a moment"},
		{"version", in("version", "1.5"), "1:12", "version", "1.5 is not a whole number"},
		{"version below 0", in("version", "-1"), "1:12", "version", "below 0"},
		{"number beyond all", in("version", "1e999"), "1:12", "version", "not a whole number"},

		{"rule without a match", in("instances", `[{"weight":1}]`), "1:15", "instances[0].match", "name at least one field"},
		{"rule with an empty match", in("instances", `[{"match":{},"weight":1}]`), "1:24", "instances[0].match", `"id":"*"`},
		{"rule with an empty list", in("instances", `[{"match":{"id":[]},"weight":1}]`), "1:30", "instances[0].match.id", "empty list matches nothing"},
		{"rule that says nothing", in("instances", `[{"match":{"id":"x"}}]`), "1:15", "instances[0]", "the rule says nothing"},
		{"weight", in("instances", `[{"match":{"id":"x"},"weight":-1}]`), "1:44", "instances[0].weight", "-1 is not a weight"},
		{"state", in("instances", `[{"match":{"id":"x"},"state":"down"}]`), "1:43", "instances[0].state", `"on", "draining" or "off"`},
		{"control character", in("instances", `[{"match":{"id":["x","a\u0000"]},"weight":1}]`), "1:35", "instances[0].match.id[1]", "not printable"},
		{"long name", in("instances", `[{"match":{"tags":{"t":"`+strings.Repeat("x", 256)+`"}},"weight":1}]`), "1:37", `instances[0].match.tags["t"]`, "256 bytes"},
		{"many rules", in("instances", "["+strings.Repeat(`{"match":{"id":"x"},"weight":1},`, 500)+`{}]`), "1:14", "instances", "more than 500"},

		{"no name", routes(`{"to":[{"match":{"id":"*"}}]}`), "1:12", "routes[0].name", "name of its own"},
		{"a name twice", routes(`{"name":"r","to":[{"match":{"id":"*"}}]},{"name":"r","to":[{"match":{"id":"*"}}]}`), "1:61", "routes[1].name", "name of its own"},
		{"no sides", routes(`{"name":"r"}`), "1:12", "routes[0].to", "leads nowhere"},
		{"95 percent", "{\"routes\":[{\"name\":\"r\",\n\"to\":[{\"percent\":90,\"match\":{\"id\":\"a\"}},{\"percent\":5,\"match\":{\"id\":\"b\"}}]}]}", "2:6", "routes[0].to", "add up to 95: make it 100"},
		{"99.99 percent", routes(`{"name":"r","to":[{"percent":33.33,"match":{"id":"a"}},{"percent":66.66,"match":{"id":"b"}}]}`), "1:29", "routes[0].to", "add up to 99.99"},
		{"one side of 50", routes(`{"name":"r","to":[{"percent":50,"match":{"id":"a"}}]}`), "1:29", "routes[0].to", "add up to 50"},
		{"percent missing", routes(`{"name":"r","to":[{"percent":100,"match":{"id":"a"}},{"match":{"id":"b"}}]}`), "1:65", "routes[0].to[1]", "there is no percent"},
		{"percent below 0", routes(`{"name":"r","to":[{"percent":-1,"match":{"id":"a"}},{"percent":101,"match":{"id":"b"}}]}`), "1:41", "routes[0].to[0].percent", "from 0 to 100"},
		{"three decimals", routes(`{"name":"r","to":[{"percent":0.001,"match":{"id":"a"}},{"percent":99.999,"match":{"id":"b"}}]}`), "1:41", "routes[0].to[0].percent", "two decimals"},
		{"many sides", routes(`{"name":"r","to":[` + strings.Repeat(`{"percent":0,"match":{"id":"a"}},`, 8) + `{}]}`), "1:29", "routes[0].to", "more than 8"},
		{"else", routes(`{"name":"r","to":[{"match":{"id":"a"}}],"else":"drop"}`), "1:59", "routes[0].else", `neither "any" nor "fail"`},
		{"method with its service", routes(`{"name":"r","when":{"methods":"Greeter.Say"},"to":[]}`), "1:42", "routes[0].when.methods", `without its service, "Say"`},
		{"second method", routes(`{"name":"r","when":{"methods":["Say",""]},"to":[]}`), "1:49", "routes[0].when.methods[1]", "method is missing"},
		{"condition without values", routes(`{"name":"r","when":{"metadata":[{"key":"user"}]},"to":[]}`), "1:44", "routes[0].when.metadata[0]", `no "in"`},
		{"condition without a key", routes(`{"name":"r","when":{"metadata":[{"in":"user"}]},"to":[]}`), "1:44", "routes[0].when.metadata[0].key", "key is missing"},
		{"reserved key", routes(`{"name":"r","by":"weft-key","to":[]}`), "1:29", "routes[0].by", "reserved"},
		{"credentials", routes(`{"name":"r","when":{"metadata":[{"key":"Authorization","in":"Bearer 1"}]},"to":[]}`), "1:51", "routes[0].when.metadata[0].key", "credentials"},

		{"timeout without a unit", in("methods", `{"Say":{"timeout":"250"}}`), "1:30", `methods["Say"].timeout`, `"250ms"`},
		{"timeout as a number", in("methods", `{"Say":{"timeout":250}}`), "1:30", `methods["Say"].timeout`, `must be a time such as "250ms"`},
		{"timeout below 0", in("methods", `{"Say":{"timeout":"-1s"}}`), "1:30", `methods["Say"].timeout`, "not a time up to 24h"},
		{"timeout 0", in("methods", `{"Say":{"timeout":"0s"}}`), "1:30", `methods["Say"].timeout`, "0 says nothing"},
		{"attempts", in("methods", `{"Say":{"attempts":11}}`), "1:31", `methods["Say"].attempts`, "from 1 to 10"},
		{"attempts 0", in("methods", `{"Say":{"attempts":0}}`), "1:31", `methods["Say"].attempts`, "0 says nothing"},
		{"rate 0", in("methods", `{"Say":{"rate":0.0}}`), "1:27", `methods["Say"].rate`, "0 says nothing"},
		{"rate", in("methods", `{"Say":{"rate":-5}}`), "1:27", `methods["Say"].rate`, "above 0"},
		{"rate beyond all", in("methods", `{"Say":{"rate":1e999}}`), "1:27", `methods["Say"].rate`, "too large"},
		{"in flight", in("methods", `{"Say":{"max_in_flight":-1}}`), "1:36", `methods["Say"].max_in_flight`, "-1"},
		{"idempotent", in("methods", `{"Say":{"idempotent":"yes"}}`), "1:33", `methods["Say"].idempotent`, "true or false"},
		{"fail mode", in("methods", `{"Say":{"fail_mode":"retry"}}`), "1:32", `methods["Say"].fail_mode`, "failfast, failover"},
		{"hedge that must not be", in("methods", `{"Say":{"fail_mode":"failbackup","idempotent":false}}`), "1:32", `methods["Say"].fail_mode`, "not to be idempotent"},
		{"method name", in("methods", `{"G.Say":{"rate":1}}`), "1:21", `methods["G.Say"]`, "without its service"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rules, err := route.Parse([]byte(test.doc))
			wrong, ok := errors.AsType[*route.Error](err)
			if !ok || rules != nil {
				t.Fatalf("Parse = %v, %v; want an *Error", rules, err)
			}
			if at := fmt.Sprintf("%d:%d", wrong.Line, wrong.Column); at != test.at || wrong.Field != test.field || !strings.Contains(wrong.Reason, test.reason) {
				t.Errorf("%s\nat %s, field %q\nwant %s, field %q, ...%s...", wrong.Reason, at, wrong.Field, test.at, test.field, test.reason)
			}
			if !errors.Is(err, weft.InvalidArgument) {
				t.Error("the error is no weft.InvalidArgument")
			}
			if len(err.Error()) > 1000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	_, err := route.Parse([]byte("{\n  \"routes\": 1\n}"))
	want := "rules: line 2, column 13: routes: this is 1: it must be a list, […]"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

// TestManyKeys: routes may ask for 16 different keys, each by By or a condition.
func TestManyKeys(t *testing.T) {
	doc := func(n int) []byte {
		var v route.Revision
		for i := range n {
			v.Routes = append(v.Routes, route.RouteRule{
				Name: fmt.Sprint("r", i),
				By:   fmt.Sprint("by", i/2*2),
				When: route.When{Metadata: []route.Condition{{Key: fmt.Sprint("by", i), In: route.Patterns{"*"}}}},
				To:   []route.Side{{Percent: 100, Match: route.Match{ID: route.Patterns{"*"}}}},
			})
		}
		text, err := v.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if _, err := route.Parse(doc(16)); err != nil {
		t.Error(err)
	}
	if _, err := route.Parse(doc(17)); err == nil || !strings.Contains(err.Error(), "16 different metadata keys") {
		t.Errorf("17 keys: %v", err)
	}
}

// FuzzParse: what Parse takes can be encoded and parsed again to the same, and
// works on a list without failing; what it refuses it refuses with a place in the
// text.
func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"routes":[{"name":"r","to":[{"percent":12.34,"match":{"id":["*a**b*",""]}},{"percent":87.66,"match":{"tags":{"[.\"]":"*"}}}]}]}`))
	f.Add([]byte(`{"instances":[{"match":{"zone":"a"},"state":"off","weight":0}]}`))
	f.Add([]byte(`{"routes":[{"name":"r","when":{"methods":"Say","metadata":[{"key":"user","in":"ann"}]},"by":"user","to":[{"match":{"id":"*"}}],"else":"fail"}]}`))
	f.Add([]byte(`{"methods":{"a.b":{}, "*":{"timeout":"1h0.5s"}}}`))
	f.Add([]byte("{\"note\":\"\\ud800\",\n\"by\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		rules, err := route.Parse(doc)
		if err != nil {
			wrong, ok := errors.AsType[*route.Error](err)
			if !ok || rules != nil || wrong.Reason == "" {
				t.Fatalf("%v, %v", rules, err)
			}
			if wrong.Line > strings.Count(string(doc), "\n")+1 {
				t.Fatalf("line %d of %q", wrong.Line, doc)
			}
			return
		}
		if !json.Valid(doc) {
			t.Fatalf("%q was taken", doc)
		}
		text := rules.Encode()
		again, err := route.Parse(text)
		if err != nil {
			t.Fatalf("%q was encoded as %q: %v", doc, text, err)
		}
		if string(again.Encode()) != string(text) {
			t.Fatalf("%q and %q", text, again.Encode())
		}
		p := rules.Plan(fleet())
		for _, c := range []route.Call{{}, {Method: "G.Say", Key: "k"}, {Method: "Get", Metadata: weft.NewMetadata("user", "ann"), Random: ^uint64(0)}} {
			target := p.Route(c)
			if target.Subset < route.None || target.Subset >= len(p.Subsets) || target.Else < route.None || target.Else >= len(p.Subsets) {
				t.Fatalf("%+v of %d subsets", target, len(p.Subsets))
			}
			e := p.Explain(c)
			took := ""
			for _, v := range e.Routes {
				if v.Holds {
					took = v.Name
				}
			}
			if e.Target != target || took != target.Rule || e.String() == "" {
				t.Fatalf("explained as %+v, is %+v", e, target)
			}
		}
	})
}
