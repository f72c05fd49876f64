package stock_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/stock"
)

func TestMain(m *testing.M) { leak.Main(m) }

type pointer struct {
	*durationpb.Duration
	Name string
}

type whole struct {
	durationpb.Duration
	Names []string
}

type whatever struct {
	proto.Message
	Names []string
}

func TestMessage(t *testing.T) {
	full := durationpb.New(5)
	for name, test := range map[string]struct {
		v  any
		is bool
	}{
		"a message":                  {full, true},
		"a nil message":              {(*durationpb.Duration)(nil), true},
		"a message without a type":   {dynamicpb.NewMessage(full.ProtoReflect().Descriptor()), true},
		"a pointer that is embedded": {&pointer{Duration: full}, false},
		"the same, nil":              {&pointer{}, false},
		"a struct with it by value":  {pointer{Duration: full}, false},
		"a message that is embedded": {new(whole), false},
		"an interface":               {&whatever{Message: full}, false},
		"an interface that is nil":   {&whatever{}, false},
		"an interface, by value":     {whatever{Message: full, Names: []string{"x"}}, false},
		"a struct":                   {&struct{ Name string }{}, false},
		"nothing":                    {nil, false},
	} {
		m, is := stock.Message(test.v)
		if is != test.is || is && m != test.v {
			t.Errorf("%s: %v, want %v", name, is, test.is)
		}
	}
}
