package generate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDeclaredTwice has names that a Go package would have twice. The error names both places.
func TestDeclaredTwice(t *testing.T) {
	const message = "syntax = \"proto3\";\nmessage Item { int32 a = 1; }\n"
	for _, c := range []struct {
		files  map[string]string
		inputs string
		want   []string // what the error has; none: there is no error
	}{
		{map[string]string{"a.proto": message, "b.proto": "\n" + message}, "a.proto b.proto", []string{"b.proto:3:1 needs the name Item in Go, which a.proto:2:1 has: rename one"}},
		{map[string]string{"a.proto": message, "b.thrift": "struct Item { 1: i32 a }\n"}, "a.proto b.thrift", []string{"b.thrift:1:", "a.proto:2:1 has"}},
		{map[string]string{"a.proto": message, "b.go": "package shop\n\nvar A, Item = 1, 2\n"}, "a.proto", []string{"a.proto:2:1 needs the name Item in Go, which b.go:3:8 has: rename one"}},
		{map[string]string{"a.thrift": "struct Item { 1: i32 a }\n", "b.go": "package shop\n\nfunc Item() {}\n"}, "a.thrift", []string{"a.thrift:1:", "b.go:3:6 has"}},
		{map[string]string{"a.proto": message + "service Keep { rpc Get(Item) returns (Item); }\n", "b.go": "package shop\n\ntype KeepClient int\n"}, "a.proto",
			[]string{"a.proto needs the name KeepClient in Go, which b.go:3:6 has"}},
		{map[string]string{"a.proto": message, "shop.go": strings.ReplaceAll(greeter, "Name", "Item")}, ". a.proto", []string{"a.proto:2:1 needs the name Item in Go, which shop.go:10:6 has"}},
		{map[string]string{"a.proto": message, "b.go": "package shop\n\ntype T int\n\nfunc (T) Item() {}\n", "c.go": "//go:build ignore\n\npackage shop\n\ntype Item int\n",
			"d_test.go": "package shop_test\n\ntype Item int\n", "other/b.proto": message}, "a.proto other/b.proto", nil},
	} {
		dir := module(t, c.files)
		_, err := run(t, dir, append([]string{"-package", "shop"}, strings.Fields(c.inputs)...)...)
		if (err != nil) != (c.want != nil) {
			t.Errorf("%s: %v", c.inputs, err)
		}
		for _, want := range c.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", c.inputs, err, want)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "a_weft.go")); (err == nil) != (c.want == nil) {
			t.Errorf("%s: the output: %v", c.inputs, err)
		}
	}
	// A message that has moved from a source to another one, whose outputs are written in two runs.
	dir := module(t, map[string]string{"a.proto": message})
	if _, err := run(t, dir, "a.proto"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename("a.proto", "b.proto"); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, dir, "b.proto"); err != nil {
		t.Error(err)
	}
}

// TestPredeclared has packages that declare names of the language. The error names those that the output uses.
func TestPredeclared(t *testing.T) {
	const item = "package shop\n\ntype Item struct {\n\tName string `weft:\"1\"`\n\tCount int64 `weft:\"2\"`\n}\n"
	const words = "package shop\n\nfunc copy(dst []byte, src string) {}\n\nfunc clear(any) {}\n\ntype T struct{ len int }\n\nfunc (T) append() {}\n"
	const want = "b.go:3:6 declares copy, which the code for a.%s needs as the language has it: rename it"
	for _, c := range []struct {
		files map[string]string
		args  string
		want  string // "": there is no error
	}{
		{map[string]string{"a.go": item, "b.go": words}, "-codec .", fmt.Sprintf(want, "go")},
		{map[string]string{"a.go": item, "b.go": "package shop\n\nconst nil, clear = 1, 2\n"}, "-codec .", "b.go:3:7 declares nil, which"},
		{map[string]string{"a.proto": "syntax = \"proto3\";\nmessage Item { string name = 1; }\n", "b.go": words}, "-codec -package shop a.proto", fmt.Sprintf(want, "proto")},
		{map[string]string{"a.go": greeter, "b.go": "package shop\n\nvar nil, min = 1, 2\n"}, ".", "b.go:3:5 declares nil, which"},
		{map[string]string{"a.go": greeter, "b.go": words}, ".", ""},
		{map[string]string{"a.go": item, "b.go": strings.Replace(words, "package", "//go:build ignore\n\npackage", 1), "c/c.go": strings.Replace(words, "shop", "c", 1)}, "-codec .", ""},
	} {
		_, err := run(t, module(t, c.files), strings.Fields(c.args)...)
		if (err != nil) != (c.want != "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "\n") > 0) {
			t.Errorf("%s: %v, want %s", c.files["b.go"], err, c.want)
		}
	}
}
