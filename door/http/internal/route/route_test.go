package route_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftrpc/weft/door/http/internal/route"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func router(t *testing.T, paths ...string) (route.Router, []route.Double) {
	t.Helper()
	var all []*route.Route
	for _, p := range paths {
		r, err := route.Parse("GET", p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return route.New(all)
}

// TestFind: a literal goes before a field, a field before all that is left.
func TestFind(t *testing.T) {
	m, double := router(t, "/{any...}", "/users/{id}", "/users/me", "/users/{id}:cancel", "/users/{id}/{part}", "/users/me/{part...}", "/users/{id}/name", "/{a}/{b}/c:run")
	if len(double) > 0 {
		t.Errorf("%v", double[0])
	}
	for path, want := range map[string]string{
		"users/me": "/users/me map[]", "users/7": "/users/{id} map[id:7]", "users/7:cancel": "/users/{id}:cancel map[id:7]",
		"users/7/name": "/users/{id}/name map[id:7]", "users/7/age": "/users/{id}/{part} map[id:7 part:age]",
		"users/me/name": "/users/me/{part...} map[part:name]", "users/me/a/b": "/users/me/{part...} map[part:a/b]",
		"users/a%2Fb": "/users/{id} map[id:a/b]", "x/y/c:run": "/{a}/{b}/c:run map[a:x b:y]", "other/1/2/3": "/{any...} map[any:other/1/2/3]",
	} {
		r, vars := m.Find("GET", strings.Split(path, "/"))
		if r == nil {
			t.Errorf("%s: nothing", path)
		} else if got := fmt.Sprint(r.Path, " ", vars); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for _, path := range []string{"", "users/%zz", strings.Repeat("a/", 100)} {
		if r, _ := m.Find("GET", strings.Split(path, "/")); r != nil && r.Path != "/{any...}" || path == "" && r != nil {
			t.Errorf("%q: %v", path, r)
		}
	}
	if r, _ := m.Find("POST", []string{"users", "me"}); r != nil {
		t.Errorf("POST: %s", r.Path)
	}
	if r, _ := m.Find("HEAD", []string{"users", "me"}); r == nil {
		t.Error("HEAD: nothing")
	}
}

// TestDouble finds the routes that have one path.
func TestDouble(t *testing.T) {
	_, double := router(t, "/a/{x}", "/a/{y}", "/a/b", "/a/{x}/c", "/a/{x}:z", "/b/{x...}", "/b/{y...}", "/a/{z}")
	lost := make(map[string]string)
	for _, d := range double {
		lost[d.Lost.Path] = d.Kept.Path
	}
	if len(double) != 3 || lost["/a/{y}"] != "/a/{x}" || lost["/a/{z}"] != "/a/{x}" || lost["/b/{y...}"] != "/b/{x...}" {
		t.Errorf("%v are double", lost)
	}
}

// FuzzFind looks for any path under any route.
func FuzzFind(f *testing.F) {
	f.Add("/users/{id}:cancel", "users/7:cancel")
	f.Add("/a/{b...}", "a/%2f//")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		r, err := route.Parse("GET", pattern)
		if err != nil {
			return
		}
		m, _ := route.New([]*route.Route{r})
		if found, vars := m.Find("GET", strings.Split(path, "/")); found == nil && vars != nil {
			t.Error("fields of no route")
		}
	})
}
