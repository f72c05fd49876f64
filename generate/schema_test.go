package generate_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/generate"
	"github.com/weftrpc/weft/generate/internal/shop"
	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/compare"
	"github.com/weftrpc/weft/schema/export"
)

// TestSchemaIsTheServers compares what a source says with what a server says that has registered its types.
func TestSchemaIsTheServers(t *testing.T) {
	got, err := generate.Schema(t.Context(), generate.Config{Inputs: []string{"./internal/shop"}})
	if err != nil {
		t.Fatal(err)
	}
	b := schema.NewBuilder()
	order, query := reflect.TypeFor[shop.Order](), reflect.TypeFor[shop.Query]()
	for _, m := range []struct {
		service, name, kind string
		request, reply      reflect.Type
	}{
		{"Orders", "Put", schema.Unary, order, order}, {"Orders", "Fill", schema.Unary, order, order}, {"Orders", "Copy", schema.Unary, order, order},
		{"Orders", "List", schema.ServerStream, query, order}, {"Orders", "When", schema.Unary, reflect.TypeFor[time.Time](), reflect.TypeFor[time.Duration]()},
		{"Flows", "PutAll", schema.ClientStream, order, query}, {"Flows", "Swap", schema.BidiStream, order, order},
		{"shop.v1.Named", "Get", schema.Unary, query, query},
	} {
		b.Add(m.service, schema.Method{Name: m.name, Kind: m.kind, Idempotent: m.name == "Put", Request: b.Reflect(m.request, ""), Reply: b.Reflect(m.reply, "")})
	}
	want, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	if changes := compare.Models(want, got); len(changes) > 0 || len(compare.Models(got, want)) > 0 {
		t.Errorf("%+v", changes)
	}
	for _, m := range []*schema.Model{got, want} {
		for _, s := range m.Services {
			s.Doc = ""
			for _, one := range s.Methods {
				one.Doc = ""
			}
		}
		for _, one := range m.Messages {
			one.Doc = ""
			for _, f := range one.Fields {
				f.Doc = ""
			}
		}
	}
	a, err := got.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := want.Encode(); err != nil || string(a) != string(b) {
		t.Errorf("the source says\n%s\nand the server\n%s\n%v", a, b, err)
	}
}

// write writes the files of a module.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		at := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestSchemaOfSources has the comments of sources, generic and anonymous types, and types of other packages.
func TestSchemaOfSources(t *testing.T) {
	folder := write(t, map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n", "a/shop/line.go": "package shop\n\ntype Line struct{ N int }\n", "shop/shop.go": `package shop

import (
	"context"

	a "example.org/m/a/shop"
)

// Line is a line.
type Line struct {
	// N counts.
	N     int
	Other a.Line // is of another package
	Page  Page[a.Line]
	Place struct{ X, Y int }
	Level Level
}

type (
	// Page is a page.
	Page[T any] struct{ Items []T }
	Level int
)

func (l *Level) MarshalText() ([]byte, error) { return nil, nil }

// Shop sells.
//
//weft:service
type Shop interface {
	// Buy buys.
	Buy(ctx context.Context, req *Line) (*struct{ Sum int }, error)
}
`})
	m, err := generate.Schema(t.Context(), generate.Config{Dir: folder, Inputs: []string{"./shop"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := export.Write(m, export.TypeScript, schema.Info{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/** Line is a line. */\nexport interface m_shop_Line {", "   * N counts.\n", "/** is of another package */\n  Other: a_shop_Line;", "/** Page is a page. */",
		"Page: Page_Line;", "  Level: string;", "X: number;", "Shop sells.", "/** Buy buys. */\n  Buy(request: m_shop_Line): Promise<Shop_Buy_Reply>;"} {
		if !strings.Contains(string(out.Files[0].Content), want) {
			t.Errorf("there is no %q in\n%s", want, out.Files[0].Content)
		}
	}
}

// TestSchemaBesideOutputs has the output for a .proto file, with a comment that looks like a directive, beside a service.
func TestSchemaBesideOutputs(t *testing.T) {
	folder := write(t, map[string]string{
		"go.mod":  "module example.org/p\n\ngo 1.26\n",
		"p.go":    "package p\n\nimport \"context\"\n\n//weft:service\ntype S interface{ M(ctx context.Context, req *R) (*R, error) }\n\ntype R struct{ A int }\n",
		"q.proto": "syntax = \"proto3\";\npackage q;\nmessage Q {}\nservice T {\n  // weft:idempotent would be wrong here.\n  rpc Get(Q) returns (Q);\n}\n",
	})
	cfg := generate.Config{Dir: folder, Inputs: []string{"q.proto"}, Package: "p"}
	outputs, err := generate.Generate(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := generate.Write(outputs); err != nil {
		t.Fatal(err)
	}
	m, err := generate.Schema(t.Context(), generate.Config{Dir: folder})
	if err != nil || len(m.Services) != 1 || m.Services[0].Name != "S" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestSchemaErrors(t *testing.T) {
	const head = "package p\n\nimport \"context\"\n\n//weft:service\ntype S interface{ M(ctx context.Context, req *R) (*R, error) }\n\n"
	for want, text := range map[string]string{
		"no service is declared": "package p\n",
		"type is not known":      head,
		"R_C is a chan":          head + "type R struct{ C chan int }\n",
		"give the .proto file":   head + "type R struct{}\nfunc (*R) ProtoReflect() {}\n",
		"expected 'package'":     "x",
	} {
		folder := write(t, map[string]string{"go.mod": "module example.org/p\n\ngo 1.26\n", "p.go": text})
		if _, err := generate.Schema(context.Background(), generate.Config{Dir: folder}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	folder := write(t, map[string]string{"a.proto": "syntax = \"proto3\";\nmessage A {}\n"})
	if _, err := generate.Schema(t.Context(), generate.Config{Dir: folder, Inputs: []string{"a.proto"}}); err == nil || !strings.Contains(err.Error(), "no service is declared") {
		t.Error(err)
	}
	if _, err := generate.Schema(t.Context(), generate.Config{Dir: folder, Inputs: []string{"a.thrift"}}); err == nil || !strings.Contains(err.Error(), "a .thrift file is not read") {
		t.Error(err)
	}
	if _, err := generate.Schema(t.Context(), generate.Config{Dir: folder, Inputs: []string{"b.proto"}}); err == nil {
		t.Error("a file that is not there is no error")
	}
}

// TestNoModule reads a package that is in no module, of which the go command finds nothing, and one that is not there.
func TestNoModule(t *testing.T) {
	t.Setenv("GOWORK", "off")
	folder := write(t, map[string]string{"p/p.go": "package p\n\nimport \"context\"\n\n//weft:service\ntype S interface{ M(ctx context.Context, req *S) (*S, error) }\n"})
	inModule := write(t, map[string]string{"go.mod": "module example.org/p\n\ngo 1.26\n", "p.go": "package p\n"})
	for _, test := range []struct{ dir, input, want string }{
		{folder, "./p", "./p: the go command finds no package: run this in the module of the package"},
		{inModule, "./q", "directory not found"},
	} {
		cfg := generate.Config{Dir: test.dir, Inputs: []string{test.input}}
		if _, err := generate.Schema(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), test.want) || strings.HasPrefix(err.Error(), "-") {
			t.Errorf("Schema: %v, want %q", err, test.want)
		}
		if _, err := generate.Generate(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), test.want) || strings.HasPrefix(err.Error(), "-") {
			t.Errorf("Generate: %v, want %q", err, test.want)
		}
	}
}
