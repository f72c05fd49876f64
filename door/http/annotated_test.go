package http_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	nethttp "net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/schema"
)

// rule is a google.api.HttpRule: texts by the numbers of the fields, and further ones.
func rule(texts map[protowire.Number]string, more ...[]byte) (b []byte) {
	for n, text := range texts {
		b = protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), text)
	}
	for _, m := range more {
		b = protowire.AppendBytes(protowire.AppendTag(b, 11, protowire.BytesType), m)
	}
	return b
}

// declare registers a file with the service annotated.Books, as the code of protoc-gen-go does.
var declare = sync.OnceValue(func() error {
	field := func(name string, n int32) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{Name: &name, Number: &n, Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	}
	author := field("author", 3)
	author.Type, author.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(".annotated.Author")
	method := func(name string, rule []byte) *descriptorpb.MethodDescriptorProto {
		options := &descriptorpb.MethodOptions{}
		options.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 72295728, protowire.BytesType), rule))
		return &descriptorpb.MethodDescriptorProto{Name: &name, InputType: proto.String(".annotated.Book"), OutputType: proto.String(".annotated.Book"), Options: options}
	}
	f, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("annotated.proto"), Package: proto.String("annotated"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("Author"), Field: []*descriptorpb.FieldDescriptorProto{field("full_name", 1)}},
			{Name: proto.String("Book"), Field: []*descriptorpb.FieldDescriptorProto{field("book_id", 1), field("title", 2), author}},
		},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("Books"), Method: []*descriptorpb.MethodDescriptorProto{
			method("Get", rule(map[protowire.Number]string{2: "/v1/books/{book_id}"}, rule(map[protowire.Number]string{2: "/v1/authors/{author.full_name=*}/books/{book_id=**}"}))),
			method("Put", rule(map[protowire.Number]string{3: "/v1/books/{book_id}", 7: "author"}, rule(map[protowire.Number]string{4: "/v1/books/{book_id}:rename", 7: "*"}))),
			method("Again", rule(map[protowire.Number]string{2: "/v1/again/{book_id}"})),
			method("Later", rule(map[protowire.Number]string{2: "/v1/later/{title}"})),
			method("Odd", rule(map[protowire.Number]string{2: "/v1/{book_id=shelves/*}/{title=books/*}:read"}, rule(map[protowire.Number]string{2: "/v1/titles/{title}", 12: "title"}), rule(map[protowire.Number]string{2: "/v1/authors", 12: "author"}), rule(map[protowire.Number]string{2: "/v1/odd", 12: "none"}), rule(map[protowire.Number]string{2: "/v1/*"}),
				rule(map[protowire.Number]string{8: "x"}), rule(map[protowire.Number]string{2: "/v1/{none}"}), rule(map[protowire.Number]string{2: "/v1/{book_id"}), []byte{0x12},
				rule(map[protowire.Number]string{2: "/v1/bodies", 7: "*"}), rule(map[protowire.Number]string{5: "/v1/bodies", 7: "author"}))),
		}}},
	}, nil)
	if err != nil {
		return err
	}
	return protoregistry.GlobalFiles.RegisterFile(f)
})

// Book has the fields of annotated.Book by their names in JSON.
type Book struct {
	BookID string  `json:"bookId,omitempty"`
	Title  string  `json:"title,omitempty"`
	Author *Author `json:"author,omitempty"`
}

// Author is that of a book.
type Author struct {
	FullName string `json:"fullName,omitempty"`
}

