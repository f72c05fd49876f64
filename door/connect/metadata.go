package connect

import (
	"encoding/base64"
	nethttp "net/http"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/httpfield"
)

// binarySuffix ends the keys whose values are any bytes, which travel as base64.
const binarySuffix = "-bin"

// reservedField is reserved for a name in any case. Most headers of a request have the names of this list.
func reservedField(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Connect-Protocol-Version", "Connect-Timeout-Ms", "Content-Length", "Content-Type", "User-Agent":
		return true
	}
	return reserved(strings.ToLower(name))
}

// reserved reports whether a header, by its name in lower case, is one of HTTP or of the protocols and
// no metadata.
func reserved(name string) bool {
	switch name {
	case "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "date", "expect", "host", "keep-alive",
		"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "x-user-agent", "x-grpc-web":
		return true
	}
	for _, prefix := range []string{"connect-", "weft-", "sec-", ":"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasPrefix(name, "grpc-") && !strings.HasSuffix(name, binarySuffix) || name == "grpc-status-details-bin"
}

// metadataOf is the metadata in a header, of which limit bytes may be there.
func metadataOf(h nethttp.Header, limit int) (weft.Metadata, *weft.Error) {
	var pairs []string
	size := 0
	for name, values := range h {
		if reservedField(name) {
			continue
		}
		key := strings.ToLower(name)
		for _, value := range values {
			if !strings.HasSuffix(key, binarySuffix) {
				pairs = append(pairs, key, value)
				size += len(key) + len(value) + 3
				continue
			}
			for part := range strings.SplitSeq(value, ",") {
				b, err := unbase64(strings.TrimSpace(part))
				if err != nil {
					return weft.Metadata{}, refusal(weft.InvalidArgument, "", "the value of header %s is no base64", httpfield.Clip(name))
				}
				pairs = append(pairs, key, string(b))
				size += len(key) + len(b) + 3
			}
		}
		if size > limit {
			break
		}
	}
	if len(pairs) == 0 {
		return weft.Metadata{}, nil
	}
	m := weft.NewMetadata(pairs...)
	if size > limit || m.Len() != len(pairs)/2 {
		return weft.Metadata{}, refusal(weft.ResourceExhausted, weft.ReasonMetadataTooLarge, "the metadata has more than the %d bytes of Limits.MaxMetadata, too many pairs or too long keys", limit)
	}
	return m, nil
}

// unbase64 decodes base64 with or without padding, also that for URLs.
func unbase64(s string) ([]byte, error) {
	s = strings.TrimRight(s, "=")
	if strings.ContainsAny(s, "-_") {
		return base64.RawURLEncoding.DecodeString(s)
	}
	return base64.RawStdEncoding.DecodeString(s)
}

// fieldOf is a pair of metadata as a header carries it; ok is false if none does.
func fieldOf(key, value string) (name, text string, ok bool) {
	name = strings.ToLower(key)
	if reserved(name) || !httpfield.IsToken(name) {
		return "", "", false
	}
	if strings.HasSuffix(name, binarySuffix) {
		return name, base64.RawStdEncoding.EncodeToString([]byte(value)), true
	}
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return "", "", false
		}
	}
	return name, value, true
}

// divide divides the metadata of a reply, as names and values in turn, into what travels in the header and
// what follows it. at is how many pairs were there when the header was made. It asks Config.Leading, so no lock is held; a key for
// which that panics follows.
func (in *inbound) divide(m weft.Metadata, at int) (leading, trailing []string) {
	n := 0
	for k, v := range m.All() {
		leads := n < at
		if f := in.x.d.cfg.Leading; f != nil {
			leads = false
			in.x.fence.Run("Leading of the door", in.x.Conn().RemoteAddr(), func() { leads = f(k) })
		}
		n++
		name, value, ok := fieldOf(k, v)
		switch {
		case !ok:
		case leads:
			leading = append(leading, name, value)
		default:
			trailing = append(trailing, name, value)
		}
	}
	return leading, trailing
}

// addFields adds fields, names and values in turn, to a header.
func addFields(h nethttp.Header, prefix string, fields []string) {
	for i := 0; i < len(fields); i += 2 {
		h.Add(prefix+fields[i], fields[i+1])
	}
}

// joined are fields by name.
func joined(fields []string) map[string][]string {
	if len(fields) == 0 {
		return nil
	}
	all := make(map[string][]string)
	for i := 0; i < len(fields); i += 2 {
		all[fields[i]] = append(all[fields[i]], fields[i+1])
	}
	return all
}
