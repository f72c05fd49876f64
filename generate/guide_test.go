package generate

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/export"
)

// codeOf returns the code of a guide that is in a language.
func codeOf(t *testing.T, guide, language string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../docs/guide", guide))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if block[1] == language {
			all = append(all, block[2])
		}
	}
	return all
}

// TestGuideIsBuilt builds the code of docs/guide/generate.md with what is generated for it.
func TestGuideIsBuilt(t *testing.T) {
	code := codeOf(t, "generate.md", "go")
	if len(code) != 3 {
		t.Fatalf("the guide has %d pieces of code, want 3", len(code))
	}
	method, calls, _ := strings.Cut(code[2], "\n\n")
	use := func(parameters, statements, used string) string {
		return "func use(ctx context.Context, srv *weft.Server, client *weft.Client" + parameters + ") error {\n" + statements + "\t_ = []any{" + used + "}\n\treturn err\n}\n"
	}
	thrift, err := filepath.Abs("../door/thrift")
	if err != nil {
		t.Fatal(err)
	}
	dir := module(t, map[string]string{
		"orders/orders.go": "package orders\n\nimport (\n\t\"context\"\n\t\"iter\"\n)\n\n" + code[0] +
			"\ntype (\n\tOrder struct{ ID int64 }\n\tReceipt struct{ ID int64 }\n\tQuery struct{ ID int64 }\n)\n",
		"orders/use.go": "package orders\n\nimport (\n\t\"context\"\n\t\"time\"\n\n\t\"github.com/weftrpc/weft\"\n)\n\n" +
			use(", store Orders", code[1]+"\torders = NewOrdersClient(client).With(weft.WithTimeout(time.Second))\n", "orders, receipt"),
		"shop/shop.thrift": "struct Order { 1: i64 id }\nexception NotFound { 1: i64 id }\nservice Shop { Order find(1: i64 id) throws (1: NotFound missing) }\n",
		"shop/use.go": "package shop\n\nimport (\n\t\"context\"\n\t\"errors\"\n\n\t\"github.com/weftrpc/weft\"\n)\n\ntype shop struct{}\n\n" +
			method + "\n\n" + use("", calls, "order, missing, ok"),
	})
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	needs := "\nrequire github.com/weftrpc/weft/door/thrift v0.0.0\n\nreplace github.com/weftrpc/weft/door/thrift => " + thrift + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), append(mod, needs...), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, dir, "orders/orders.go", "shop/shop.thrift"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "vet", "./...").CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}

// TestGuideOfSchemas compares what docs/guide/schema.md shows with what is written for its package.
func TestGuideOfSchemas(t *testing.T) {
	code, shown := codeOf(t, "schema.md", "go"), codeOf(t, "schema.md", "")
	if len(code) != 1 {
		t.Fatalf("the guide has %d pieces of code, want 1", len(code))
	}
	dir := module(t, map[string]string{"orders/orders.go": "package orders\n\nimport (\n\t\"context\"\n\t\"iter\"\n\t\"time\"\n)\n\n" + code[0]})
	m, err := Schema(t.Context(), Config{Dir: dir, Inputs: []string{"./orders"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []export.Format{export.Proto, export.TypeScript} {
		result, err := export.Write(m, format, schema.Info{})
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range result.Files {
			if !slices.Contains(shown, string(file.Content)) {
				t.Errorf("the guide does not show this:\n%s", file.Content)
			}
		}
	}
}