// TestAnnotatedRoutes calls methods at the addresses that google.api.http gives them.
func TestAnnotatedRoutes(t *testing.T) {
	must(t, declare())
	var log bytes.Buffer
	r := start(t, &http.Config{OpenAPI: &schema.Info{Title: "books", Version: "1"}}, func(c *weft.ServerConfig) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	same := func(_ context.Context, b *Book) (*Book, error) { return b, nil }
	must(t, weft.Handle(r.srv, "annotated.Books.Get", same, weft.Idempotent(), http.Get("/v1/books/{bookId}")))
	must(t, weft.Handle(r.srv, "annotated.Books.Put", same))
	must(t, weft.Handle(r.srv, "annotated.Books.Odd", same))
	for _, test := range []struct {
		verb, path, body, want string
		status                 int
	}{
		{"GET", "/v1/books/7?title=x", "", `{"bookId":"7","title":"x"}`, 200},
		{"GET", "/v1/authors/ann%20b/books/7/8", "", `{"bookId":"7/8","author":{"fullName":"ann b"}}`, 200},
		{"PUT", "/v1/books/7?title=x", `{"fullName":"ann"}`, `{"bookId":"7","title":"x","author":{"fullName":"ann"}}`, 200},
		{"POST", "/v1/books/7:rename", `{"title":"x"}`, `{"bookId":"7","title":"x"}`, 200},
		{"POST", "/annotated.Books/Put", `{"title":"x"}`, `{"title":"x"}`, 200},
		{"GET", "/v1/shelves/7/books/8%209:read", "", `{"bookId":"shelves/7","title":"books/8 9"}`, 200},
		{"GET", "/v1/shelves/7/pages/8:read", "", "", 404}, {"GET", "/v1/shelves/7/books/8", "", "", 404}, {"GET", "/v1/odd", "", "", 404},
		{"GET", "/v1/titles/x%20y", "", `"x y"`, 200}, {"GET", "/v1/authors?author.fullName=ann", "", `{"fullName":"ann"}`, 200}, {"GET", "/v1/authors", "", `{}`, 200},
		{"GET", "/v1/bodies", "", "", 404}, {"DELETE", "/v1/bodies", "", "", 404},
	} {
		request, err := nethttp.NewRequestWithContext(t.Context(), test.verb, r.url+test.path, strings.NewReader(test.body))
		must(t, err)
		request.Header.Set("Content-Type", "application/json")
		answer, err := r.c.Do(request)
		must(t, err)
		body, err := io.ReadAll(answer.Body)
		must(t, err)
		answer.Body.Close()
		if answer.StatusCode != test.status || test.want != "" && string(body) != test.want {
			t.Errorf("%s %s: %d %s, want %d %s", test.verb, test.path, answer.StatusCode, body, test.status, test.want)
		}
	}
	answer, err := r.c.Get(r.url + "/openapi.json")
	must(t, err)
	document, err := io.ReadAll(answer.Body)
	must(t, err)
	answer.Body.Close()
	for _, path := range []string{`"/v1/books/{bookId}"`, `"/v1/authors/{author.fullName}/books/{bookId}"`, `"/v1/books/{bookId}:rename"`, `"/v1/shelves/{bookId}/books/{title}:read"`} {
		if !bytes.Contains(document, []byte(path)) {
			t.Errorf("the description lacks %s", path)
		}
	}
	r.srv.Close()
	text := log.String()
	for _, why := range []string{"wildcard", "custom", `none`, "without its }", "has a body for GET", "has a body for DELETE"} {
		if !strings.Contains(text, why) {
			t.Errorf("the log does not tell of %q: %s", why, text)
		}
	}
	if strings.Contains(text, "two methods have one address") {
		t.Errorf("an address of both an option and the .proto file is said to be one of two methods: %s", text)
	}
}

// TestAddressInCodeGoesFirst: an address that a method has in code is not taken away by the one of another method in a .proto file, whatever
// their names are. Two addresses of one method that match the same paths are no fault.
func TestAddressInCodeGoesFirst(t *testing.T) {
	must(t, declare())
	var log bytes.Buffer
	r := start(t, nil, func(c *weft.ServerConfig) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	handle := func(name string, opts ...weft.MethodOption) {
		must(t, weft.Handle(r.srv, name, func(_ context.Context, b *Book) (*Book, error) {
			b.Author = &Author{FullName: name}
			return b, nil
		}, opts...))
	}
	handle("annotated.Books.Again", weft.Idempotent(), http.Get("/v1/again/{title}"))
	handle("annotated.Books.Later", weft.Idempotent())
	handle("zoo.Books.Get", weft.Idempotent(), http.Get("/v1/later/{bookId}"))
	for path, want := range map[string]string{
		"/v1/again/7": `{"title":"7","author":{"fullName":"annotated.Books.Again"}}`,
		"/v1/later/7": `{"bookId":"7","author":{"fullName":"zoo.Books.Get"}}`,
	} {
		answer, err := r.c.Get(r.url + path)
		must(t, err)
		body, err := io.ReadAll(answer.Body)
		must(t, err)
		answer.Body.Close()
		if string(body) != want {
			t.Errorf("%s: %d %s, want %s", path, answer.StatusCode, body, want)
		}
	}
	r.srv.Close()
	text := log.String()
	if n := strings.Count(text, "two methods have one address"); n != 1 || !strings.Contains(text, "other_method=annotated.Books.Later") {
		t.Errorf("the log tells of %d pairs of methods, want the one with annotated.Books.Later: %s", n, text)
	}
}
