package protofile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weftrpc/weft/generate/internal/protofile"
)

// TestLoad reads a file, by its relative and its absolute path, from the current folder, from another one and from one of imports. It imports a file beside it and
// one of the folders.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"api/shop.proto":     "syntax = \"proto3\";\npackage shop;\nimport \"item.proto\";\nimport \"price.proto\";\n// Shop sells.\nmessage Shop { Item item = 1; Price price = 2; }\n",
		"api/item.proto":     "syntax = \"proto3\";\npackage shop;\nmessage Item {}\n",
		"common/price.proto": "syntax = \"proto3\";\npackage shop;\noption go_package = \"app/price-list\";\nmessage Price {}\n",
		"common/shop.proto":  "syntax = \"proto3\";\npackage another;\n",
		"elsewhere/x":        "",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	absolute, common := filepath.Join(dir, "api/shop.proto"), filepath.Join(dir, "common")
	for _, c := range []struct{ here, dir, name, path string }{
		{"api", "", "shop.proto", "shop.proto"},
		{"api", "", "./shop.proto", "shop.proto"},
		{"api", "", absolute, "shop.proto"},
		{".", "", "api/shop.proto", "api/shop.proto"},
		{".", "", absolute, "api/shop.proto"},
		{"elsewhere", "", absolute, "shop.proto"},
		{"elsewhere", "../api", "shop.proto", "shop.proto"},
		{"elsewhere", "../api", absolute, "shop.proto"},
	} {
		t.Chdir(filepath.Join(dir, c.here))
		d, err := protofile.Load(t.Context(), c.dir, []string{common}, c.name)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if d.Path() != c.path || d.Package() != "shop" {
			t.Errorf("%+v: the file is %s of the package %s", c, d.Path(), d.Package())
		}
		if shop := d.Messages().Get(0); protofile.Comment(shop) != "Shop sells." || protofile.Pos(shop) != c.path+":6:1" {
			t.Errorf("%+v: %s: %s", c, protofile.Pos(shop), protofile.Comment(shop))
		}
		if path, name := protofile.GoPackage(d.Imports().Get(1).FileDescriptor); path != "app/price-list" || name != "price_list" {
			t.Errorf("the Go package is %s at %s", name, path)
		}
	}
	if _, err := protofile.Load(t.Context(), dir, nil, filepath.Join(dir, "none.proto")); err == nil {
		t.Error("a file that does not exist was read")
	}
}
