package http

import (
	"context"
	"encoding/base64"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http/internal/params"
	"github.com/weftrpc/weft/door/internal/carriers"
	"github.com/weftrpc/weft/door/internal/httpfield"
	"github.com/weftrpc/weft/internal/httpstatus"
)

// HeaderOf makes the header of the request of a call, for a wire of another package whose calls travel by HTTP: the time that
// ctx leaves, the metadata and the priority, as HeadOf reads them. The error is that of a key that no header can have.
func HeaderOf(ctx context.Context, m weft.Metadata) (nethttp.Header, error) {
	h := nethttp.Header{"User-Agent": {"weft-go"}}
	if left := httpfield.Left(ctx); left != "" {
		h.Set(headerTimeout, left)
	}
	plain := alwaysMetadata()
	for key, value := range m.All() {
		name := nethttp.CanonicalHeaderKey(key)
		switch {
		case key == "weft-attempt": // HTTP has no place for it
		case key == "weft-priority":
			h.Set(headerPriority, value)
		case !httpfield.IsToken(key):
			return nil, carriers.NotSent(weft.InvalidArgument, "", "metadata key %q cannot travel by HTTP: keys are lower-case letters, digits and -_.", key)
		case slices.Contains(plain, name) && isText(value):
			h.Add(name, value)
		case isText(value):
			h.Add(metaPrefix+key, value)
		default:
			h.Add(binPrefix+key, base64.StdEncoding.EncodeToString([]byte(value)))
		}
	}
	return h, nil
}

// SetMetadata puts metadata into the header of an answer, where MetadataOf finds it. Keys that are no names of headers are
// left out.
func SetMetadata(h nethttp.Header, m weft.Metadata) { setMetadata(h, "", m) }

// MetadataOf is the metadata in the header of an answer.
func MetadataOf(h nethttp.Header) weft.Metadata {
	var m weft.Metadata
	for name, values := range h {
		key, binary := strings.CutPrefix(name, binPrefix)
		if !binary {
			var ok bool
			if key, ok = strings.CutPrefix(name, metaPrefix); !ok {
				continue
			}
		}
		for _, value := range values {
			if binary {
				b, err := params.Base64(value)
				if err != nil {
					continue
				}
				value = string(b)
			}
			m = m.With(strings.ToLower(key), value)
		}
	}
	return m
}

// ErrorOf is the error that an answer with another status than 200 stands for. body is that of the answer, which may be a
// Problem.
func ErrorOf(res *nethttp.Response, body []byte) *weft.Error {
	e := &weft.Error{Code: httpstatus.Code(res.StatusCode), Message: "the server answered with the HTTP status " + httpfield.Clip(res.Status)}
	if res.StatusCode == nethttp.StatusNotFound || res.StatusCode == nethttp.StatusMethodNotAllowed {
		e.Outcome = weft.Refused // so servers answer where there is no such method
	}
	if isJSON(res) {
		if told := readProblem(body, res.StatusCode); told != nil {
			e = told
		}
	}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		if _, ok := e.RetryAfter(); !ok {
			e = e.WithRetryAfter(time.Duration(min(seconds, int(httpfield.MaxTimeout/time.Second))) * time.Second)
		}
	}
	return e
}

// isJSON reports whether the body of an answer is JSON.
func isJSON(res *nethttp.Response) bool {
	kind, ok := typeOf(res.Header.Get("Content-Type"))
	return ok && kind == typeJSON
}
