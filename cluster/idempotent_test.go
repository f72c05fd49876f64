package cluster

import (
	"testing"

	"github.com/weftrpc/weft"
)

func TestPublishedBy(t *testing.T) {
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
		if got := publishedBy(tt.servers, nil).has("Get"); got != tt.has {
			t.Errorf("%v: %v", tt.servers, got)
		}
	}
	first := publishedBy(servers([]string{"Get", "Put"}), nil)
	if publishedBy(servers([]string{"Put", "Get"}), first) != first || publishedBy(servers([]string{"Put"}), first) == first {
		t.Error("what has not changed is not kept, or what has is")
	}
}
