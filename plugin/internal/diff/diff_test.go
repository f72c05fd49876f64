package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/plugin/internal/diff"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		a, b   string
		ignore diff.Paths
		want   string
	}{
		{`{"a":1,"b":[1,{"c":"x"}]}`, `{"b":[1,{"c":"x"}],"a":1}`, nil, "[]"},
		{`{"a":1}`, `{"a":2}`, nil, "[{a 1 2}]"},
		{`{"a":1}`, `{}`, nil, "[{a 1 }]"},
		{`{"a":null}`, `{}`, nil, "[{a null }]"},
		{`{"a":[1,2]}`, `{"a":[1,3,4]}`, nil, "[{a.1 2 3} {a.2  4}]"},
		{`{"a":{"b":1}}`, `{"a":[1]}`, nil, `[{a {"b":1} [1]}]`},
		{`7`, `"7"`, nil, `[{ 7 "7"}]`},
		{`{"a":{"b":1,"c":2},"l":[{"id":1},{"id":2}]}`, `{"a":{"b":9,"c":2},"l":[{"id":3},{"id":4}]}`, diff.Paths{"a.b", "l.*.id"}, "[]"},
		{`{"a":{"b":{"c":1}}}`, `{"a":{"b":{"c":2}}}`, diff.Paths{"a"}, "[]"},
		{`12345678901234567890`, `12345678901234567891`, nil, "[{ 12345678901234567890 12345678901234567891}]"},
	} {
		got, err := diff.JSON([]byte(c.a), []byte(c.b), c.ignore)
		if fmt.Sprint(got) != c.want || err != nil {
			t.Errorf("%s, %s: %v, %v, want %s", c.a, c.b, got, err, c.want)
		}
	}
	long := strings.Repeat("1,", 1000) + "1"
	got, err := diff.JSON([]byte("["+long+"]"), []byte("["+strings.ReplaceAll(long, "1", `"`+strings.Repeat("ä", 1000)+`"`)+"]"), nil)
	if len(got) != diff.Most || err != nil || len(got[0].B) > diff.MaxValue+3 {
		t.Error(len(got), err)
	}
	for _, wrong := range []string{"", "{", "[1"} {
		if _, err := diff.JSON([]byte(wrong), []byte("1"), nil); err == nil {
			t.Errorf("%q is read", wrong)
		}
		if _, err := diff.JSON([]byte("1"), []byte(wrong), nil); err == nil {
			t.Errorf("%q is read", wrong)
		}
	}
	if (diff.Paths{"a..b"}).Check() == nil || (diff.Paths{"a.b", "*"}).Check() != nil {
		t.Error("Check is wrong")
	}
}
