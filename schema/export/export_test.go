package export_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/export"
)

var update = flag.Bool("update", false, "write testdata")

// TestGolden compares the exports with those of testdata, which test/compat gives to the tools of each language. "go
// test -run TestGolden -update" writes them.
func TestGolden(t *testing.T) {
	m := sample(t)
	both := map[string]*schema.Model{"both": m}
	for _, name := range []string{"Arith", "shop.v1.Orders"} {
		one, err := m.Select(name)
		if err != nil {
			t.Fatal(err)
		}
		both[strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])] = one
	}
	want := make(map[string]bool)
	for folder, m := range both {
		for _, format := range export.Formats() {
			out, err := export.Write(m, format, schema.Info{Title: "Sample", Version: "1"})
			if err != nil {
				t.Fatal(err)
			}
			again, err := export.Write(m, format, schema.Info{Title: "Sample", Version: "1"})
			if err != nil || fmt.Sprint(out) != fmt.Sprint(again) {
				t.Errorf("%s: another text the second time", format)
			}
			for _, f := range append(out.Files, export.File{Name: string(format) + ".left-out", Content: []byte(strings.Join(append(out.LeftOut, ""), "\n"))}) {
				if len(f.Content) == 0 {
					continue
				}
				at := filepath.Join("testdata", folder, filepath.FromSlash(f.Name))
				want[at] = true
				if *update {
					if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(at, f.Content, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if got, err := os.ReadFile(at); err != nil || !bytes.Equal(got, f.Content) {
					t.Errorf("%s is not what is written now, %v: go test -run TestGolden -update", at, err)
				}
			}
		}
	}
	err := filepath.WalkDir("testdata", func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !want[path] && !strings.HasPrefix(path, filepath.Join("testdata", "fuzz")) {
			t.Errorf("%s is not written any more", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSavedModel writes the same of a model that was saved and read again.
func TestSavedModel(t *testing.T) {
	m := sample(t)
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := schema.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range export.Formats() {
		a, errA := export.Write(m, format, schema.Info{})
		b, errB := export.Write(again, format, schema.Info{})
		if errA != nil || errB != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s is another of the saved model: %v, %v", format, errA, errB)
		}
	}
}

func TestErrors(t *testing.T) {
	m := sample(t)
	if _, err := export.Write(m, "xml", schema.Info{}); err == nil || !strings.Contains(err.Error(), "proto, jsonschema") {
		t.Error(err)
	}
	loose, err := m.Select("Arith.Loose")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := export.Write(loose, export.Proto, schema.Info{}); err == nil || !strings.Contains(err.Error(), "Loose, which has no form in Protocol Buffers: the field Nested") {
		t.Error(err)
	}
	out, err := export.Write(m, export.Proto, schema.Info{})
	if err != nil || len(out.LeftOut) != 2 || !strings.Contains(out.LeftOut[1], "Arith.Raw: its request is of the kind bytes") {
		t.Errorf("%v, %q", err, out.LeftOut)
	}
	if out, err = export.Write(m, export.Python, schema.Info{}); err != nil || !slices.ContainsFunc(out.LeftOut, func(s string) bool { return strings.Contains(s, "Loose.keys") }) {
		t.Errorf("%v, %q", err, out.LeftOut)
	}
}

// TestRefused: a message that JSON refuses is named by the formats that describe JSON.
func TestRefused(t *testing.T) {
	type Request struct {
		A     int
		Token string `weft:"-"`
	}
	b := schema.NewBuilder()
	request := b.Reflect(reflect.TypeFor[Request](), "")
	b.Add("S", schema.Method{Name: "Do", Kind: schema.Unary, Request: request, Reply: request})
	m, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []export.Format{export.TypeScript, export.Python, export.OpenAPI, export.JSONSchema} {
		if out, err := export.Write(m, format, schema.Info{}); err != nil || len(out.LeftOut) != 1 || !strings.Contains(out.LeftOut[0], "Request: JSON refuses it: the field Token") {
			t.Errorf("%s: %v, %q", format, err, out)
		}
	}
}

// A service whose name is a keyword, or that of a type, gets another one.
func TestServiceNames(t *testing.T) {
	type Request struct{ A int }
	b := schema.NewBuilder()
	for _, service := range []string{"a.class", "a.Request", "b.Request", "c.Request"} {
		b.Add(service, schema.Method{Name: "Do", Kind: schema.Unary, Request: b.Reflect(reflect.TypeFor[Request](), ""), Reply: b.Reflect(reflect.TypeFor[Request](), "")})
	}
	m, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	for format, declaration := range map[export.Format]string{export.TypeScript: "export interface %s {", export.Python: "class %s(typing.Protocol):"} {
		out, err := export.Write(m, format, schema.Info{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"class_", "RequestService", "b_Request", "c_Request"} {
			if want := fmt.Sprintf(declaration, name); strings.Count(string(out.Files[0].Content), want) != 1 {
				t.Errorf("%s lacks %q:\n%s", format, want, out.Files[0].Content)
			}
		}
	}
}

// Methods whose names become one in Python, or mean something else in TypeScript, can be told apart.
func TestMethodNames(t *testing.T) {
	b := schema.NewBuilder()
	for _, name := range []string{"a-b", "a.b", "a_b", "new", "class", "class_"} {
		b.Add("S", schema.Method{Name: name, Kind: schema.Unary, Request: &schema.Type{Kind: schema.KindBool}, Reply: &schema.Type{Kind: schema.KindBool}})
	}
	m, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	for format, lines := range map[export.Format][]string{
		export.TypeScript: {`  "a-b"(`, `  "a.b"(`, "  a_b(", `  "new"(`, "  class("},
		export.Python:     {"def a_b(", "def a_b_(", "def a_b__(", "def new(", "def class_(", "def class__("},
	} {
		out, err := export.Write(m, format, schema.Info{})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range lines {
			if strings.Count(string(out.Files[0].Content), want) != 1 {
				t.Errorf("%s lacks %q:\n%s", format, want, out.Files[0].Content)
			}
		}
	}
}

// FuzzWrite writes what comes from a peer: no export panics, and none has a line that the peer has made up.
func FuzzWrite(f *testing.F) {
	f.Add([]byte(`{"weft_schema":1,"services":[{"name":"A","methods":[{"name":"B\n}","kind":"unary","doc":"*/\nevil","request":{"kind":"message","name":"C"},"reply":{"kind":"any"}}]}],"messages":[{"name":"C","go":"x.C","fields":[{"name":"\nevil","number":7,"type":{"kind":"list","elem":{"kind":"int64"}}}]}]}`))
	f.Add([]byte(`{"weft_schema":1,"services":[{"name":"A.\"","methods":[{"name":"C","kind":"unary","request":{"kind":"message","name":"a.C"},"reply":{"kind":"message","name":"a.C"}}]}],"messages":[{"name":"a.C","package":"a","fields":[{"oneof":"x y","proto":"y","name":"z","number":7,"type":{"kind":"enum","name":"E"}}]}],"enums":[{"name":"E","values":[{"name":"\"","number":3}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := schema.Decode(text)
		if err != nil {
			return
		}
		for _, format := range export.Formats() {
			out, err := export.Write(m, format, schema.Info{})
			if err != nil {
				continue
			}
			for _, file := range out.Files {
				if bytes.Contains(file.Content, []byte("\nevil")) {
					t.Errorf("%s:\n%s", format, file.Content)
				}
			}
		}
	})
}
