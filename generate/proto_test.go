package generate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// protos writes files to a folder of their own.
func protos(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("syntax = \"proto3\";\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestAbsolutePath names a file by its absolute path, from another folder: the output is beside it, as it is for the relative path.
func TestAbsolutePath(t *testing.T) {
	dir := protos(t, map[string]string{"shop.proto": "import \"item.proto\";\nmessage Shop { Item item = 1; }\n", "item.proto": "message Item {}\n"})
	if out, err := run(t, t.TempDir(), filepath.Join(dir, "shop.proto")); err != nil || !strings.HasSuffix(out, "shop_weft.go\n") {
		t.Errorf("%q, %v", out, err)
	}
	for _, args := range [][]string{{"-check", "shop.proto"}, {"-check", filepath.Join(dir, "shop.proto")}} {
		if _, err := run(t, dir, args...); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// TestNoGoPackage imports a file that does not say where its Go code is: the error says so once.
func TestNoGoPackage(t *testing.T) {
	dir := protos(t, map[string]string{
		"a.proto": "package first;\nimport \"b.proto\";\nmessage A { second.B b = 1; second.B c = 2; }\nservice S { rpc Do(second.B) returns (second.C); }\n",
		"b.proto": "package second;\nmessage B {}\nmessage C {}\n",
	})
	const want = "a.proto:3:1: b.proto has no option go_package to say where its Go code is: give it one"
	if _, err := run(t, dir, "a.proto"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestPackageName gives a Go package a name that none can have, whatever the input.
func TestPackageName(t *testing.T) {
	dir := protos(t, map[string]string{"a.proto": "message A {}\n", "b.proto": "option go_package = \"app/b;my-b\";\nmessage B {}\n"})
	if err := os.WriteFile(filepath.Join(dir, "c.thrift"), []byte("struct C {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		`"my-a" is no name for a Go package`:                                 {"-package", "my-a", "a.proto"},
		`"type" is no name for a Go package`:                                 {"-package", "type", "c.thrift"},
		`"_" is no name for a Go package`:                                    {"-package", "_", "a.proto"},
		`b.proto: the option go_package: "my-b" is no name for a Go package`: {"b.proto"},
	} {
		if _, err := run(t, dir, args...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	if names, err := filepath.Glob("*.go"); err != nil || len(names) > 0 {
		t.Errorf("%s were written, %v", names, err)
	}
}

// TestDeprecated has the option "deprecated" on all that has a comment in Go, with a comment in the file and without one.
func TestDeprecated(t *testing.T) {
	dir := protos(t, map[string]string{"a.proto": `
// Shop sells.
message Shop {
  option deprecated = true;
  int32 plain = 1 [deprecated = true];
  oneof owner {
    // The name of a person.
    string person = 2 [deprecated = true];
  }
  int32 kept = 3 [deprecated = false];
}
enum Kind {
  option deprecated = true;
  BOX = 0 [deprecated = true];
}
service Shops {
  option deprecated = true;
  // Get gets.
  rpc Get(Shop) returns (Shop) { option deprecated = true; }
}
`})
	out, err := Generate(t.Context(), Config{Dir: dir, Inputs: []string{"a.proto"}, Package: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	const line = "// Deprecated: the definition says so.\n"
	text := string(out[0].Content)
	for _, want := range []string{
		"// Shop sells.\n//\n" + line + "type Shop struct {\n\t" + line + "\tPlain ",
		"\t// The name of a person.\n\t// Of the fields of owner at most one is set.\n\t//\n\t" + line + "\tPerson ",
		"\n" + line + "type Kind int32\n", "const (\n\t" + line + "\tKind_BOX ", "\n" + line + "type Shops interface {\n\t// Get gets.\n\t//\n\t" + line + "\tGet(",
		"// Get gets.\n//\n" + line + "func (c *ShopsClient) Get(", `weft.Doc("Get gets.\n\nDeprecated: the definition says so.")`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the output has no %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, line); n != 8 {
		t.Errorf("%d lines:\n%s", n, text)
	}
}
