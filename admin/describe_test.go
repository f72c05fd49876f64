package admin_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/schema"
)

func TestDescribe(t *testing.T) {
	r := start(t, nil, nil)
	if err := r.srv.Alias("Maths.Times", "Arith.Mul"); err != nil {
		t.Fatal(err)
	}
	a := r.admin("")
	d, err := a.Describe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, s := range d.Services {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"Arith", "weft.Admin"}) || d.Phase != "serving" || d.Program.Go == "" || d.Program.PID == 0 {
		t.Errorf("%v, %+v", names, d)
	}
	for _, name := range []string{"Arith.Mul", "Maths", "Maths.Times"} {
		d, err = a.Describe(t.Context(), &admin.DescribeRequest{Name: name})
		if err != nil || len(d.Services) != 1 || len(d.Services[0].Methods) != 1 {
			t.Fatalf("%s: %+v, %v", name, d, err)
		}
		m := d.Services[0].Methods[0]
		if m.Name != "Arith.Mul" || m.Kind != "unary" || m.Request != "admin_test.Args" || m.Reply != "admin_test.Product" || !m.Idempotent ||
			m.Doc != "Mul multiplies." || !slices.Equal(m.Aliases, []string{"Maths.Times"}) {
			t.Errorf("%s: %+v", name, m)
		}
		var schema struct {
			Ref  string `json:"$ref"`
			Defs map[string]struct {
				Type       string
				Properties map[string]any
			} `json:"$defs"`
		}
		if err := json.Unmarshal([]byte(m.RequestSchema), &schema); err != nil {
			t.Fatal(err)
		}
		if args := schema.Defs["admin_test.Args"]; schema.Ref != "#/$defs/admin_test.Args" || args.Type != "object" || len(args.Properties) != 3 || len(schema.Defs) != 2 {
			t.Errorf("%s", m.RequestSchema)
		}
	}
	d, err = a.Describe(t.Context(), &admin.DescribeRequest{Name: "Arith", NoSchemas: true})
	if err != nil || len(d.Services) != 1 || len(d.Services[0].Methods) != 4 || d.Services[0].Methods[0].RequestSchema != "" || d.Services[0].Methods[0].Kind != "server stream" {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = a.Describe(t.Context(), &admin.DescribeRequest{Name: "Arith", Model: true, NoSchemas: true})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := schema.Decode([]byte(d.Model)); err != nil || len(m.Services) != 1 || len(m.Services[0].Methods) != len(d.Services[0].Methods) || len(m.Messages) == 0 {
		t.Errorf("%v, %s", err, d.Model)
	}
	_, err = a.Describe(t.Context(), &admin.DescribeRequest{Name: "None"})
	isError(t, err, weft.NotFound)
}
