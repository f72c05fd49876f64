package thriftidl

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// memory is a loader whose files are these.
func memory(files map[string]string) *Loader {
	return &Loader{Folders: []string{"lib"}, Read: func(name string) ([]byte, error) {
		text, ok := files[filepath.ToSlash(name)]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return []byte(text), nil
	}}
}

func load(t *testing.T, text string) *Document {
	t.Helper()
	d, err := memory(map[string]string{"a.thrift": text}).Load("a.thrift")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCorpus reads documents in the styles of those that exist.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/*.thrift")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, name := range append(files, "../../../door/thrift/testdata/stock/stock.thrift", "../../../door/thrift/internal/depot/depot.thrift") {
		if _, err := new(Loader).Load(name); err != nil {
			t.Error(err)
		}
	}
	d, err := new(Loader).Load("testdata/wide.thrift")
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Namespace("go") + " " + d.Namespace("java") + " " + d.Namespace("js"); got != "wide org.example.wide.generated " {
		t.Errorf("namespaces %q", got)
	}
	wide := d.Services[0]
	if wide.Base == nil || wide.Base.Name != "MonitoredService" || len(wide.Functions) != 3 || !wide.Functions[2].Oneway {
		t.Errorf("%+v", wide)
	}
	if owner, ok := wide.Annotations.Get("owner"); !ok || owner != "storage" {
		t.Errorf("annotations %v", wide.Annotations)
	}
	if cached, ok := wide.Functions[1].Annotations.Get("cached"); !ok || cached != "1" {
		t.Errorf("annotations %v", wide.Functions[1].Annotations)
	}
	slice := d.Structs[len(d.Structs)-1]
	for _, f := range slice.Fields {
		v := f.Value
		switch f.Name {
		case "count":
			if v.Final().Int != 100 {
				t.Errorf("%s is %d", f.Name, v.Final().Int)
			}
		case "level", "other", "code":
			if v.Enum == nil {
				t.Errorf("%s is no value of an enum", f.Name)
			}
		case "ratio":
			if v.Double != 1e-3 {
				t.Errorf("%s is %v", f.Name, v.Double)
			}
		case "mask":
			if v.Int != 0xFFFFFFFF {
				t.Errorf("%s is %d", f.Name, v.Int)
			}
		}
	}
	if d, err = new(Loader).Load("testdata/trace.thrift"); err != nil || d.Namespace("php") != "trace" || d.Namespace("go") != "trace" {
		t.Errorf("%v, %v", d, err)
	}
}

func TestDocs(t *testing.T) {
	d := load(t, `// Far away.

/**
 * S is a struct.
 *
 *   With more.
 */
struct S { // not of a field
  // A is
  // the first.
  1: i32 a // not this
  2: i32 b, // B behind
  # C before.
  3: i32 c /* not */ = 1
  4: i32 d /* D. */

  /* E1 */
  /* E2 */
  5: i32 e
}
enum E { X /* X behind */, /* Y before */ Y }
service V { /** F. */ void f(/* p */ 1: i32 p) /* F behind */
}
`)
	s := d.Structs[0]
	want := map[string]string{"a": "A is\nthe first.", "b": "B behind", "c": "C before.", "d": "D.", "e": "E1\nE2"}
	if s.Doc != "S is a struct.\n\n  With more." {
		t.Errorf("the struct has %q", s.Doc)
	}
	for _, f := range s.Fields {
		if f.Doc != want[f.Name] {
			t.Errorf("the field %s has %q, want %q", f.Name, f.Doc, want[f.Name])
		}
	}
	if f := d.Services[0].Functions[0]; f.Doc != "F." || f.Params[0].Doc != "p" {
		t.Errorf("%q, %q", f.Doc, f.Params[0].Doc)
	}
	if v := d.Enums[0].Values; v[1].Doc != "Y before" {
		t.Errorf("%q", v[1].Doc)
	}
}

func TestLiterals(t *testing.T) {
	d := load(t, "\xef\xbb\xbf"+`const string A = "a\n\t\r\"\'\\'é" const string B = 'b"' const i64 C = +0x7f const double D = -.5e+2
const i8 E = -128 const double F = 7 const bool G = false const bool H = G const uuid I = "{01234567-89AB-cdef-0123-456789abcdef}"
enum X { P = 3, Q } const i32 J = X.Q const X K = 4 const X L = P const list<X> M = [P, X.Q, 3] const map<i32, X> N = {1: P}
struct T { 1: X x; 2: list<X> y } const T O = {"x": Q, "y": [P]}`)
	text := map[string]string{"A": "a\n\t\r\"'\\'é", "B": "b\""}
	number := map[string]int64{"C": 127, "E": -128, "F": 7, "G": 0, "H": 0, "K": 4}
	for _, c := range d.Consts {
		v := c.Value.Final()
		if want, ok := text[c.Name]; ok && v.Text != want {
			t.Errorf("%s is %q, want %q", c.Name, v.Text, want)
		}
		if want, ok := number[c.Name]; ok && v.Int != want {
			t.Errorf("%s is %d, want %d", c.Name, v.Int, want)
		}
		switch c.Name {
		case "D":
			if v.Double != -50 {
				t.Errorf("D is %v", v.Double)
			}
		case "I":
			if id, ok := v.UUID(); !ok || id[0] != 1 || id[15] != 0xef {
				t.Errorf("I is %x", id)
			}
		case "J", "L":
			if v.Enum == nil {
				t.Errorf("%s is %+v", c.Name, v)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"struct S {\n  1: i32\n}":                            `a.thrift:3:1: expected the name of the field, found "}"`,
		"struct S {\n\t1 i32 a\n}":                           `a.thrift:2:4: expected ":" behind the number of a field, found "i32"`,
		"struct S {\n  i32 a\n}":                             `a.thrift:2:7: the field a has no number: write one, such as "1:", before its type`,
		"struct S { -1: i32 a }":                             "a.thrift:1:12: the number of a field is -1: expected one from 1 to 32767",
		"struct S { 32768: i32 a }":                          "the number of a field is 32768",
		"struct S { 1: i32 a, 1: i32 b }":                    "a.thrift:1:29: the field b of the struct S has the number 1, as a has at a.thrift:1:19",
		"struct S { 1: i32 a, 2: i32 a }":                    "the struct S has a already, at a.thrift:1:19",
		"struct S { 1: Foo a }":                              "a.thrift:1:15: there is no type Foo",
		"struct S { 1: foo.Foo a }":                          `there is no type foo.Foo, and no include is called "foo"`,
		"const i32 C = 1 struct S { 1: C a }":                "C is no type",
		"enum E { A } struct S { 1: E.A a }":                 "there is no type E.A",
		"struct S {} struct S {}":                            "a.thrift:1:20: S is defined already at a.thrift:1:8",
		"struct string {}":                                   "string is a type of Thrift's own",
		"struct a.b {}":                                      "a name that is defined has no dots",
		"struct S { 1: list<i32 a }":                         `expected ">" behind the type of the elements, found "a"`,
		"struct S { 1: map<i32> a }":                         `expected "," behind the type of the keys, found ">"`,
		"struct S { 1: void a }":                             "void is the result of functions alone",
		"struct S { 1: i32 a = }":                            `expected a value: a number, a text in quotes, a name, a list in [] or a map in {}, found "}"`,
		"struct S { 1: i32 a = \"x\" }":                      `the default of S.a is "x": expected a value of the type i32`,
		"struct S { 1: i8 a = 128 }":                         "the default of S.a is 128, which does not fit the type i8",
		"struct S {":                                         `expected a field or "}", found the end of the file`,
		"union U { 1: required i32 a }":                      "the field a of the union U is required",
		"struct":                                             "a.thrift:1:7: expected the name of the struct, found the end of the file",
		"strukt S {}":                                        `expected a definition: const, typedef, enum, struct, union, exception or service, found "strukt"`,
		"{}":                                                 `expected a definition, found "{"`,
		"senum S { 'a' }":                                    "Thrift has no senum any more",
		"struct S { 1: slist a }":                            "Thrift has no slist any more",
		"struct S {}\nnamespace go x":                        `a.thrift:2:1: "namespace" stands behind a definition`,
		"namespace":                                          "expected a language or * behind namespace",
		"include shared":                                     "expected the path of a file in quotes behind include",
		"include ''":                                         "the path of the include is empty",
		"include 'none.thrift'":                              "a.thrift:1:9: none.thrift is not there; it was looked for as none.thrift and lib/none.thrift",
		"include 'a.thrift'":                                 "the include closes a circle: a.thrift includes a.thrift",
		"include 'b.thrift'":                                 "b.thrift:1:9: the include closes a circle: a.thrift includes b.thrift includes a.thrift",
		"include 'c.thrift' include 'd/c.thrift'":            `d/c.thrift is called "c", as c.thrift at a.thrift:1:9 is`,
		"include 'bad.thrift'":                               "bad.thrift:2:1: expected a definition",
		"typedef i32":                                        "expected the new name of the type",
		"typedef A B typedef B A":                            "leads to itself",
		"typedef list<A> A":                                  "the typedef A leads to itself",
		"enum E { A, A }":                                    "the enum E has A already",
		"enum E { A = x }":                                   "expected the number of the value",
		"enum E { A = 2147483647, B }":                       "the value B has the number 2147483648",
		"enum E { 1 }":                                       `expected the name of a value of the enum, or "}", found 1`,
		"const i32 A = B":                                    "there is no constant B",
		"const i32 A = B const i32 B = A":                    "the constant A leads to itself",
		"enum E { A } const E X = E.B":                       `the enum E has no value "B"`,
		"enum E { A } const E X = 7":                         "the constant X is 7, which is no value of the enum E",
		"const list<i8> A = [1, 200]":                        "the constant A is 200, which does not fit the type i8",
		"const map<i8, i8> A = {1: 1, 1: 2}":                 "the constant A has the key 1 twice",
		"const map<i8, i8> A = [1]":                          "the constant A is a list: expected a value of the type map<i8,i8>",
		"const map<i8, i8> A = {1 2}":                        `expected ":" behind a key, found 2`,
		"const uuid A = 'x'":                                 `the constant A is "x": expected a value of the type uuid`,
		"const bool A = 2":                                   "expected a value of the type bool",
		"struct S { 1: i32 a } const S X = {'b': 1}":         `the constant X has the key "b": expected the name of a field of S in quotes`,
		"struct S { 1: i32 a } const S X = {'a': 1, 'a': 2}": "the constant X has the field a twice",
		"struct S { 1: i32 a } const S X = {'a': 'x'}":       `the constant X.a is "x": expected a value of the type i32`,
		"union U { 1: i32 a, 2: i32 b } const U X = {'a':1, 'b':1}":     "has 2 fields of the union U",
		"service V extends W {}":                                        "there is no service W",
		"service V extends W {} service W extends V {}":                 "the service V extends itself",
		"service V { i32 f() i32 f() }":                                 "the service V has f already",
		"service V { i32 f }":                                           `expected "(" behind the name of the function, found "}"`,
		"service V { oneway i32 f() }":                                  "V.f is oneway and has a result",
		"service V { oneway void f() throws (1: X x) } exception X {}":  "V.f is oneway and throws",
		"service V { void f() throws (1: X x) } struct X {}":            "V.f throws X, which is no exception",
		"service V { void f() throws (1: X x, 1: X y) } exception X {}": "V.f throws two exceptions with the number 1",
		"service V { void f(1: i32 a, 1: i32 b) }":                      "the field b of the function V.f has the number 1",
		"struct S {} (a = b)":                                           "expected the value of the annotation in quotes",
		"/* never":                                                      "a.thrift:1:1: the comment has no end",
		"const string A = \"x":                                          "a.thrift:1:18: the text has no end: expected \"",
		`const string A = "\x"`:                                         `there is no escape of 'x'`,
		"const i64 A = 9223372036854775808":                             "the number 9223372036854775808 is beyond 64 bits",
		"const i64 A = 0x":                                              "expected hexadecimal digits behind 0x",
		"const i64 A = 12x":                                             "the letter 'x' stands behind a number",
		"const double A = 1e999":                                        "too large for a double",
		"struct S { 1: i32 a @ }":                                       "a.thrift:1:21: no token begins with '@'",
		"typedef " + strings.Repeat("list<", 65) + "i32" + strings.Repeat(">", 65): "more than 64 types stand in one another",
		"const i32 A = " + strings.Repeat("[", 65):                                 "more than 64 values stand in one another",
		"struct S { " + strings.Repeat("1: i32 a xsd_attrs { ", 65):                "stand in one another",
	} {
		_, err := memory(map[string]string{
			"a.thrift": text, "b.thrift": "include 'a.thrift'", "c.thrift": "", "d/c.thrift": "", "bad.thrift": "\n!",
		}).Load("a.thrift")
		if want == "bad.thrift:2:1: expected a definition" {
			want = "bad.thrift:2:1: no token begins with '!'"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", text, err, want)
		}
	}
	if _, err := memory(nil).Load("none.thrift"); err == nil {
		t.Error("a file that does not exist was read")
	}
}

// TestInclude looks for includes beside the document and in folders, and reads each once.
func TestInclude(t *testing.T) {
	reads := 0
	l := memory(map[string]string{
		"x/a.thrift": "include 'b.thrift' include \"../c.thrift\" include 'd.e.thrift'\nstruct S { 1: b.B b, 2: c.T c, 3: d.e.E e = d.e.E.X, 4: i32 n = d.e.N }",
		"x/b.thrift": "include '../c.thrift' struct B { 1: c.T t }", "c.thrift": "typedef i32 T", "lib/d.e.thrift": "enum E { X } const i32 N = 3",
	})
	read := l.Read
	l.Read = func(name string) ([]byte, error) {
		b, err := read(name)
		if err == nil {
			reads++
		}
		return b, err
	}
	d, err := l.Load("x/a.thrift")
	if err != nil || reads != 4 {
		t.Fatalf("%v, %d reads", err, reads)
	}
	f := d.Structs[0].Fields
	if f[1].Type.Underlying().Kind != I32 || f[1].Type.Document.Path != "c.thrift" || f[2].Value.Enum.Name != "X" || f[3].Value.Final().Int != 3 || f[0].Type.Struct.Name != "B" {
		t.Errorf("%+v", f)
	}
}

// TestCut cuts a document at every byte: each piece is read or refused at a place.
func TestCut(t *testing.T) {
	b, err := os.ReadFile("testdata/trace.thrift")
	if err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if _, err := memory(map[string]string{"a.thrift": string(b[:n])}).Load("a.thrift"); err != nil && !strings.HasPrefix(err.Error(), "a.thrift:") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// FuzzLoad reads any text: it ends, and an error is at a place in the text.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.thrift")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add("include \"\n\"")
	f.Add("include \"\\\n\"")
	f.Add("const list<list<i32>> A = [[1], B] const list<i32> B = [1, 2]")
	f.Add("typedef map<string, list<E>> T enum E { A = -1 } const T X = {'a': [A]} service S extends V { T f(1: T t) }")
	f.Fuzz(func(t *testing.T, text string) {
		l := memory(map[string]string{"a.thrift": text, "b.thrift": "include 'a.thrift' struct B {}"})
		d, err := l.Load("a.thrift")
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.Contains(line, ".thrift:") {
					t.Errorf("no place: %v", err)
				}
			}
			return
		}
		for _, s := range d.Structs {
			for _, f := range s.Fields {
				_ = f.Type.Underlying().String()
			}
		}
	})
}

// TestDescription reads what the door for Thrift says of a generated service, and compares it with the document of
// which the service was made.
func TestDescription(t *testing.T) {
	const folder = "../../../door/thrift/internal/depot/"
	source, err := new(Loader).Load(folder + "depot.thrift")
	if err != nil {
		t.Fatal(err)
	}
	described, err := new(Loader).Load(folder + "testdata/described.thrift")
	if err != nil {
		t.Fatal(err)
	}
	functions := make(map[string]*Function)
	for s := source.Services[0]; s != nil; s = s.Base {
		for _, f := range s.Functions {
			functions[f.Name] = f
		}
	}
	c := comparison{t, make(map[string]bool)}
	got := described.Services[0].Functions
	if len(got) != len(functions) {
		t.Errorf("%d functions, want %d", len(got), len(functions))
	}
	for _, f := range got {
		want := functions[strings.TrimSuffix(f.Name, "_")]
		if want == nil {
			t.Errorf("there is no function %s", f.Name)
			continue
		}
		if f.Oneway != want.Oneway || (f.Result == nil) != (want.Result == nil) {
			t.Errorf("%s is %+v", f.Name, f)
		}
		if f.Doc != want.Doc {
			t.Errorf("%s has the documentation %q, want %q", f.Name, f.Doc, want.Doc)
		}
		if f.Result != nil {
			c.types(f.Name, f.Result, want.Result)
		}
		c.fields(f.Name, f.Params, want.Params)
		c.fields(f.Name, f.Throws, want.Throws)
	}
	if len(c.seen) < 9 {
		t.Errorf("only %d structs were compared", len(c.seen))
	}
}

// comparison compares a description with its source. Enumerations are integers in it.
type comparison struct {
	*testing.T
	seen map[string]bool
}

func (c *comparison) fields(where string, got, want []*Field) {
	if len(got) != len(want) {
		c.Errorf("%s has %d fields, want %d", where, len(got), len(want))
		return
	}
	for i, f := range got {
		w := want[i]
		if f.ID != w.ID || strings.TrimSuffix(f.Name, "_") != w.Name || (f.Need == Required) != (w.Need == Required) {
			c.Errorf("%s has the field %+v, want %+v", where, f, w)
		}
		c.types(where+"."+w.Name, f.Type, w.Type)
	}
}

func (c *comparison) types(where string, got, want *Type) {
	g, w := got.Underlying(), want.Underlying()
	switch {
	case w.Enum != nil && g.Kind == I32:
		return
	case g.Kind != w.Kind:
		c.Errorf("%s is %s, want %s", where, got, want)
		return
	}
	if g.Key != nil {
		c.types(where, g.Key, w.Key)
	}
	if g.Elem != nil {
		c.types(where, g.Elem, w.Elem)
	}
	if g.Struct == nil || c.seen[g.Struct.Name] {
		return
	}
	c.seen[g.Struct.Name] = true
	if g.Struct.Name != w.Struct.Name || g.Struct.Kind != w.Struct.Kind {
		c.Errorf("%s is the %s %s, want the %s %s", where, g.Struct.Kind, g.Struct.Name, w.Struct.Kind, w.Struct.Name)
	}
	c.fields(g.Struct.Name, g.Struct.Fields, w.Struct.Fields)
}
