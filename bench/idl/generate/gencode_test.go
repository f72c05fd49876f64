package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// generated is what gencode writes for a schema.
func generated(t *testing.T, schema string, source []byte) ([]byte, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	g := &gencode{folder: "gencode"}
	if err := os.Mkdir(g.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := g.write(t.Context(), schema, source); err != nil {
		return nil, err
	}
	code, err := os.ReadFile(filepath.Join(g.folder, strings.TrimSuffix(schema, ".proto")+".go"))
	if err != nil {
		t.Fatal(err)
	}
	return code, nil
}

func TestCommittedGencodeIsCurrent(t *testing.T) {
	for schema, file := range map[string]string{"benchmark.proto": "benchmark.go", "math.proto": "math.go"} {
		t.Run(schema, func(t *testing.T) {
			source, err := os.ReadFile(filepath.Join("..", schema))
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join("..", "gencode", file))
			if err != nil {
				t.Fatal(err)
			}
			got, err := generated(t, schema, source)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("idl/gencode/%s is not what %s gives; run go generate ./idl", file, schema)
			}
		})
	}
}

func TestSchemaWithoutRule(t *testing.T) {
	const schema = `syntax = "proto3"; package main; message M { double d = 1; }`
	if _, err := generated(t, "other.proto", []byte(schema)); err == nil || !strings.Contains(err.Error(), "M: d: ") {
		t.Errorf("the error is %v; it names the message and the field", err)
	}
}
