package generate

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files of the packages below internal are the golden files: they are built and tested
// there.
func TestGolden(t *testing.T) {
	for _, golden := range []struct {
		name  string
		cfg   Config
		files int
	}{
		{"shop", Config{Dir: "internal/shop", Codec: true}, 6},
		{"example", Config{Dir: "../examples/generate/internal/library", Codec: true}, 1},
		{"depot", Config{Dir: "internal/depot", Inputs: []string{"depot.proto"}, Codec: true}, 1},
		{"thrift", Config{Dir: "../door/thrift/internal/depot", Inputs: []string{"depot.thrift", "places/places.thrift"}}, 2},
		{"thrift example", Config{Dir: "../examples/thrift", Inputs: []string{"shop.thrift"}}, 1},
	} {
		name, cfg := golden.name, golden.cfg
		first, err := Generate(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if len(first) != golden.files {
			t.Fatalf("%s: %d files, want %d", name, len(first), golden.files)
		}
		if err := Check(first); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		again, err := Generate(t.Context(), cfg)
		same := func(a, b Output) bool { return bytes.Equal(a.Content, b.Content) }
		if err != nil || !slices.EqualFunc(again, first, same) {
			t.Errorf("%s: another output for the same input, %v", name, err)
		}
	}
}

// module makes a module with a package in which the files are, and returns its folder.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files["go.mod"] = "module example.com/shop\n\ngo 1.26.0\n\nrequire github.com/weftrpc/weft v0.0.0\n\nreplace github.com/weftrpc/weft => " + root + "\n"
	files["go.sum"] = string(sums)
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	return dir
}

const greeter = `package shop

import "context"

//weft:service
type Greeter interface {
	Hello(context.Context, *Name) (*Name, error)
}

type Name struct{ Text string }
`

// run runs the command in a folder.
func run(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	t.Chdir(dir)
	var out strings.Builder
	err := Command(t.Context(), args, &out, io.Discard)
	return out.String(), err
}

