package connect

import (
	"mime"
	nethttp "net/http"
	"strings"

	"github.com/weftrpc/weft/codec"
)

// protocol is how a request and its answer are made.
type protocol uint8

const (
	unary     protocol = iota // Connect: the body is the message
	streaming                 // Connect: the body is enveloped messages
	grpcWeb                   // the same, with the end as gRPC has it
)

// form is what the header of a request says of its form.
type form struct {
	protocol protocol
	kind     string // the media type of the answer
	text     bool   // of gRPC-Web: bodies are base64
	get      bool
	lenient  bool // a unary request that could be one of package http as well
	name     string
	codec    codec.Codec // nil: there is none of the name
}

// formOf finds out the form of a request; false if it is of none of the protocols.
func (x *connection) formOf(r *nethttp.Request) (f form, ok bool) {
	if r.Method == nethttp.MethodGet {
		q := r.URL.Query()
		if !q.Has("encoding") || !q.Has("message") && q.Get("connect") == "" {
			return f, false
		}
		f.get, f.name = true, q.Get("encoding")
		f.kind = "application/" + f.name
		f.codec = x.codecNamed(f.name)
		return f, f.codec != nil
	}
	if r.Method != nethttp.MethodPost {
		return f, false
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	sub, found := strings.CutPrefix(kind, "application/")
	if charset := params["charset"]; err != nil || !found || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return f, false
	}
	f.kind = kind
	if name, found := strings.CutPrefix(sub, "connect+"); found {
		f.protocol, f.name = streaming, name
	} else if rest, found := strings.CutPrefix(sub, "grpc-web"); found {
		f.protocol = grpcWeb
		rest, f.text = strings.CutPrefix(rest, "-text")
		switch {
		case rest == "":
			f.name = "proto"
		case rest[0] == '+':
			f.name = rest[1:]
		default:
			return f, false
		}
	} else {
		f.name = sub
		f.lenient = r.Header.Get(headerVersion) == ""
	}
	f.codec = x.codecNamed(f.name)
	return f, f.codec != nil
}

// codecNamed is the codec for the name in a content type.
func (x *connection) codecNamed(name string) codec.Codec {
	switch name {
	case "json":
		return x.json
	case "proto":
		return x.Codec("protobuf")
	case "", "protobuf":
		return nil
	}
	return x.Codec(name)
}
