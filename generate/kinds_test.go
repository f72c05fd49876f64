package generate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrpc/weft/generate/internal/names"
)

// kinds are the types of fields, with their tags behind the number, each of which TestKinds has in structs of their own.
const kinds = `bool Flag int8 int16 int32 int64 int uint8 uint16 uint32 uint64 uint Small Big float32 float64 Share string Text []byte Raw
	int32,zigzag int64,zigzag int,zigzag Small,zigzag int32,fixed int64,fixed uint32,fixed uint64,fixed int,fixed uint,fixed Small,fixed Word,fixed
	time.Time time.Duration any Any netip.Addr big.Int Cents Seal [4]byte Code Leaf Self map[string]string map[int32]Leaf map[bool]*Leaf Map map[uint64][]byte
	*bool *Flag *int32 *uint64 *int *float64 *Share *string *Text *[]byte *Raw *int64,zigzag *int,fixed *uint32,fixed *time.Time *time.Duration *any
	*netip.Addr *big.Int *Cents *Seal *[4]byte *Code *Leaf IntPointer TextPointer
	[]bool []Flag []int32 []uint64 []int []Small []float32 []Share []string []Text [][]byte []Raw []int32,zigzag []int,fixed []uint,fixed []int32,fixed []uint64,fixed []Word,fixed
	[]time.Time []time.Duration []any []netip.Addr []big.Int []Cents []Seal [][4]byte []Code []Leaf []*Leaf List Leaves
	[2]bool [2]Flag [2]int32 [2]uint64 [2]int [2]float64 [2]string [2]Text [2][]byte [2]int64,zigzag [2]int,fixed [2]uint,fixed [2]uint32,fixed [2]Word,fixed
	[2]time.Time [2]time.Duration [2]any [2]netip.Addr [2]Cents [2]Seal [2][4]byte [2]Leaf [2]*Leaf Pair [0]int32 [0]string`

// kindTypes are what kinds names.
const kindTypes = `package shop

import (
	"math/big"
	"net/netip"
	"time"
)

type (
	Flag bool
	Small int32
	Big uint64
	Word int
	Share float32
	Text string
	Raw []byte
	Any any
	Code [3]byte
	Map map[string]int64
	List []int32
	Leaves []Leaf
	Pair [2]int32
	IntPointer *int32
	TextPointer *string
	Leaf struct { A int32 ` + "`weft:\"1\"`" + ` }
	Self struct { Next *Self ` + "`weft:\"1\"`" + `; Many []Self ` + "`weft:\"2\"`" + `; A string ` + "`weft:\"3\"`" + ` }
	Cents uint64
	Seal [2]byte
)

func (c Cents) MarshalWeft(dst []byte) ([]byte, error) { return append(dst, byte(c)), nil }
func (c *Cents) UnmarshalWeft(b []byte) error { *c = Cents(b[0]); return nil }
func (s *Seal) MarshalWeft(dst []byte) ([]byte, error) { return append(dst, s[:]...), nil }
func (s *Seal) UnmarshalWeft(b []byte) error { copy(s[:], b); return nil }

var (
	_ big.Int
	_ netip.Addr
	_ time.Time
)
`