func TestCommand(t *testing.T) {
	dir := module(t, map[string]string{"greeter.go": greeter})
	if _, err := run(t, dir, "-check"); err == nil || !strings.Contains(err.Error(), "greeter_weft.go is missing") {
		t.Errorf("-check before anything is generated: %v", err)
	}
	if out, err := run(t, dir); err != nil || out != "greeter_weft.go\n" {
		t.Fatalf("%q, %v", out, err)
	}
	if out, err := run(t, dir); err != nil || out != "" {
		t.Errorf("again: %q, %v", out, err)
	}
	if _, err := run(t, dir, "-check"); err != nil {
		t.Errorf("-check: %v", err)
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", ".")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
	if err := os.WriteFile("greeter.go", []byte(strings.Replace(greeter, "Hello", "Hi", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, dir, "-check"); err == nil || !strings.Contains(err.Error(), "greeter_weft.go is not up to date") || !strings.Contains(err.Error(), "run weft generate") {
		t.Errorf("-check after a change: %v", err)
	}
	if out, err := run(t, dir); err != nil || out != "greeter_weft.go\n" {
		t.Errorf("after a change: %q, %v", out, err)
	}
	if _, err := run(t, dir, "-h"); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
	if _, err := run(t, dir, "-none"); !errors.Is(err, ErrFlags) {
		t.Errorf("an unknown flag: %v", err)
	}
}

// What a person wrote stays.
func TestNothingIsOverwritten(t *testing.T) {
	const mine = "// Mine.\npackage shop\n"
	dir := module(t, map[string]string{"greeter.go": greeter, "greeter_weft.go": mine})
	if _, err := run(t, dir); err == nil || !strings.Contains(err.Error(), "was not generated") {
		t.Errorf("%v", err)
	}
	if got, err := os.ReadFile("greeter_weft.go"); err != nil || string(got) != mine {
		t.Errorf("%q, %v", got, err)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"type S struct{}":                                                                          "nothing to generate",
		"// weft:service\ntype S interface{ M() }":                                                 "//weft:service is a directive only without the space",
		"//weft:service\ntype S interface{\n//weft:idempotant\nM() }":                              "//weft:idempotant is no directive; there are //weft:service",
		"//weft:service\n\ntype S interface{ M() }":                                                "s.go:7:1: //weft:service stands before nothing: put it into the comment directly above an interface",
		"func f() {\n//weft:service\ntype S interface{ M() }\n}":                                   "s.go:8:1: //weft:service stands before nothing",
		"//weft:service\ntype S interface{\n//weft:idempotent\n\nM() }":                            "s.go:9:1: //weft:idempotent stands before nothing: put it into the comment directly above a method",
		"//weft:service\ntype S interface{\nM() //weft:reuse\n}":                                   "s.go:9:5: //weft:reuse stands before nothing",
		"//weft:idempotent\n//weft:service\ntype S interface{ M() }":                               "s.go:7:1: //weft:idempotent stands before nothing",
		"//weft:service\ntype S struct{}":                                                          "S is no interface",
		"//weft:service\ntype S interface{}":                                                       "S has no methods",
		"//weft:service\ntype S[T any] interface{ M() }":                                           "type parameters",
		"//weft:service\ntype S interface{ M() }":                                                  "M(): a method of a service is one of",
		"//weft:service\ntype S interface{ M(a, b *int) (*int, error) }":                           "a method of a service is one of",
		"//weft:service\ntype S interface{ M(context.Context, int) (*int, error)}":                 "a method of a service is one of",
		"//weft:service\ntype S interface{ m(context.Context, *int) (*int, error)}":                "m is not exported",
		"type A interface{ M() }\n//weft:service\ntype S interface{ A }":                           "embeds another interface",
		"//weft:service\ntype S interface{\n//weft:reuse\nM(context.Context, *int) (*int, error)}": "//weft:reuse is for methods",
		"//weft:service\ntype S interface{ M(context.Context, *None) (*int, error) }":              "a type is not known",
		"//weft:service shop orders\ntype S interface{ M(context.Context, *int) (*int, error) }":   `s.go:8:6: a server does not register the service "shop orders": name "shop orders.M": method name with the character 0x20`,
		"//weft:service Weft\ntype S interface{ M(context.Context, *int) (*int, error) }":          `names that begin with "Weft." are reserved`,
		"//weft:service A\ntype S interface{ M(context.Context, *int) (*int, error) }\n//weft:service A\ntype T interface{ M(context.Context, *int) (*int, error) }": "s.go:8:6 has the method A.M too",
		"type N struct{ A int `weft:\"1\"`; B int }":                                                   "the field B of N: it has no field number",
		"type N struct{ A int `weft:\"-1\"` }":                                                         "s.go:7:16: the field A of N: it has no field number",
		"type N struct{ A int `weft:\"7\"`; B int `weft:\"7\"` }":                                      "s.go:7:34: the fields A and B of N have one number, 7",
		"type N struct{ A chan int `weft:\"1\"` }":                                                     "a chan int has no form",
		"type N struct{ A string `weft:\"1,zigzag\"` }":                                                `the option "zigzag"`,
		"type N struct{ A complex64 `weft:\"1\"` }":                                                    "a complex64 has no form",
		"type N struct{ A struct{ B int } `weft:\"1\"` }":                                              "s.go:7:16: the field A of N: the fields of struct{B int} have no numbers",
		"type N struct{ A [][]int `weft:\"1\"` }":                                                      "a []int has no form in Protocol Buffers within a list: put it in a struct",
		"type N struct{ A []*int `weft:\"1\"` }":                                                       "a *int has no form in Protocol Buffers within a list",
		"type N struct{ A **int `weft:\"1\"` }":                                                        "a *int has no form in Protocol Buffers behind a pointer",
		"type N struct{ A map[string]chan int `weft:\"1\"` }":                                          "the field A of N: a chan int has no form",
		"type N struct{ A map[string]map[string]int `weft:\"1\"` }":                                    "a map[string]int has no form in Protocol Buffers within a map: put it in a struct",
		"type N struct{ A map[string]**int `weft:\"1\"` }":                                             "a *int has no form in Protocol Buffers behind a pointer",
		"type N struct{ A map[string]*int `weft:\"1\"` }":                                              "a *int has no form in Protocol Buffers within a map",
		"type T string\ntype N struct{ A map[T][]string `weft:\"1\"` }":                                "a []string has no form in Protocol Buffers within a map",
		"type N struct{ A map[float64]int `weft:\"1\"` }":                                              "a float64 cannot be the key of a map in Protocol Buffers",
		"type N struct{ A map[[2]byte]chan int `weft:\"1\"` }":                                         "a [2]byte cannot be the key of a map in Protocol Buffers\na chan int has no form",
		"type N struct{ A map[string]string `weft:\"1,zigzag\"` }":                                     `the option "zigzag"`,
		"type base struct{ X int32 `weft:\"1\"` }\ntype N struct { base; B int64 `weft:\"2\"` }":       "s.go:8:17: what is in N.base would be lost, since its type is not exported",
		"//weft:service\ntype _ interface{ M(context.Context, *int) (*int, error) }":                   "a service needs a name: the interface is called _",
		"type base struct{ x int }\ntype N struct { *base; B int64 `weft:\"2\"` }":                     "what is in N.base would be lost, since its type is not exported",
		"type T []T\ntype N struct{ A T `weft:\"1\"` }":                                                "a T contains itself without a struct between",
		"type P *P\ntype N struct{ A P `weft:\"1\"` }":                                                 "a P contains itself without a struct between",
		"//weft:service\ntype S interface{ With(context.Context, *int) (*int, error) }":                "the method With of the service S needs the name With in Go",
		"type SClient int\n//weft:service\ntype S interface{ M(context.Context, *int) (*int, error) }": "the service S needs the name SClient in Go, which the package has",
		"type N struct{ AppendWeft int `weft:\"1\"` }":                                                 "the field 1 of N needs the name AppendWeft in Go, which a method of its code has",
	} {
		dir := module(t, map[string]string{"s.go": "package shop\n\nimport \"context\"\n\nvar _ context.Context\n\n" + text + "\n"})
		if _, err := run(t, dir, "-codec"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v, want %q", text, err, want)
		}
	}
	dir := module(t, map[string]string{"bad.go": "package shop\n\nfunc {\n"})
	if _, err := run(t, dir); err == nil {
		t.Error("a file that is no Go was taken")
	}
	for text, want := range map[string]string{
		"syntax = \"proto3\"; message":                                                            "syntax error",
		"syntax = \"proto3\";":                                                                    "neither services nor messages",
		"syntax = \"proto2\"; message M { optional group G = 1 {} }":                              "no form as a struct",
		"syntax = \"proto3\"; message M { map<sint32, int32> m = 1; }":                            "no struct tag",
		"syntax = \"proto3\"; message M { int32 a_b = 1; int32 A_b = 2; }":                        "the field 2 of M needs the name AB in Go, which the field 1 of M has: rename one",
		"syntax = \"proto3\"; message A_B {} message A { message B {} }":                          "the message A_B needs the name A_B in Go",
		"syntax = \"proto3\"; enum A { B = 0; } message A_B {}":                                   "the message A_B needs the name A_B in Go, which the value A_B of the enumeration A has",
		"syntax = \"proto3\"; message M {} service S { rpc with(M) returns (M); }":                "the method with of the service S needs the name With in Go",
		"syntax = \"proto3\"; package Weft; message M {} service S { rpc A(M) returns (M); }":     `s.proto:1:47: a server does not register the service "Weft.S"`,
		"syntax = \"proto3\"; message SClient {} service S { rpc A(SClient) returns (SClient); }": "the service S needs the name SClient in Go",
	} {
		dir := module(t, map[string]string{"s.proto": text})
		if _, err := run(t, dir, "s.proto"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v, want %q", text, err, want)
		}
	}
}

// TestNames has packages and declarations with the names of those that generated code uses, and comments that look like
// uses: the output is built.
func TestNames(t *testing.T) {
	dir := module(t, map[string]string{
		"stub/stub.go":   "package stub\n\ntype Query struct{ A int }\n\ntype Kind int64\n",
		"req/req.go":     "package req\n\ntype Line struct{ A int }\n",
		"string/text.go": "package string\n\ntype Text struct{ A int }\n",
		"lib/iter.go":    "package iter\n\ntype Line struct{ A int }\n",
		"shop.go": `package shop

import (
	"context"
	std "iter"

	"example.com/shop/lib"
	"example.com/shop/req"
	text "example.com/shop/string"
	"example.com/shop/stub"
)

var weft, math, binary = 1, 2, 3

func generated() {}

type slices []int

// Orders keeps orders.
//
//weft:service
type Orders interface {
	List(context.Context, *stub.Query) std.Seq2[*req.Line, error]
	Get(ctx context.Context, q *req.Line) (*text.Text, error)
	Fill(ctx context.Context, q *stub.Query, a *iter.Line) error
}

// Line is kept for some time. It has slices.
type Line struct {
	Kind  stub.Kind ` + "`weft:\"1\"`" + `
	Lines []Line    ` + "`weft:\"2\"`" + `
	Price float64   ` + "`weft:\"3\"`" + `
	last  req.Line
}
`,
		"stock/stock.proto": "syntax = \"proto3\";\npackage stock;\n// Part is here from some time. In math. slices. and fmt. it is a part.\nmessage Part { bool some = 1; }\n",
	})
	for _, args := range [][]string{{"-codec"}, {"-codec", "stock/stock.proto"}} {
		if _, err := run(t, dir, args...); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "./...")
	if out, err := build.CombinedOutput(); err != nil {
		text, _ := os.ReadFile("shop_weft.go")
		t.Errorf("go build: %v\n%s\n%s", err, out, text)
	}
	if _, err := run(t, dir, "-codec", "-check"); err != nil {
		t.Errorf("-check: %v", err)
	}
}
