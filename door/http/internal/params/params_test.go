package params_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/weftrpc/weft/door/http/internal/params"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/schema"
)

func TestMain(m *testing.M) { leak.Main(m) }

func known() map[string]*schema.Schema {
	return map[string]*schema.Schema{
		"i": {Type: "integer"}, "d": {Type: "integer", Duration: true}, "n": {Type: "number"}, "b": {Type: "boolean"}, "s": {Type: "string"},
		"x": {Type: "string", ContentEncoding: "base64"}, "l": {Type: "array", Items: &schema.Schema{Type: "integer"}}, "a.b.c": {Type: "string"}, "any": {},
	}
}

func TestObject(t *testing.T) {
	for query, want := range map[string]string{
		"i=-5&d=1m&n=1e400": "", "i=1.5": "", "b=1": "", "x=***": "", "n=NaN": "", "l=1&l=x": "", "q=1": "", "s=1&s=2": "",
		"i=18446744073709551615": `{"i":18446744073709551615}`, "d=1m30s": `{"d":90000000000}`, "d=7": `{"d":7}`, "n=1e3": `{"n":1000}`,
		"s=%22%0a&any=1": `{"any":"1","s":"\"\n"}`, "x=-_8": `{"x":"+/8="}`, "l=1&l=2": `{"l":[1,2]}`, "a.b.c=v": `{"a":{"b":{"c":"v"}}}`, "": "",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		got, e := params.Object(known(), nil, values)
		if string(got) != want || (e == nil) != (want != "" || query == "") {
			t.Errorf("%s: %s, %v, want %s", query, got, e, want)
		}
	}
}

// FuzzObject: what comes out is JSON, whatever the values are.
func FuzzObject(f *testing.F) {
	f.Add("i=1&s=x&l=1&l=2&a.b.c=v&n=1.5")
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		if got, e := params.Object(known(), map[string]string{"s": query}, values); e == nil && !json.Valid(got) {
			t.Errorf("%s", got)
		}
	})
}
