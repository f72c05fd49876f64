package http

import (
	"bytes"
	"mime"
	"strings"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/door/internal/webjson"
)

// Media types.
const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
	typeSSE    = "text/event-stream"
	typeBytes  = "application/octet-stream"
)

// media is a codec under its media type.
type media struct {
	kind  string
	codec codec.Codec
	field []string // kind as the header of an answer has it; it is not changed
}

// fixed is a value of many headers: it must not be changed, and appending copies it.
func fixed(value string) []string { return []string{value} }

// mediaTypes are the types of a codec, the one of answers first.
func mediaTypes(codecName string) []string {
	own := "application/vnd.weft." + codecName
	switch codecName {
	case "json":
		return []string{typeJSON, own, "text/json"}
	case "msgpack":
		return []string{"application/msgpack", own, "application/x-msgpack", "application/vnd.msgpack"}
	case "protobuf":
		return []string{"application/protobuf", own, "application/x-protobuf", "application/proto"}
	case "cbor":
		return []string{"application/cbor", own}
	case "raw":
		return []string{typeBytes, own}
	}
	return []string{own}
}

// mediasOf are the codecs of a server by media type, and the types of answers in order. JSON is
// always among them.
func mediasOf(codecs []codec.Codec, strict bool) (by map[string]media, order []string) {
	by = make(map[string]media)
	add := func(c codec.Codec) {
		if c.Name() == "json" {
			c = webjson.New(strict)
		}
		types := mediaTypes(c.Name())
		order = append(order, types[0])
		for _, t := range types {
			by[t] = media{types[0], c, fixed(types[0])}
		}
	}
	for _, c := range codecs {
		add(c)
	}
	if _, ok := by[typeJSON]; !ok {
		add(webjson.New(strict))
	}
	return by, order
}

// typeOf is the media type of a header field, without parameters; false if it is malformed.
func typeOf(field string) (string, bool) {
	t, _, err := mime.ParseMediaType(field)
	if err != nil {
		return "", false
	}
	if strings.HasPrefix(t, "application/") && strings.HasSuffix(t, "+json") {
		return typeJSON, true
	}
	return t, true
}

// oneLine is JSON without line breaks.
func oneLine(b []byte) []byte {
	if bytes.IndexByte(b, '\n') < 0 {
		return b
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r"), nil), []byte("\n"), nil) // in JSON they stand between values alone
}
