package names_test

import (
	"strings"
	"testing"

	"github.com/weftrpc/weft/generate/internal/names"
)

func TestExported(t *testing.T) {
	for name, want := range map[string]string{
		"order_id": "OrderId", "Order": "Order", "label_2d": "Label_2D", "_x": "XX", "a.b": "AB", "A.B": "A_B", "x_Y": "X_Y", "a__b": "A_B", "URL": "URL",
	} {
		if got := names.Exported(name); got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
}

func TestPackage(t *testing.T) {
	for folder, want := range map[string]string{"shop": "shop", "go-shop": "go_shop", "2024": "_2024", "type": "type_", "v1.2": "v1_2", "я": "__"} {
		if got := names.Package(folder); got != want {
			t.Errorf("the package of %s is %s, want %s", folder, got, want)
		}
	}
}

func TestCheckPackage(t *testing.T) {
	for name, want := range map[string]bool{"shop": true, "shop_v1": true, "Заказ": true, "": false, "_": false, "my pkg": false, "my-pkg": false, "type": false, "1st": false, "a.b": false} {
		if err := names.CheckPackage(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestImports has packages whose names mean something else in generated code, and in the package of the file.
func TestImports(t *testing.T) {
	i := names.NewImports()
	i.Declared["math"], i.Declared["shop"] = true, true
	for path, want := range map[string]string{"math": "math", "example.org/math": "math2", "example.org/shop": "shop2", "example.org/req": "req2", "example.org/string": "string2", names.Stub: "stub"} {
		if got := i.Use(path, path[strings.LastIndexByte(path, '/')+1:]); got != want || i.Use(path, "other") != want || !i.Has(want) {
			t.Errorf("%s is called %s, want %s", path, got, want)
		}
	}
	got, err := i.File("package shop\n\n", "// In math. it is so.\nvar a, b = math.Pi, math2.E\n")
	if want := "package shop\n\nimport (\n\tmath3 \"math\"\n\n\tmath2 \"example.org/math\"\n)\n// In math. it is so.\nvar a, b = math3.Pi, math2.E\n"; err != nil || got != want {
		t.Errorf("%v, %s", err, got)
	}
	if _, err := i.File("", "var"); err == nil {
		t.Error("what is no Go was taken")
	}
}
