package interop

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	weft "github.com/weftrpc/weft/codec/msgpack"
)

// pythonValues are the values of testdata/python.py.
func pythonValues() map[string]any {
	at := time.Date(2026, 2, 3, 4, 5, 6, 789_000_000, time.UTC)
	return map[string]any{
		"shape": &shape{
			Name: "square", Color: 7, Corners: []point{{1, -1}, {1 << 20, -1 << 31}}, Center: &point{},
			Within: map[string]*shape{"none": nil}, ByID: map[int64]string{1 << 40: "large"}, Grid: [2][2]float32{{1, 0.5}, {-2}},
			Any: []any{"x", uint8(1), int8(-1), 1.5, nil, true, []byte{0, 255}, map[any]any{"k": "v"}},
			At:  at, Took: time.Hour, Raw: []byte{0, 255}, Sum: [3]byte{1, 2, 3},
			Flags: []bool{true, false}, Big: 1<<64 - 1, Small: -1 << 63, Ratio: 0.1,
		},
		"integers": &[]int64{
			0, 1, 127, 128, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, 1<<63 - 1,
			-1, -32, -33, -128, -129, -32768, -32769, -1 << 31, -1<<31 - 1, -1 << 63,
		},
		"texts": &[]string{"", strings.Repeat("é", 15), strings.Repeat("x", 32), strings.Repeat("x", 255), strings.Repeat("x", 256)},
		"bytes": &[][]byte{{}, []byte(strings.Repeat("x", 255)), []byte(strings.Repeat("x", 256))},
		"times": &[]time.Time{
			at, time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(2600, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, 0).UTC(),
		},
		"nested": &[]any{[]any{[]any{[]any{[]any{[]any{}}}}}, map[any]any{"a": map[any]any{"b": map[any]any{"c": []any{map[any]any{}}}}}},
	}
}

var update = flag.Bool("update", false, "write testdata/weft.json")

// TestPython reads what Python's msgpack has packed, and holds weft to the
// bodies that Python's msgpack has read: testdata/python.py does both.
func TestPython(t *testing.T) {
	values := pythonValues()
	if *update {
		write(t, values)
	}
	python, read := vectors(t, "python.json"), vectors(t, "weft.json")
	if len(python) != len(values) || len(read) != len(values) {
		t.Fatalf("%d and %d vectors for %d values", len(python), len(read), len(values))
	}
	for name, want := range values {
		got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
		if err := weft.New().Decode(python[name], got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s of Python: %v\n got %+v\nwant %+v", name, err, got, want)
		}
		body, err := weft.New().Append(nil, want)
		if err != nil || !reflect.DeepEqual(body, read[name]) {
			t.Errorf("%s: %v, weft writes %.200x, and Python has read %.200x", name, err, body, read[name])
		}
	}
}

func write(t *testing.T, values map[string]any) {
	t.Helper()
	texts := make(map[string]string)
	for name, v := range values {
		body, err := weft.New().Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = hex.EncodeToString(body)
	}
	content, err := json.MarshalIndent(texts, "", " ")
	if err == nil {
		err = os.WriteFile("testdata/weft.json", append(content, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func vectors(t *testing.T, file string) map[string][]byte {
	t.Helper()
	content, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]string
	if err := json.Unmarshal(content, &texts); err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]byte)
	for name, text := range texts {
		if all[name], err = hex.DecodeString(text); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
