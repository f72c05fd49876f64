package http

import (
	"encoding/base64"
	nethttp "net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http/internal/params"
	"github.com/weftrpc/weft/door/internal/httpfield"
)

// The headers of this door.
const (
	headerTimeout  = "Weft-Timeout"
	headerPriority = "Weft-Priority"
	metaPrefix     = "Weft-Meta-"
	binPrefix      = "Weft-Bin-"
)

// alwaysMetadata are the headers that are metadata under their own names.
func alwaysMetadata() []string {
	return []string{"Authorization", "Traceparent", "Tracestate", "Baggage", "Idempotency-Key", "X-Request-Id", "Last-Event-Id"}
}

// proxyHeaders are the headers by which a proxy says that it passes a request on. They are metadata under their own names too, since
// handlers take the peer for the caller otherwise. A client of weft is no proxy: what its program sends under these keys does not
// become these headers.
func proxyHeaders() []string { return []string{"Forwarded", "Via", "X-Forwarded-For"} }

// metadata is that of a request.
func (d *door) metadata(h nethttp.Header, limit int) (weft.Metadata, *weft.Error) {
	var m weft.Metadata
	size, count := 0, 0
	for name, values := range h {
		key, binary := d.keyOf(name)
		if key == "" {
			continue
		}
		for _, value := range values {
			if binary {
				b, err := params.Base64(value)
				if err != nil {
					return m, refusal(weft.InvalidArgument, "", "header %s is not base64", name)
				}
				value = string(b)
			}
			size += len(key) + len(value) + 3
			count++
			if m = m.With(key, value); size > limit || m.Len() != count {
				return m, refusal(weft.ResourceExhausted, weft.ReasonMetadataTooLarge,
					"the metadata in the header has more than %d bytes, or a key or a number of pairs that cannot be", limit)
			}
		}
	}
	return m, nil
}

// keyOf is the key of the metadata that a header holds, and whether its values are base64; "": it holds none.
func (d *door) keyOf(name string) (key string, binary bool) {
	if !strings.HasPrefix(name, "Weft-") {
		if d.headers[name] {
			key = strings.ToLower(name)
		}
		return key, false
	}
	if rest, ok := strings.CutPrefix(name, metaPrefix); ok {
		return strings.ToLower(rest), false
	}
	rest, _ := strings.CutPrefix(name, binPrefix)
	if len(rest) == len(name) {
		return "", false
	}
	return strings.ToLower(rest), true
}

// setMetadata puts metadata into a header, each name behind prefix. Keys that are no names of
// headers are left out.
func setMetadata(h nethttp.Header, prefix string, m weft.Metadata) {
	for key, value := range m.All() {
		if !httpfield.IsToken(key) {
			continue
		}
		name := metaPrefix
		if !isText(value) {
			name, value = binPrefix, base64.StdEncoding.EncodeToString([]byte(value))
		}
		if prefix+name == metaPrefix || prefix+name == binPrefix {
			h.Add(name+key, value)
		} else {
			h.Add(prefix+nethttp.CanonicalHeaderKey(name+key), value)
		}
	}
}

// isText reports whether a value passes through a header as it is.
func isText(value string) bool {
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return false
		}
	}
	return strings.Trim(value, " ") == value
}

// priority is the priority that a client gives its call.
func priority(h nethttp.Header) (p weft.Priority, _ *weft.Error) {
	text := h.Get(headerPriority)
	if text != "" && p.UnmarshalText([]byte(text)) != nil {
		return p, refusal(weft.InvalidArgument, "", "header %s is %q, want default, critical or sheddable", headerPriority, httpfield.Clip(text))
	}
	return p, nil
}

// timeout is the time that a client gives its call; 0: none is named.
func timeout(h nethttp.Header) (time.Duration, *weft.Error) {
	text := h.Get(headerTimeout)
	if text == "" {
		return 0, nil
	}
	ms, err := strconv.ParseUint(text, 10, 63)
	if err != nil || ms == 0 {
		return 0, refusal(weft.InvalidArgument, "", "header %s is %q, want milliseconds", headerTimeout, httpfield.Clip(text))
	}
	return time.Duration(min(ms, uint64(httpfield.MaxTimeout/time.Millisecond))) * time.Millisecond, nil
}
