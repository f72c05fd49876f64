package reflection

import (
	"context"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
)

func symbol(name string) *Request { return &Request{FileContainingSymbol: &name} }

// TestNamesWithoutDescriptor has names that Protocol Buffers do not allow, and one that is a message's as well: each
// is listed, and a request for its descriptor says what is wrong. The other services are not concerned.
func TestNamesWithoutDescriptor(t *testing.T) {
	type order struct{ ID int }
	srv := weft.NewServer(nil)
	const taken = "github_com.weftrpc.weft.door.grpc.internal.reflection.order"
	for _, name := range []string{"my-service.Get", taken + ".Get", "shop.Orders.Get", "shop.Orders.get-one"} {
		err := weft.Handle(srv, name, func(context.Context, *order) (*order, error) { return nil, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	s := New(srv, func(m weft.MethodInfo) []string { return []string{m.Name} })
	if got := strings.Join(s.Names(), " "); !strings.Contains(got, "my-service") || !strings.Contains(got, taken) || !strings.Contains(got, "shop.Orders") {
		t.Errorf("the services are %s", got)
	}
	for name, want := range map[string]string{
		"my-service": "its name cannot be one of Protocol Buffers", "shop.Orders.get-one": "its name cannot be one of Protocol Buffers",
		"shop.Orders.None": "there is no symbol",
	} {
		r, err := s.answer(symbol(name), make(map[string]bool))
		if err != nil || r.Error == nil || !strings.Contains(r.Error.Message, want) {
			t.Errorf("%s: %+v, %v; want %q", name, r.Error, err, want)
		}
	}
	for name, files := range map[string]int{"shop.Orders": 2, "shop.Orders.Get": 2, taken: 1} {
		r, err := s.answer(symbol(name), make(map[string]bool))
		if err != nil || r.FileDescriptor == nil || len(r.FileDescriptor.FileDescriptorProto) != files {
			t.Errorf("%s: %+v, %v; want %d files", name, r.Error, err, files)
		}
	}
}

// TestKnownFilesLink reads the embedded files.
func TestKnownFilesLink(t *testing.T) {
	if n := knownFiles().NumFiles(); n != 3 {
		t.Errorf("%d files, want 3", n)
	}
}
