package generate_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrpc/weft/generate"
)

// TestOneGoPackage has two files of one Go package, by their option go_package, whose packages of Protocol Buffers differ.
func TestOneGoPackage(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.proto": "syntax = \"proto3\";\npackage first;\nimport \"b.proto\";\noption go_package = \"app/shop\";\nmessage A { second.B b = 1; }\n",
		"b.proto": "syntax = \"proto3\";\npackage second;\noption go_package = \"app/shop\";\nmessage B { string name = 1; }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := generate.Generate(context.Background(), generate.Config{Dir: dir, Inputs: []string{"a.proto", "b.proto"}})
	if err != nil {
		t.Fatal(err)
	}
	if a := string(files[0].Content); !strings.Contains(a, "B *B") || !strings.HasPrefix(a[strings.Index(a, "package"):], "package shop\n") {
		t.Errorf("the output for a.proto is\n%s\nwant a field of the type B of its own package", a)
	}
}
