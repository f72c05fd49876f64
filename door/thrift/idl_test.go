package thrift_test

import (
	"context"
	"errors"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift"
	"github.com/weftrpc/weft/door/thrift/testdata/stock"
)

type (
	Leaf struct {
		Next  string `json:"next" weft:"1"`
		Class uint8  `weft:"2"`
	}
	Tree struct {
		Name   string            `weft:"1"`
		Left   *Tree             `weft:"2"`
		Leaves []Leaf            `weft:"3"`
		Marks  map[string][]byte `weft:"20"`
	}
	Odd struct{ V any }
)

const wantIDL = `namespace py demo

exception Missing {
  1: string what
  2: i32 id
}

exception NotFound {
  1: string what
  2: i32 id
}

struct Leaf {
  1: string next_
  2: i16 class_
}

struct Tree {
  1: string name
  2: Tree left
  3: list<Leaf> leaves
  20: map<string,binary> marks
}

// In messages its name is "Demo".
service Demo {
  i32 Add(1: i32 a, 2: i32 b)
  /** Words, * / and more
   * of them. */
  map<string,double> counts(1: list<string> request)
  string Find(1: i32 id) throws (1: Missing nf)
  string Get(1: i32 id) throws (1: NotFound nf)
  oneway void Tell(1: string what)
  bool print_(1: Tree tree)
}
`

func TestIDL(t *testing.T) {
	srv := weft.NewServer(nil)
	must(t, errors.Join(
		weft.Handle(srv, "Demo.Add", func(context.Context, *Add) (*int32, error) { return nil, nil }),
		weft.Handle(srv, "Demo.Get", func(context.Context, *stock.DemoGetArgs) (*stock.DemoGetResult, error) { return nil, nil }),
		weft.Handle(srv, "Demo.Find", func(context.Context, *Get) (*string, error) { return nil, nil }),
		weft.Handle(srv, "Demo.Tell", func(context.Context, *stock.DemoTellArgs) (*struct{}, error) { return nil, nil }, thrift.Oneway()),
		weft.Handle(srv, "Demo.print", func(context.Context, *Tree) (*bool, error) { return nil, nil }, thrift.Parameter("tree")),
		weft.Handle(srv, "Demo.Count", func(context.Context, *[]string) (*map[string]float64, error) { return nil, nil },
			thrift.Name("counts"), weft.Doc("Words, */ and more\nof them.")),
		weft.HandleRaw(srv, "Demo.Raw", func(context.Context, []byte, []byte) ([]byte, error) { return nil, nil }),
		weft.HandleServerStream(srv, "Demo.Watch", func(context.Context, *Get, *weft.Sender[Get]) error { return nil }),
	))
	got, err := thrift.IDL(srv.Services, &thrift.IDLConfig{Namespaces: map[string]string{"py": "demo"},
		Exceptions: thrift.Exceptions{"Demo.Find": {{ID: 1, Name: "nf", Value: (*Missing)(nil)}}}})
	must(t, err)
	if got != wantIDL {
		t.Errorf("got\n%s\nwant\n%s", got, wantIDL)
	}
	must(t, weft.Handle(srv, "Demo.Odd", func(context.Context, *Odd) (*bool, error) { return nil, nil }, thrift.Parameter("x")))
	if text, err := thrift.IDL(srv.Services, nil); err == nil {
		t.Errorf("an any has a form in Thrift: %s", text)
	}
	if err := weft.Handle(srv, "Demo.Bad", func(context.Context, *Get) (*bool, error) { return nil, nil }, thrift.Name("a b")); err == nil {
		t.Error("a name with a space was taken")
	}
	if err := weft.Handle(srv, "Demo.Bad", func(context.Context, *Get) (*bool, error) { return nil, nil }, thrift.Parameter("")); err == nil {
		t.Error("an empty name was taken")
	}
}
