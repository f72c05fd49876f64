package json_test

import (
	"fmt"
	"math/big"
	"runtime"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/codec/json"
)

// wide is a struct that takes much memory for few bytes.
type wide struct {
	Room  [128]int64
	Next  *wide
	Small []int `json:"small"`
	Many  []wide
	Any   any
	wideInner
}

type wideInner struct {
	Inner []wideInner2
}

type wideInner2 struct{ Room [64]int64 }

// TestRoom has bodies whose elements take much more memory than bytes.
func TestRoom(t *testing.T) {
	list := func(s string, n int) string { return "[" + strings.Repeat(s+",", n/(len(s)+1)) + s + "]" }
	for name, test := range map[string]struct {
		body    string
		v       any
		refused bool
	}{
		"objects in any":       {list("{}", 8<<20), new(any), true},
		"small objects in any": {list(`{"a":1}`, 3<<20), new(any), true},
		"some objects in any":  {list(`{"id":1}`, 1<<20), new(any), false},
		"lists in any":         {list("[]", 2<<20), new(any), false},
		"numbers in any":       {list("1", 2<<20), new(any), false},
		"structs":              {list("{}", 1<<18), new([]wide), true},
		"few structs":          {list("{}", 1<<16), new([]wide), false},
		"pointers":             {list("{}", 1<<18), new([]*wide), true},
		"null structs":         {list("null", 1<<18), new([]wide), true},
		"null pointers":        {list("null", 1<<18), new([]*wide), false},
		"chained pointers":     {`[` + list(`{"Next":{"Next":{}}}`, 1<<18) + `]`, new([][]*wide), true},
		"field":                {`{"Many":` + list("{}", 1<<18) + `}`, new(wide), true},
		"field in other case":  {`{"mANY":` + list("{}", 1<<18) + `}`, new(wide), true},
		"escaped field":        {`{"\u004dan\u0079":` + list("{}", 1<<18) + `}`, new(wide), true},
		"embedded field":       {`{"Inner":` + list("{}", 1<<18) + `}`, new(wide), true},
		"any field":            {`{"x":"]","Any":` + list("{}", 8<<20) + `}`, new(wide), true},
		"unknown field":        {`{"Other":` + list("{}", 8<<20) + `}`, new(wide), false},
		"small elements":       {`{"small":` + list("1", 1<<20) + `}`, new(wide), false},
		"map":                  {`{` + strings.Repeat(`"a":{},`, 1<<16) + `"b":{}}`, new(map[string]wide), true},
		"array again":          {`{` + strings.Repeat(`"Room":[],`, 1<<14) + `"Room":[]}`, new(struct{ Room [4096]int64 }), true},
		"array a few times":    {`{` + strings.Repeat(`"Room":[1],`, 1<<10) + `"Room":[1,2]}`, new(struct{ Room [4096]int64 }), false},
		"texts":                {list(`"{},{},[],[],\"{},"`, 1<<20), new([]string), false},
		"no JSON":              {strings.Repeat("}", 1<<18), new([]wide), true},
		"keys without object":  {strings.Repeat(`"a":`, 1<<18), new([]wide), true},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(test.body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := json.New().Decode(body, test.v)
			runtime.ReadMemStats(&after)
			if (err != nil) != test.refused || err != nil && !strings.Contains(err.Error(), "bytes of memory") && !strings.Contains(name, "object") && name != "no JSON" {
				t.Errorf("%v", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; test.refused && used > 1<<20 {
				t.Errorf("%d bytes were allocated before it was refused", used)
			}
		})
	}
}

func TestLongNumber(t *testing.T) {
	digits := strings.Repeat("7", 1<<18)
	for _, body := range []string{digits, "[1,-" + digits + "]", `{"a":"x","b":0.` + digits + "}", " 1e" + digits, digits[:1025]} {
		for _, v := range []any{new(big.Int), new(any), new(float64), new(string), new([]big.Int)} {
			if err := json.New().Decode([]byte(body), v); err == nil || !strings.Contains(err.Error(), "the longest has 1024") {
				t.Errorf("%.30s into a %T: %.100v", body, v, err)
			}
		}
	}
	for _, body := range []string{digits[:1024], `"` + digits + `"`, `["\"` + digits + `",1]`, "[" + strings.Repeat("-1.5e+10,", 1000) + "0]"} {
		var v any
		var n big.Int
		err := json.New().Decode([]byte(body), &v)
		if body == digits[:1024] { // beyond a float64
			err = json.New().Decode([]byte(body), &n)
		}
		if err != nil {
			t.Errorf("%.30s: %.100v", body, err)
		}
	}
	// At many places of a long body.
	for pad := 0; pad < 3*1024; pad += 37 {
		body := fmt.Sprintf("[%s%s]", strings.Repeat(" ", pad), digits[:1025])
		if err := json.New().Decode([]byte(body), new([]big.Int)); err == nil || !strings.Contains(err.Error(), "the longest has 1024") {
			t.Fatalf("behind %d spaces: %.100v", pad, err)
		}
	}
}

func TestGrowth(t *testing.T) {
	for name, piece := range map[string]string{
		"digits": "7", "text": `"`, "escapes": `\u0041`, "same keys": `"a":1,`, "objects": "{},", "numbers": "1.5e-7,", "open": "[", "bad": "\xff",
	} {
		for _, around := range []string{"%s", `"%s"`, "[%s0]", `{%s"b":2}`, `{"Parts":[%s{}]}`} {
			t.Run(name, func(t *testing.T) {
				body := func(n int) []byte { return fmt.Appendf(nil, around, strings.Repeat(piece, n/len(piece))) }
				codectest.Growth(t, json.New(), 16<<10, body, new(any), new(codectest.Message))
			})
		}
	}
	digits := func(n int) []byte { return []byte(strings.Repeat("7", n)) }
	codectest.Growth(t, json.New(), 128<<10, digits, new(big.Int), new(any), new(int), new(string))
}

// FuzzGrowth looks for bodies whose decoding takes time that grows faster than their length.
func FuzzGrowth(f *testing.F) {
	var bodies [][]byte
	for _, v := range []any{codectest.Sample(), []any{1, nil, map[string]any{"a": 1.5}}} {
		body, err := json.New().Append(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	codectest.FuzzGrowth(f, json.New(), bodies, new(any), new(codectest.Message))
}
