package generate

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLeftOut has structs for which no code can be generated, though they travel: the others get code, and a server registers all.
func TestLeftOut(t *testing.T) {
	dir := module(t, map[string]string{
		"money/money.go": "package money\n\ntype Money struct{ Cents int64 `weft:\"1\"` }\n",
		"item.go": `package shop

import "example.com/shop/money"

type Item struct {
	Price money.Money ` + "`weft:\"1\"`" + `
	Old   []*money.Money ` + "`weft:\"2\"`" + `
	Notes map[string]money.Money ` + "`weft:\"3\"`" + `
}
`,
		"order.go": `package shop

type (
	Order struct { Lines []Line ` + "`weft:\"1\"`" + ` }
	Line struct { Item *Item ` + "`weft:\"1\"`" + `; Order *Order ` + "`weft:\"2\"`" + ` }
	Refer struct { To ref ` + "`weft:\"1\"`" + `; Of page[int] ` + "`weft:\"2\"`" + `; In struct{ A int ` + "`weft:\"1\"`" + ` } ` + "`weft:\"3\"`" + `; End struct{} ` + "`weft:\"4\"`" + ` }
	Plain struct { A int ` + "`weft:\"1\"`" + ` }
	ref *Plain
	page[T any] struct { A T ` + "`weft:\"1\"`" + ` }
	Last struct { M map[string]Order ` + "`weft:\"1\"`" + `; P Plain ` + "`weft:\"2\"`" + ` }
)
`,
		"main_test.go": `package shop

import (
	"context"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/generated"
)

func TestAll(t *testing.T) {
	srv := weft.NewServer(nil)
	for _, err := range []error{
		weft.Handle(srv, "S.Order", func(_ context.Context, o *Order) (*Item, error) { return nil, nil }),
		weft.Handle(srv, "S.Refer", func(_ context.Context, o *Refer) (*Last, error) { return nil, nil }),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	for v, want := range map[any]bool{new(Order): false, new(Line): false, new(Item): false, new(Refer): false, new(Plain): true, new(Last): true} {
		if _, ok := v.(generated.Message); ok != want {
			t.Errorf("%T has code: %v", v, ok)
		}
	}
}
`,
	})
	log, err := command(t, dir, "-codec")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"item.go:6:2: no code for Item: its field Price holds example.com/shop/money.Money, of another package\n",
		"item.go:7:2: no code for Item: its field Old holds example.com/shop/money.Money, of another package\n",
		"order.go:4:17: no code for Order: its field Lines holds Line, for which there is no code\n",
		"no code for Line: its field Item holds Item, for which there is no code\n", "no code for Line: its field Order holds Order, for which there is no code\n",
		"no code for Refer: its field To holds ref, a type of pointers, which has no methods\n", "its field Of holds page[int], with type parameters\n",
		"its field In holds a struct without a name\n", "its field End holds a struct without a name\n",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	if n := strings.Count(log, "\n"); n != 9 {
		t.Errorf("%d lines:\n%s", n, log)
	}
	text, err := os.ReadFile(filepath.Join(dir, "item_weft.go"))
	if want := "\npackage shop\n\n// There is no code for Item, because of its field Price.\n"; err != nil || !strings.HasSuffix(string(text), want) {
		t.Errorf("%s, %v", text, err)
	}
	if log, err := command(t, dir, "-codec", "-check"); err != nil || strings.Count(log, "\n") != 9 {
		t.Errorf("-check: %v\n%s", err, log)
	}
	test := exec.CommandContext(t.Context(), "go", "test", ".")
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("go test: %v\n%s", err, out)
	}
}

// TestAllErrors has fields that cannot travel: each is named.
func TestAllErrors(t *testing.T) {
	dir := module(t, map[string]string{
		"a.go": "package shop\n\ntype A struct {\n\tC chan int `weft:\"1\"`\n\tD func() `weft:\"2\"`\n}\n",
		"b.go": "package shop\n\ntype B struct {\n\tE [][]int `weft:\"1\"`\n}\n",
	})
	_, err := command(t, dir, "-codec")
	for _, want := range []string{"a.go:4:2: the field C of A: a chan int has no form", "a.go:5:2: the field D of A: a func() has no form", "b.go:4:2: the field E of B: a []int has no form"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if got := outputs(t, dir); len(got) > 0 {
		t.Errorf("%s were written", got)
	}
}

// TestOddTypes has types that are called as variables of the code are, types of pointers, and lists of pointers, which there is no code for, and a package called as
// a variable is. What there is code for is built.
func TestOddTypes(t *testing.T) {
	dir := module(t, map[string]string{
		"own/own.go":     "package own\n\ntype Name string\n",
		"first/first.go": "package first\n\ntype Pair [2]string\n",
		"odd.go": strings.ReplaceAll(`package shop

import (
	"math/big"
	"time"

	"example.com/shop/first"
	"example.com/shop/own"
)

type (
	s string
	n uint64
	r struct{ A int 'weft:"1"' }
	v = []int64
	Seal [4]byte
	SealPointer *Seal
	CodePointer *[2]byte
	IntPointer *int32
	Text struct { A s 'weft:"1"' }
	List struct { A []*n 'weft:"-"'; B []n 'weft:"1"' }
	Message struct { A *r 'weft:"1"' }
	Alias struct { A v 'weft:"1"' }
	Holder struct { A Text 'weft:"1"' }
	Sealed struct { A SealPointer 'weft:"1"' }
	Coded struct { A CodePointer 'weft:"1"' }
	Sums struct { A []*big.Int 'weft:"1"' }
	Times struct { A [2]*time.Time 'weft:"1"' }
	Good struct { A own.Name 'weft:"1"'; B first.Pair 'weft:"2"'; C IntPointer 'weft:"3"'; M map[s]n 'weft:"4"'; S map[string]Sums 'weft:"5"'; r r; i []s; D n 'weft:"-"'; E func(s) v 'weft:"-"' }
)

func (s *Seal) MarshalWeft(dst []byte) ([]byte, error) { return append(dst, s[:]...), nil }
func (s *Seal) UnmarshalWeft(b []byte) error           { copy(s[:], b); return nil }
`, "'", "`"),
	})
	log, err := command(t, dir, "-codec")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Text: its field A holds s, a type with the name of a variable of the code", "List: its field B holds n, a type with", "Message: its field A holds r, a type with",
		"Alias: its field A holds v, a type with", "Holder: its field A holds Text, for which there is no code", "Sealed: its field A holds SealPointer, a type of pointers",
		"Coded: its field A holds CodePointer, a type of pointers", "Sums: its field A holds a list of *math/big.Int, pointers to what is no message",
		"Times: its field A holds a list of *time.Time, pointers to what is no message",
	} {
		if !strings.Contains(log, "no code for "+want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	if n := strings.Count(log, "\n"); n != 9 {
		t.Errorf("%d lines:\n%s", n, log)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "vet", ".").CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}

// TestHidden has embedded structs that are left out or hold nothing, whose types are not exported, and a type without a name.
func TestHidden(t *testing.T) {
	dir := module(t, map[string]string{"a.go": strings.ReplaceAll(`package shop

type (
	base struct { X int32 'weft:"1"' }
	none struct{}
	_ struct { A int 'weft:"1"' }
	N struct { base 'weft:"-"'; none; b base; B int64 'weft:"2"' }
)
`, "'", "`")})
	if log, err := command(t, dir, "-codec"); err != nil || log != "" {
		t.Fatalf("%v\n%s", err, log)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", ".").CombinedOutput(); err != nil {
		t.Errorf("go build: %v\n%s", err, out)
	}
}
