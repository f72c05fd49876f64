package cbor

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/weftrpc/weft/codec/codectest"
)

// FuzzScan has the scan read what the library decodes: with room for everything
// it refuses none of it.
func FuzzScan(f *testing.F) {
	c := New().(*cborCodec)
	for _, v := range []any{codectest.Sample(), []any{1, -1, nil, map[string]any{"a": 1.5}, []byte("x")}, map[int]map[string][]int{1: {"a": {1}}}} {
		body, err := c.Append(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	for _, s := range []string{"9f018202039f0405ffff", "bf6161019f0203ffff", "7f657374726561646d696e67ff", "5f42010243030405ff", "c249010000000000000000", "d81845a10102", "a1c101f6"} {
		body, err := hex.DecodeString(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, v := range []any{new(any), new(codectest.Message), new([]any), new(map[string][]int), new([]codectest.Part)} {
			tally := c.rooms.Tally(1<<30, reflect.TypeOf(v).Elem())
			if err := scan(body, tally); err != nil && len(body) <= maxBignum {
				t.Fatalf("%x into a %T: %v", body, v, err)
			}
			if err := scan(body, nil); err != nil && len(body) <= maxBignum {
				t.Fatalf("%x: %v", body, err)
			}
		}
	})
}
