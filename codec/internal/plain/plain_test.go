package plain

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

type (
	Base struct {
		ID   int
		Name string
	}
	Other  struct{ ID int }
	hidden struct{ X int }
	coded  struct {
		X int `weft:"1"`
	}
)

func TestFields(t *testing.T) {
	sent, rest, err := Fields(reflect.TypeFor[struct {
		Base
		Name  string
		Title string `json:"title,omitempty"`
		Left  int    `json:"-"`
		own   int
	}]())
	if err != nil {
		t.Fatal(err)
	}
	show := func(all []Field) string {
		var out []string
		for _, f := range all {
			out = append(out, fmt.Sprint(f.JSON, f.Path))
		}
		return strings.Join(out, " ")
	}
	if got := show(sent); got != "Name[1] title[2] ID[0 0]" {
		t.Errorf("sent are %s", got)
	}
	if got := show(rest); got != "[3] own[4] Name[0 1]" {
		t.Errorf("the rest is %s", got)
	}
}

func TestErrors(t *testing.T) {
	for why, typ := range map[string]reflect.Type{
		`two fields with the name "ID"`: reflect.TypeFor[struct {
			Base
			Other
		}](),
		"has no exported field":                   reflect.TypeFor[struct{ a, b int }](),
		"what is in struct { plain.coded }.coded": reflect.TypeFor[struct{ coded }](),
		"what is in": reflect.TypeFor[struct {
			hidden `json:"h"`
		}](),
		"Base is an embedded pointer": reflect.TypeFor[struct{ *Base }](),
	} {
		if _, _, err := Fields(typ); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("want %q: %v", why, err)
		}
	}
}
