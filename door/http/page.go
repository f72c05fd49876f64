package http

import (
	nethttp "net/http"
)

// page answers the requests that the door has paths of its own for.
func (x *connection) page(_ *table, w nethttp.ResponseWriter, r *nethttp.Request) bool {
	switch r.URL.Path {
	case "/healthz":
		health(w, r, nil)
	case "/readyz":
		health(w, r, x.ready())
	default:
		return false
	}
	return true
}
