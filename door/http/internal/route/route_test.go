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

// TestPatterns: a field is several segments of which some are literals.
func TestPatterns(t *testing.T) {
	m, double := router(t, "/v1/{name=shelves/*}", "/v1/{name=shelves/*/books/*}", "/v1/{name=shelves/*/books/*}:buy", "/v1/{name=jobs/**}:stop", "/v1/{name=jobs/**}", "/v1/shelves/new", "/{a=x/*}/{b=y/*}/z")
	if len(double) > 0 {
		t.Errorf("%v", double[0])
	}
	for path, want := range map[string]string{
		"v1/shelves/7": "/v1/{name=shelves/*} map[name:shelves/7]", "v1/shelves/7/books/8%209": "/v1/{name=shelves/*/books/*} map[name:shelves/7/books/8 9]",
		"v1/shelves/7/books/8:buy": "/v1/{name=shelves/*/books/*}:buy map[name:shelves/7/books/8]", "v1/jobs/1/2:stop": "/v1/{name=jobs/**}:stop map[name:jobs/1/2]",
		"v1/jobs/1": "/v1/{name=jobs/**} map[name:jobs/1]", "v1/shelves/new": "/v1/shelves/new map[]", "x/1/y/2/z": "/{a=x/*}/{b=y/*}/z map[a:x/1 b:y/2]",
		"v1/shelves": "", "v1/shelf/7": "", "v1/shelves/7/book/8": "", "v1/shelves//books/8": "", "v1/jobs": "", "x/1/z/2/z": "",
	} {
		got := ""
		if r, vars := m.Find("GET", strings.Split(path, "/")); r != nil {
			got = fmt.Sprint(r.Path, " ", vars)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]string{
		"/a/{x}/{y...}:z":              "/a/{x}/{y}:z [{x x true} {y y false}]",
		"/v1/{name=shelves/*/books/*}": "/v1/shelves/{name.1}/books/{name.2} [{name.1 name false} {name.2 name false}]",
		"/v1/{name=jobs/**}:stop":      "/v1/jobs/{name}:stop [{name name false}]",
		"/v1/{name=*}":                 "/v1/{name} [{name name true}]",
	} {
		r, err := route.Parse("GET", path)
		if err != nil {
			t.Fatal(err)
		}
		params, template := r.Params()
		if got := fmt.Sprint(template, " ", params); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for _, path := range []string{"/{a=x}", "/{a=**/x}", "/{a=**}/x", "/{a=x*}", "/{a=}", "/{a=x//*}", "/{a=x/{b}}", "/{a=*}/{a}", "/{=*}", "/{a...=*}b", "/{a}b", "/{a", "/a}", "/a//b", "/a/", "/", "a", "/x/{a...}/b"} {
		if r, err := route.Parse("GET", path); err == nil {
			t.Errorf("%s is taken: %+v", path, r)
		}
	}
}

// TestDouble finds the routes that have one path.
func TestDouble(t *testing.T) {
	_, double := router(t, "/a/{x}", "/a/{y}", "/a/b", "/a/{x}/c", "/a/{x}:z", "/b/{x...}", "/b/{y...}", "/a/{z}", "/c/{x}/d", "/{y=c/*}/d")
	lost := make(map[string]string)
	for _, d := range double {
		lost[d.Lost.Path] = d.Kept.Path
	}
	if len(double) != 4 || lost["/{y=c/*}/d"] != "/c/{x}/d" || lost["/a/{y}"] != "/a/{x}" || lost["/a/{z}"] != "/a/{x}" || lost["/b/{y...}"] != "/b/{x...}" {
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
