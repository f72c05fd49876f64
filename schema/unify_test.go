package schema

import (
	"fmt"
	"reflect"
	"testing"
)

// elsewhere is a type in another package.
type elsewhere struct {
	GoType
	path string
}

func (e elsewhere) Facts() Facts {
	f := e.GoType.Facts()
	f.Package, f.ID = e.path, e.path+f.Name
	return f
}

// TestPackagesOfOneName gives types of one name in packages of one name names that do not depend on which comes first.
func TestPackagesOfOneName(t *testing.T) {
	type line struct{ A int }
	paths := []string{"example.org/a/shop", "example.org/b/shop/v2", "example.org/depot"}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		b := NewBuilder()
		for _, i := range order {
			b.Add("S", Method{Name: fmt.Sprint("M", i), Kind: Unary, Request: b.Go(elsewhere{reflected{reflect.TypeFor[line]()}, paths[i]}, ""), Reply: &Type{Kind: KindBool}})
		}
		m, err := b.Model()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range m.Messages {
			names = append(names, one.Name)
		}
		if got := fmt.Sprint(names); got != "[a_shop.line b_shop.line depot.line]" {
			t.Error(got)
		}
		for i, one := range m.Services[0].Methods {
			if got := m.Message(one.Request.Name); got == nil || got.Go != paths[i]+".line" {
				t.Errorf("%s has the request %s", one.Name, one.Request.Name)
			}
		}
	}
}
