package tags

import (
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestTags(t *testing.T) {
	type plain struct {
		ID   int `json:"id,omitempty"`
		Name string
		Left int `json:"-"`
		Skip int `weft:"-"`
	}
	type numbered struct {
		A int
		B int `weft:"2,zigzag"`
	}
	type wrong struct {
		A int `weft:"-1"`
	}
	var names []string
	for f := range reflect.TypeFor[plain]().Fields() {
		names = append(names, JSONName(f))
	}
	if want := []string{"id", "Name", "", ""}; !reflect.DeepEqual(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	for typ, want := range map[reflect.Type][2]bool{
		reflect.TypeFor[plain](): {false, true}, reflect.TypeFor[numbered](): {true, false}, reflect.TypeFor[wrong](): {true, false}, reflect.TypeFor[time.Time](): {}, reflect.TypeFor[int](): {}, reflect.TypeFor[wrapperspb.BoolValue](): {},
	} {
		if got := [2]bool{IsNumbered(typ), IsPlain(typ)}; got != want {
			t.Errorf("%v: %v, want %v", typ, got, want)
		}
	}
	// By another program: 16 + FNV-1a(name) mod 261128, and 1000 more from 19000 on.
	for name, want := range map[string]uint64{"id": 224256, "Name": 17206} {
		if got := NumberOf(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	for _, name := range []string{"", "a", "ID", "Field"} {
		if n := NumberOf(name); n < 16 || n >= 1<<18 || n >= 19000 && n < 20000 {
			t.Errorf("%q has the number %d", name, n)
		}
	}
}
