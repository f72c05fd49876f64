package generate

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// generateThrift generates for files in a folder and returns the text of the first.
func generateThrift(t *testing.T, cfg Config, files map[string]string) (string, error) {
	t.Helper()
	cfg.Dir = t.TempDir()
	for name, text := range files {
		name = filepath.Join(cfg.Dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Inputs = []string{"a.thrift"}
	out, err := Generate(t.Context(), cfg)
	if err != nil {
		return "", err
	}
	return string(out[0].Content), nil
}

func TestThriftErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "defines nothing",
		"struct":                            "a.thrift:1:7: expected the name of the struct",
		"struct a {} struct A {}":           "a.thrift:1:20: A is its name in Go, which what is defined at",
		"struct S { 1: i32 a_b 2: i32 aB }": "the fields a_b and aB of the struct S are both AB in Go",
		"service S { void f(1: i32 a_b 2: i32 aB) }":                         "the fields a_b and aB of the function S.f",
		"service S { void a_b() void aB() }":                                 "the functions a_b and aB of S are both AB in Go",
		"service S { void with() }":                                          "the function with of S is With in Go, as the method of every client is",
		"struct SClient {} service S {}":                                     "SClient is its name in Go",
		"struct S { 1: optional i32 a 2: i32 get_a }":                        "the field get_a of the struct S has the name of the method",
		"struct S { 1: map<list<i32>, i32> m }":                              "a map with keys of the type list<i32> has no form in Go",
		"union U { 1: i32 a = 1 }":                                           "a field of a union has no default in Go",
		"service S { void f() (weft.idempotant) }":                           "there is no annotation weft.idempotant here: expected weft.idempotent",
		"service S { void f() } (weft.service = 'a b')":                      `a.thrift:1:9: a server does not register the service "a b": name "a b.f": method name with the character 0x20`,
		"service S { void f() } service T { void f() } (weft.service = 'S')": "a.thrift:1:9 has the method S.f too",
		"service S {} (weft.name = 'x')":                                     "there is no annotation weft.name here: expected weft.service",
		"include 'other/b.thrift' struct S { 1: b.B b }":                     "the Go package of",
		"include 'c.thrift' struct S { 1: c.C c }":                           "is in the same folder and has another Go package, see",
	} {
		_, err := generateThrift(t, Config{Package: "own"}, map[string]string{"a.thrift": text, "other/b.thrift": "struct B {}", "c.thrift": "namespace go see\nstruct C {}"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", text, err, want)
		}
	}
}

// TestThriftPackages: an included file is in the Go package of its folder.
func TestThriftPackages(t *testing.T) {
	files := map[string]string{
		"go.mod":         "module example.com/shop\n",
		"a.thrift":       "include 'b.thrift' include 'c.thrift' include 'd.thrift' struct S { 1: b.B b, 2: c.C c, 3: d.D d }\nservice V extends d.W {}",
		"b.thrift":       "struct B {}",
		"lib/c/c.thrift": "namespace go some.see\nstruct C {}",
		"lib/d/d.thrift": "typedef i32 D struct Q {} service W { Q f(1: D d) }",
	}
	got, err := generateThrift(t, Config{Package: "own", ImportPath: []string{"lib/c", "lib/d"}}, files)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"package own\n", "see \"example.com/shop/lib/c\"", "B *B ", "C *see.C ", "D d.D ", "F(ctx context.Context, d_ d.D) (*d.Q, error)",
		"weft.Invoke[d.WFResult](ctx, c.caller, \"V.f\", &d.WFArgs{D: d_}, c.opts...)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the output has no %q:\n%s", want, got)
		}
	}
}

// TestThriftParameters has a parameter with the name of a package that is needed for its type alone.
func TestThriftParameters(t *testing.T) {
	files := map[string]string{
		"go.mod":         "module example.com/shop\n",
		"a.thrift":       "include 'd.thrift' service V { d.Q f(1: d.D d) }",
		"lib/d/d.thrift": "typedef i32 D struct Q { 1: i32 a }",
	}
	got, err := generateThrift(t, Config{Package: "own", ImportPath: []string{"lib/d"}}, files)
	if want := "F(ctx context.Context, d_ d.D) (*d.Q, error)"; err != nil || !strings.Contains(got, want) {
		t.Errorf("the output has no %q, %v:\n%s", want, err, got)
	}
}

// TestThriftOutput looks at what the packages that are golden files do not have.
func TestThriftOutput(t *testing.T) {
	got, err := generateThrift(t, Config{}, map[string]string{"a.thrift": `namespace go shop
enum E { A = 1, B = 1 }
struct S { 1: string a (go.tag = 'json:"b,omitempty"'), 2: i32 c (deprecated) }
exception X { 1: list<i32> all }
struct O { 1: optional binary a, 2: optional list<i32> b, 3: optional set<i32> c, 4: optional map<i32, i32> d, 5: optional string e, 6: optional S f, 7: binary g }
union U { 1: binary a, 2: string b }
service V { void f(1: i32 type, 2: i32 nil, 3: i32 HTTPPort, 4: i32 ctx) } (weft.service = "shop.v1.V")`})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"package shop\n", "case E_A:\n\t\treturn \"A\"\n\t}", "`thrift:\"a,1\" json:\"b,omitempty\"`", "// Deprecated: the definition says so.",
		// An empty one that is set is in the JSON.
		`thrift:"a,1,optional" json:"a,omitzero"`, `thrift:"b,2,optional" json:"b,omitzero"`, `thrift:"c,3,optional" json:"c,omitzero"`, `thrift:"d,4,optional" json:"d,omitzero"`,
		`thrift:"e,5,optional" json:"e,omitempty"`, `thrift:"f,6,optional" json:"f,omitempty"`, `thrift:"g,7" json:"g"`, `thrift:"a,1,union" json:"a,omitzero"`, `thrift:"b,2,union" json:"b,omitempty"`,
		"func (e *X) Error() string {\n\treturn \"X\"\n}", "F(ctx context.Context, type_ int32, nil_ int32, httpPort int32, ctx_ int32) error", `"shop.v1.V.f"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the output has no %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "E_B:") {
		t.Error("two cases have one number")
	}
}

// TestThriftVet generates for documents in the styles of those that exist, and has go vet look at the outcome.
func TestThriftVet(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("internal/thriftidl/testdata/*.thrift")
	if err != nil || len(sources) < 3 {
		t.Fatalf("%v, %v", sources, err)
	}
	sums, err := os.ReadFile("../door/thrift/go.sum")
	if err != nil {
		t.Fatal(err)
	}
	dir := module(t, map[string]string{})
	both := map[string]string{"github.com/weftrpc/weft": root, "github.com/weftrpc/weft/door/thrift": root + "/door/thrift"}
	text := "module example.com/wide\n\ngo 1.26.0\n"
	for name, folder := range both {
		text += "require " + name + " v0.0.0\nreplace " + name + " => " + folder + "\n"
	}
	for name, b := range map[string][]byte{"go.mod": []byte(text), "go.sum": sums} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range sources {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := Generate(t.Context(), Config{Dir: dir, Package: "wide", Inputs: []string{"monitor.thrift", "wide.thrift"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Write(out); err != nil {
		t.Fatal(err)
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", ".")
	vet.Dir = dir
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}
