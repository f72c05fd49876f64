package webjson_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftrpc/weft/door/internal/webjson"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// timed embeds a generated message, and so has its methods.
type timed struct {
	*durationpb.Duration
	Name string
}

// TestEmbeddedMessage: a struct that embeds a generated message is a struct, with all its fields.
func TestEmbeddedMessage(t *testing.T) {
	c := webjson.New(true)
	v := &timed{}
	if err := c.Decode([]byte(`{"Name":"one","seconds":5}`), v); err != nil || v.Name != "one" || v.GetSeconds() != 5 {
		t.Errorf("%v, %v", v, err)
	}
	if err := webjson.Merge([]byte(`{"Name":"two"}`), v); err != nil || v.Name != "two" || v.GetSeconds() != 5 {
		t.Errorf("merged: %v, %v", v, err)
	}
	if err := c.Decode([]byte(`{"Name":"one","other":5}`), v); err == nil {
		t.Error("a field that the type does not have was read")
	}
}

// TestMessage: a generated message has the form of protojson.
func TestMessage(t *testing.T) {
	c := webjson.New(true)
	v := &durationpb.Duration{}
	if err := c.Decode([]byte(`"5s"`), v); err != nil || v.Seconds != 5 {
		t.Errorf("%v, %v", v, err)
	}
	if err := c.Decode([]byte(`{"seconds":5}`), v); err == nil {
		t.Error("the form of encoding/json was read")
	}
}
