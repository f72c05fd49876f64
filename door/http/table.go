package http

import (
	"cmp"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http/internal/annotated"
	"github.com/weftrpc/weft/door/http/internal/route"
	"github.com/weftrpc/weft/schema"
)

// table is what a door knows of the methods of a server at one time.
type table struct {
	services *weft.Services
	changes  uint64
	methods  map[string]*target // by "Service.Method", aliases among them
	routes   route.Router
	posts    map[string]*address // by the path of the address Service/Method, unless a route has it
	medias   map[string]media
	order    []string // media types of answers

	mu  sync.Mutex
	set *schema.Set // for params and the description
	doc func() ([]byte, error)
}

// target is a method.
type target struct {
	weft.MethodInfo
	routes []*route.Route
	params func() map[string]*schema.Schema // what can be given in paths and queries, by name

	bytesIn, bytesOut bool // messages are []byte
}

// components is where the schemas of a description are.
const components = "#/components/schemas/"

// table returns what is known of the server's methods now.
func (x *connection) table() *table {
	services := x.Services()
	changes := services.Changes()
	known, _ := x.d.tables.Load(services)
	if t, ok := known.(*table); ok && t.changes == changes {
		return t
	}
	t := &table{services: services, changes: changes, methods: make(map[string]*target), set: schema.NewSet(components)}
	t.medias, t.order = mediasOf(x.Codecs(), x.d.cfg.StrictFields)
	var given, declared []*route.Route
	bytes := schema.TypeOf([]byte(nil))
	for _, service := range services.Describe() {
		for _, info := range service.Methods {
			own, more := x.routes(info)
			m := &target{MethodInfo: info, routes: slices.Concat(own, more), bytesIn: info.Request == bytes, bytesOut: info.Reply == bytes}
			m.params = sync.OnceValue(func() map[string]*schema.Schema { return t.paramsOf(m) })
			t.methods[info.Name] = m
			for _, alias := range info.Aliases {
				t.methods[alias] = m
			}
			for _, r := range m.routes {
				r.To = m
			}
			given, declared = append(given, own...), append(declared, more...)
		}
	}
	var double []route.Double
	t.routes, double = route.New(append(given, declared...)) // an address in code goes before any in a .proto file
	for _, d := range double {
		lost := d.Lost.To.(*target)
		lost.routes = slices.DeleteFunc(lost.routes, func(r *route.Route) bool { return r == d.Lost })
		if d.Kept.To == d.Lost.To { // as /users/{id} and /users/{user_id}
			continue
		}
		x.Logger().Error("two methods have one address: only the first can be called by it; change the path of the other",
			"door", "http", "verb", d.Kept.Verb, "path", d.Kept.Path, "method", d.Kept.To.(*target).Name,
			"other_path", d.Lost.Path, "other_method", lost.Name)
	}
	t.posts = x.posts(t)
	t.doc = sync.OnceValues(func() ([]byte, error) { return t.describe(&x.d.cfg) })
	x.d.tables.Store(services, t)
	return t
}

// routes are the addresses that a method has beside Service/Method: given are those of its options, declared the others of the option
// google.api.http in its .proto file.
func (x *connection) routes(info weft.MethodInfo) (given, declared []*route.Route) {
	given = routesOf(info.Annotations)
	more, wrong := annotated.Routes(info.Name)
	for _, r := range more {
		if err := checkRoute(r, info); err != nil {
			wrong = append(wrong, err)
		} else if !slices.ContainsFunc(slices.Concat(given, declared), func(known *route.Route) bool { return known.Verb == r.Verb && known.Path == r.Path }) {
			declared = append(declared, r)
		}
	}
	for _, err := range wrong {
		x.Logger().Warn("a method cannot be called at an address of its .proto file", "door", "http", "method", info.Name, "error", err)
	}
	return given, declared
}

// posts are the addresses Service/Method, which find need not take apart for each request.
func (x *connection) posts(t *table) map[string]*address {
	posts := make(map[string]*address)
	for name, m := range t.methods {
		dot := strings.LastIndexByte(name, '.')
		path := url.URL{Path: x.d.cfg.Prefix + name[:max(dot, 0)] + "/" + name[dot+1:]}
		r := &nethttp.Request{Method: nethttp.MethodPost, URL: &path}
		if a := x.find(t, r); a.t == m && a.r == nil && a.name == name {
			posts[path.Path] = a
		}
	}
	return posts
}

// maxNested is how deep fields of fields can be named in a query.
const maxNested = 4

// paramsOf lists the fields of a request that can be given as text.
func (t *table) paramsOf(m *target) map[string]*schema.Schema {
	t.mu.Lock()
	defer t.mu.Unlock()
	return paramsIn(t.set, t.set.Of(m.Request))
}

// zeroOf is the value of a field of the reply that is not set.
func (t *table) zeroOf(m *target, field string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	zeros := map[string]string{"array": "[]", "object": "{}", "string": `""`, "integer": "0", "number": "0", "boolean": "false"}
	if s := t.set.Resolve(t.set.Of(m.Reply)).Properties[field]; s != nil {
		return cmp.Or(zeros[t.set.Resolve(s).Type], "null")
	}
	return "null"
}

// methodAt is the name of the method that a path below the prefix names, "" for none.
func methodAt(parts []string) string {
	if len(parts) < 2 {
		return ""
	}
	service, method := strings.Join(parts[:len(parts)-1], "/"), parts[len(parts)-1]
	if service == "" || method == "" || strings.Contains(method, ".") {
		return ""
	}
	return service + "." + method
}
