package doctest

import (
	"bytes"
	"errors"
	"go/ast"
	"go/token"
	"log/slog"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// compiledIn are the guides whose Go code stands in tests, mostly of this package, where it is
// compiled and runs.
var compiledIn = map[string]string{
	"docs/guide/admin.md":          "guide_admin_test.go",
	"docs/guide/codecs.md":         "guide_codecs_test.go",
	"docs/guide/tls.md":            "guide_tls_test.go",
	"docs/guide/authentication.md": "../../plugin/jwt/guide_test.go",
	"docs/guide/capacity.md":       "guide_capacity_test.go",
	"docs/guide/upgrading.md":      "guide_upgrading_test.go",
	"docs/guide/plugins.md":        "guide_plugins_test.go ../../plugin/internal/together/guide_test.go",
	"docs/guide/from-grpc.md":      "guide_migration_test.go",
	"docs/guide/kubernetes.md":     "guide_kubernetes_test.go ../../registry/dns/kubernetes_test.go",
	"docs/guide/observability.md":  "guide_observability_test.go",
	"docs/guide/from-rpcx.md":      "guide_migration_test.go",
	"docs/guide/from-net-rpc.md":   "guide_migration_test.go",
}

// TestGuidesAreCompiled looks for the Go code of the guides in the tests.
func TestGuidesAreCompiled(t *testing.T) {
	for name, file := range compiledIn {
		var compiled []string
		for _, one := range strings.Fields(file) {
			b, err := os.ReadFile(one)
			if err != nil {
				t.Fatal(err)
			}
			compiled = append(compiled, trimmed(string(b))...)
		}
		_, code := readDocument(t, name).split()
		for _, b := range code {
			if b.language == "go" && !contains(compiled, trimmed(b.text)) {
				t.Errorf("%s:%d: the code does not stand in internal/doctest/%s, line for line:\n%s", name, b.line, file, b.text)
			}
		}
	}
}

// TestGuidesAreListed: the list of the guides has a row for each, and no other.
func TestGuidesAreListed(t *testing.T) {
	const list = "docs/guide/README.md"
	d := readDocument(t, list)
	prose, _ := d.split()
	listed := targets(d, strings.Join(prose, "\n"))
	for _, other := range documents(t) {
		if strings.HasPrefix(other.name, "docs/guide/") && other.name != list && !contains(listed, []string{other.name}) {
			t.Errorf("%s does not list %s", list, other.name)
		}
	}
}

// quotes checks that a document quotes a text in a cell of a table or in a sentence.
func quotes(t *testing.T, d document, text string) {
	t.Helper()
	prose, _ := d.split()
	for _, line := range prose {
		for _, q := range quoted(line) {
			if q == text {
				return
			}
		}
	}
	t.Errorf("%s does not quote %q", d.name, text)
}

// journal keeps what a logger is told.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

// String is what was written, without the quoting of slog's text.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.ReplaceAll(j.buf.String(), `\"`, `"`)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// waitFor waits until a text was written.
func (j *journal) waitFor(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !strings.Contains(j.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q was not logged:\n%s", text, j)
		}
	}
}

// isError checks the parts of an error, and that a document quotes what its text contains.
func isError(t *testing.T, d document, err error, code weft.Code, outcome weft.Outcome, text string) {
	t.Helper()
	e, ok := errors.AsType[*weft.Error](err)
	if !ok || e.Code != code || e.Outcome != outcome || !strings.Contains(e.Message, text) {
		t.Errorf("%v, want %v (%v): …%s…", err, code, outcome, text)
	}
	quotes(t, d, text)
}

// isQuoted checks that a document quotes an error.
func isQuoted(t *testing.T, d document, err error) {
	t.Helper()
	if err == nil {
		t.Error("there is no error")
		return
	}
	quotes(t, d, err.Error())
}

// exported is a name of one of some packages as a guide writes it.
var exported = regexp.MustCompile(`\b(weft|admin|cluster|balance|wefttls|netrpc)\.([A-Z]\w*)`)

// TestGuidesNameWhatExists: what the guides quote of weft's packages is there, and so are
// the fields and methods of its types.
func TestGuidesNameWhatExists(t *testing.T) {
	folders := map[string]string{"weft": ".", "admin": "admin", "cluster": "cluster", "balance": "cluster/balance", "wefttls": "transport/tls", "netrpc": "door/netrpc"}
	known := make(map[string]map[string]bool)
	for _, s := range library(t) {
		folder := path.Dir(s.name)
		if known[folder] == nil {
			known[folder] = make(map[string]bool)
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				known[folder][nameOf(n)] = true
			case *ast.TypeSpec:
				known[folder][n.Name.Name] = true
				if fields, ok := n.Type.(*ast.StructType); ok {
					for _, f := range fields.Fields.List {
						for _, name := range f.Names {
							known[folder][n.Name.Name+"."+name.Name] = true
						}
					}
				}
			case *ast.ValueSpec:
				for _, name := range n.Names {
					known[folder][name.Name] = true
				}
			}
			return true
		})
	}
	known["."]["Admin"] = true // weft.Admin is a service
	found := 0
	for name := range compiledIn {
		d := readDocument(t, name)
		prose, _ := d.split()
		for i, line := range prose {
			for _, q := range quoted(line) {
				for _, m := range exported.FindAllStringSubmatch(q, -1) {
					if found++; !known[folders[m[1]]][m[2]] {
						t.Errorf("%s: package %s has no %s", at(d, i+1), m[1], m[2])
					}
				}
				kind, field, ok := strings.Cut(q, ".")
				if known["."][kind] && ok && isName(field) && isStruct(known["."], kind) && !known["."][q] && !known["cluster"][q] && !known["admin"][q] {
					t.Errorf("%s: %s has no field or method %s", at(d, i+1), kind, field)
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d names were found", found)
	}
}

func isName(s string) bool { return token.IsIdentifier(s) && token.IsExported(s) }

// isStruct tells whether fields or methods of a type are known.
func isStruct(names map[string]bool, kind string) bool {
	for name := range names {
		if strings.HasPrefix(name, kind+".") {
			return true
		}
	}
	return false
}
