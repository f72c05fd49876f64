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
	field    []string    // kind as the header of an answer has it; it is not changed
}

// formOf finds out the form of a request; false if it is of none of the protocols.
func (x *connection) formOf(t *table, r *nethttp.Request) (f form, ok bool) {
	if r.Method == nethttp.MethodGet {
		q := r.URL.Query()
		if !q.Has("encoding") || !q.Has("message") && q.Get("connect") == "" {
			return f, false
		}
		f.get, f.name = true, q.Get("encoding")
		f.kind = "application/" + f.name
		f.field = []string{f.kind}
		f.codec = x.codecNamed(f.name)
		return f, f.codec != nil
	}
	if r.Method != nethttp.MethodPost {
		return f, false
	}
	text := r.Header.Get("Content-Type")
	if f, ok = t.forms[text]; !ok {
		if f, ok = x.formNamed(text); !ok {
			return f, false
		}
	}
	f.lenient = f.protocol == unary && r.Header.Get(headerVersion) == ""
	return f, true
}

// forms are those of the codecs of the server, by Content-Type.
func (x *connection) forms() map[string]form {
	names := []string{"proto", "json"}
	for _, c := range x.Codecs() {
		names = append(names, c.Name())
	}
	all := make(map[string]form)
	for _, name := range names {
		for _, kind := range []string{"application/" + name, "application/connect+" + name, "application/grpc-web+" + name, "application/grpc-web", "application/grpc-web-text"} {
			if f, ok := x.formNamed(kind); ok {
				all[kind] = f
			}
		}
	}
	return all
}

// formNamed is the form that a Content-Type names; false if it is of none of the protocols.
func (x *connection) formNamed(text string) (f form, ok bool) {
	kind, params, err := mime.ParseMediaType(text)
	sub, found := strings.CutPrefix(kind, "application/")
	if charset := params["charset"]; err != nil || !found || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return f, false
	}
	f.kind, f.field = kind, []string{kind}
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
	}
	f.codec = x.codecNamed(f.name)
	return f, f.codec != nil
}

// codecNamed is the codec for the name in a content type.
func (x *connection) codecNamed(name string) codec.Codec {
	switch name {
	case "json":
		return x.d.json
	case "proto":
		return x.Codec("protobuf")
	case "", "protobuf":
		return nil
	}
	return x.Codec(name)
}