// kindTest compares the generated code of each struct with its plan. A body is also read over an older value.
const kindTest = `package shop

import (
	"bytes"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/generated"
	"github.com/weftrpc/weft/codec/protobuf"
)

// fill sets v to the value number k of its type.
func fill(v reflect.Value, k int) {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.Unix(int64(k)*1000, int64(k)).UTC()
		return
	case *netip.Addr:
		*p = netip.AddrFrom4([4]byte{10, byte(k)})
		return
	case *big.Int:
		p.SetInt64(int64(k) - 2)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(k > 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(int64([]int{0, 1, -1, 127, -128}[k%5]))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		v.SetUint(uint64(k) * 40)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(k) / 4)
	case reflect.String:
		v.SetString(strings.Repeat("t", 50*k))
	case reflect.Interface:
		v.Set(reflect.ValueOf([]any{true, 1.5, "any", []any{nil}}[k%4]))
	case reflect.Pointer:
		if k == 0 && v.Type() == reflect.TypeFor[*Self]() {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), k)
	case reflect.Slice:
		if k > 0 {
			v.Set(reflect.MakeSlice(v.Type(), k, k))
		}
		for i := range v.Len() {
			fill(v.Index(i), k-1-i)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), i+k)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if k > 0 {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, k)
			fill(elem, k)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if k > 0 {
				fill(v.Field(i), k-1)
			}
		}
	}
}

func TestKinds(t *testing.T) {
	c := protobuf.New()
	for _, pair := range pairs {
		typ, plan := reflect.TypeOf(pair[0]).Elem(), reflect.TypeOf(pair[1]).Elem()
		name := fmt.Sprintf("%s, of a %s", typ.Name(), typ.Field(0).Type)
		if _, ok := pair[0].(generated.Message); !ok {
			t.Errorf("%s has no code", name)
		}
		older := reflect.New(typ)
		for k := -1; k < 5; k++ {
			v := reflect.New(typ)
			if k >= 0 {
				fill(v.Elem(), k)
				for i := range typ.NumField() {
					fill(v.Elem().Field(i), k)
				}
			}
			body, err := c.Append(nil, v.Interface())
			want, wantErr := c.Append(nil, v.Convert(reflect.PointerTo(plan)).Interface())
			if (err == nil) != (wantErr == nil) || err != nil && k >= 0 || err == nil && !bytes.Equal(body, want) {
				t.Errorf("%s: value %d: %x, %v, by the plan %x, %v", name, k, body, err, want, wantErr)
			}
			if err != nil { // an array of pointers that are nil
				continue
			}
			for n := len(body); n >= 0; n-- {
				got, planned := reflect.New(typ), reflect.New(plan)
				err, wantErr := c.Decode(body[:n:n], got.Interface()), c.Decode(body[:n:n], planned.Interface())
				again := c.(codec.Reuser).DecodeReuse(body[:n:n], older.Interface())
				if (err == nil) != (wantErr == nil) || (again == nil) != (wantErr == nil) || n == len(body) && err != nil {
					t.Errorf("%s: %x: %v, again %v, by the plan %v", name, body[:n], err, again, wantErr)
					break
				}
				if err != nil {
					continue
				}
				text, _ := c.Append(nil, got.Interface())
				old, _ := c.Append(nil, older.Interface())
				want, _ := c.Append(nil, planned.Interface())
				if !bytes.Equal(text, want) || !bytes.Equal(old, want) || n == len(body) && !bytes.Equal(text, body) {
					t.Errorf("%s: %x becomes %x, again %x, by the plan %x", name, body[:n], text, old, want)
					break
				}
			}
		}
	}
}
`

// TestKinds has a struct for each kind of field, with the field alone, and others with a number, a text or a map beside it. The code compiles, and does as the plan.
func TestKinds(t *testing.T) {
	structs, pairs := new(strings.Builder), new(strings.Builder)
	for i, kind := range strings.Fields(kinds) {
		typ, option, _ := strings.Cut(kind, ",")
		if option != "" {
			option = "," + option
		}
		for k, more := range []string{"", "B int64 `weft:\"2\"`", "B string `weft:\"16\"`", "B map[string]string `weft:\"2\"`"} {
			name := fmt.Sprintf("T%dx%d", i, k)
			fmt.Fprintf(structs, "type %s struct {\nA %s `weft:\"1%s\"`\n%s\n}\n", name, typ, option, more)
			fmt.Fprintf(pairs, "{new(%[1]s), (*p%[1]s)(nil)},\n", name)
			fmt.Fprintf(structs, "type p%[1]s struct {\nA %[2]s `weft:\"1%[3]s\"`\n%[4]s\n}\n", name, typ, option, more)
		}
	}
	dir := module(t, map[string]string{
		"kinds.go":      kindTypes + structs.String(),
		"pairs_test.go": "package shop\n\nvar pairs = [][2]any{\n" + pairs.String() + "}\n",
		"kinds_test.go": kindTest,
	})
	if log, err := command(t, dir, "-codec"); err != nil || log != "" {
		t.Fatalf("%v\n%s", err, log)
	}
	syntax, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, "kinds_weft.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		var declared []*ast.Ident
		switch n := n.(type) {
		case *ast.Field:
			declared = n.Names
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					declared = append(declared, id)
				}
			}
		case *ast.RangeStmt:
			for _, x := range []ast.Expr{n.Key, n.Value} {
				if id, ok := x.(*ast.Ident); ok {
					declared = append(declared, id)
				}
			}
		}
		for _, id := range declared {
			if id.Name != "_" && !names.IsVariable(id.Name) {
				t.Errorf("names.IsVariable does not know the variable %s", id.Name)
			}
		}
		return true
	})
	test := exec.CommandContext(t.Context(), "go", "test", ".")
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("go test: %v\n%s", err, out)
	}
}
