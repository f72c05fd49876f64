package http

import (
	"maps"
	nethttp "net/http"
	"slices"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http/internal/route"
)

// The keys of annotations: annotationRoute with verb and path behind it, whose value is the field
// for the body.
const annotationRoute = "http.route "

// A RouteOption changes a route.
type RouteOption func(*route.Route)

// Body has the body of the request be one field of it, by its name in JSON, in place of the whole
// request. The other fields come from path and query. A field that the request does not have refuses the
// registration.
func Body(field string) RouteOption { return func(r *route.Route) { r.Body = field } }

// Get gives a method an address for GET and HEAD. The path begins with a slash; {name} stands for
// one segment, {name...} at the end for all that follow, {name=shelves/*/books/*} for several with literals among them, of
// which the last may be ** for all that follow; name is that of a field of the request in JSON, with dots for fields of fields.
// The path may end with a literal such as ":cancel".
// All other fields may be given in the query. A method has any number of addresses:
//
//	http.Get("/users/{id}"), http.Get("/teams/{team}/users/{id}")
//
// A field in the path that the request does not have refuses the registration. Of two methods with
// one address the server logs an error, and the first by name has it.
func Get(path string, opts ...RouteOption) weft.MethodOption {
	return bind(nethttp.MethodGet, path, opts)
}

// Post gives a method an address for POST; see Get. Its body is the request, without the fields
// in the path, unless Body says otherwise.
func Post(path string, opts ...RouteOption) weft.MethodOption {
	return bind(nethttp.MethodPost, path, opts)
}

// Put gives a method an address for PUT; see Post.
func Put(path string, opts ...RouteOption) weft.MethodOption {
	return bind(nethttp.MethodPut, path, opts)
}

// Patch gives a method an address for PATCH; see Post.
func Patch(path string, opts ...RouteOption) weft.MethodOption {
	return bind(nethttp.MethodPatch, path, opts)
}

// Delete gives a method an address for DELETE; see Get.
func Delete(path string, opts ...RouteOption) weft.MethodOption {
	return bind(nethttp.MethodDelete, path, opts)
}

func bind(verb, path string, opts []RouteOption) weft.MethodOption {
	r, err := route.Parse(verb, path)
	if err != nil {
		return weft.InvalidOption(err)
	}
	for _, o := range opts {
		if o != nil {
			o(r)
		}
	}
	if r.Body != "" && !r.TakesBody() {
		return weft.InvalidOption(weft.Errorf(weft.InvalidArgument, "http: %s %s: a request of this verb has no body", verb, path))
	}
	return weft.Annotate(annotationRoute+verb+" "+path, r.Body, func(m weft.MethodInfo) error { return checkRoute(r, m) })
}

// routesOf are the routes in the annotations of a method.
func routesOf(annotations map[string]string) []*route.Route {
	var all []*route.Route
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		body := annotations[key]
		rest, ok := strings.CutPrefix(key, annotationRoute)
		if !ok {
			continue
		}
		verb, path, _ := strings.Cut(rest, " ")
		r, err := route.Parse(verb, path)
		if err != nil {
			continue // it was not made by this package
		}
		r.Body = body
		all = append(all, r)
	}
	return all
}
