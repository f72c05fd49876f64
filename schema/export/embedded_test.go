package export_test

import (
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/export"
)

// Traced has the methods of a generated message, which know nothing of its own field.
type Traced struct {
	*wrapperspb.StringValue
	Trace string `json:"trace"`
}

// TestEmbeddedMessage: every format has the own fields of a struct that embeds a generated message, or says why there is none.
func TestEmbeddedMessage(t *testing.T) {
	b := schema.NewBuilder()
	typ := b.Reflect(reflect.TypeFor[Traced](), "")
	b.Add("Echo", schema.Method{Name: "Traced", Kind: schema.Unary, Request: typ, Reply: typ})
	m, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range export.Formats() {
		out, err := export.Write(m, format, schema.Info{Title: "Sample", Version: "1"})
		if format == export.Proto {
			if err == nil || !strings.Contains(err.Error(), "Echo.Traced") || !strings.Contains(err.Error(), "embeds a generated message") {
				t.Errorf("%s: %v", format, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, f := range out.Files {
			text.Write(f.Content)
		}
		if !strings.Contains(text.String(), "Traced") || !strings.Contains(text.String(), "trace") || !strings.Contains(text.String(), "value") || len(out.LeftOut) > 0 {
			t.Errorf("%s: left out is %q of\n%s", format, out.LeftOut, text.String())
		}
	}
}
