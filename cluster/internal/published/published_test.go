package published

import (
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestBy(t *testing.T) {
	servers := func(lists ...[]string) (all []weft.Instance) {
		for _, l := range lists {
			all = append(all, weft.Instance{Idempotent: l})
		}
		return all
	}
	for _, tt := range []struct {
		servers []weft.Instance
		has     bool // the method Get
	}{
		{servers(), false},
		{servers(nil), false},
		{servers([]string{"Get"}), true},
		{servers([]string{"*"}), true},
		{servers([]string{"Get", "Put"}, []string{"List", "Get"}), true},
		{servers([]string{"*"}, []string{"Get"}), true},
		{servers([]string{"Get"}, []string{"*"}), true},
		{servers([]string{"*"}, []string{"Put"}), false},
		{servers([]string{"Get"}, nil), false}, // an older server
		{servers([]string{"Put"}, []string{"Get"}), false},
	} {
		if got := By(tt.servers, nil).Has("Get"); got != tt.has {
			t.Errorf("%v: %v", tt.servers, got)
		}
	}
	first := By(servers([]string{"Get", "Put"}), nil)
	if By(servers([]string{"Put", "Get"}), first) != first || By(servers([]string{"Put"}), first) == first {
		t.Error("what has not changed is not kept, or what has is")
	}
}
