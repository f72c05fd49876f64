package json

import (
	"reflect"
	"testing"

	"github.com/weftrpc/weft/codec/codectest"
)

// FuzzScan has the scan read what encoding/json decodes: with room for
// everything it refuses none of it.
func FuzzScan(f *testing.F) {
	c := New().(*jsonCodec)
	for _, s := range []string{"", "null", "-0.5e+1", `"\u00e9\""`, `{"Field1":"x","Parts":[{"Ids":[1]}, null]}`, `{"a":{"b":[1,2,{"c":"[["}]}}`, `[}`, `{]:,"a"`, `"a":`, `[[],{},[{}],"\\"]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, v := range []any{new(any), new(codectest.Message), new([]any), new(map[string][]int), new([]codectest.Part)} {
			tally := c.rooms.Tally(1<<30, reflect.TypeOf(v).Elem())
			if err := scan(body, tally); err != nil && len(body) <= maxNumber {
				t.Fatalf("%q into a %T: %v", body, v, err)
			}
			if err := scan(body, nil); err != nil && len(body) <= maxNumber {
				t.Fatalf("%q: %v", body, err)
			}
		}
	})
}
