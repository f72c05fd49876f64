package generate_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrpc/weft/generate"
)

// TestSameOutput has two sources whose outputs have the same name: neither replaces the other's, in one run or in two. When the first source is
// gone the second takes its place.
func TestSameOutput(t *testing.T) {
	dir := t.TempDir()
	proto, thrift := filepath.Join(dir, "shop.proto"), filepath.Join(dir, "shop.thrift")
	for name, text := range map[string]string{
		proto:  "syntax = \"proto3\";\npackage shop;\nmessage Item { string name = 1; }\n",
		thrift: "namespace go shop\nstruct Item { 1: string name }\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(inputs ...string) error {
		t.Helper()
		files, err := generate.Generate(context.Background(), generate.Config{Dir: dir, Inputs: inputs, Package: "shop"})
		if err != nil {
			return err
		}
		_, err = generate.Write(files)
		return err
	}
	refused := func(err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "shop.proto") || !strings.Contains(err.Error(), "shop.thrift") {
			t.Errorf("the error is %v, want one that names both sources", err)
		}
	}
	refused(run("shop.proto", "shop.thrift"))
	if _, err := os.Stat(filepath.Join(dir, "shop_weft.go")); err == nil {
		t.Error("there is an output of one of them")
	}
	if err := run("shop.proto", "./shop.proto"); err != nil {
		t.Errorf("a source is named twice: %v", err)
	}
	for range 2 { // the second replaces its own
		if err := run("shop.proto"); err != nil {
			t.Fatal(err)
		}
	}
	refused(run("shop.thrift"))
	if err := os.Remove(proto); err != nil {
		t.Fatal(err)
	}
	if err := run("shop.thrift"); err != nil {
		t.Errorf("the other source is gone, and the error is %v", err)
	}
}
