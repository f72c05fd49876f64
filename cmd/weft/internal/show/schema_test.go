package show

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestOrderAndTypes keeps the order of the fields, and their types in Go.
func TestOrderAndTypes(t *testing.T) {
	d, err := parseSchema(`{"$ref": "#/$defs/shop.Order", "$defs": {"shop.Order": {"type": "object", "properties": {
		"zone": {"type": "string"}, "number": {"type": "integer", "format": "int32"}, "amount": {"type": "integer", "minimum": 0}, "at": {"type": "string", "format": "date-time"},
		"big": {"type": "string", "format": "uint64"}, "share": {"type": "number", "format": "float"}, "lines": {"type": ["array", "null"], "items": {"$ref": "#/$defs/shop.Line"}},
		"by": {"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}}}},
		"shop.Line": {"type": "object", "properties": {"name": {"type": "string"}, "count": {"type": "integer", "format": "int64"}}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	d.goStructs(&b, make(map[string]bool))
	at := 0
	for _, want := range []string{"type Line struct {", "Name string", "Count int64", "type Order struct {", "Zone string", "Number int32", "Amount uint64", "At time.Time",
		"Big uint64 `json:\"big,string\"`", "Share float32", "Lines []Line", "By map[string]int64"} {
		n := strings.Index(b.String()[at:], want)
		if n < 0 {
			t.Fatalf("no %q behind byte %d of:\n%s", want, at, b.String())
		}
		at += n
	}
	text, err := json.Marshal(d.sample())
	if want := `{"zone":"","number":0,"amount":0,"at":"2006-01-02T15:04:05Z","big":"0","share":0,"lines":[{"name":"","count":0}],"by":{"key":0}}`; err != nil || string(text) != want {
		t.Errorf("the template is %s, want %s", text, want)
	}
}
