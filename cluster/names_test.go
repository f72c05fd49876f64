package cluster_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
)

// A call by a name in memory that is used again leaves nothing of that name behind: a call by another name is made by that one, and
// services that are not called any more are found when it is time to forget them.
func TestNamesInMemoryUsedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, "a", "b")
		must(t, f.servers["b"].srv.RegisterName("Two", f.servers["b"]))
		time.Sleep(time.Second)
		c := f.client(nil)
		memory := []byte("Who.Who")
		name := unsafe.String(&memory[0], len(memory))
		for range 10 {
			copy(memory, "Who.Who")
			_, err := weft.Invoke[Reply](t.Context(), c, name, &Args{})
			must(t, err)
			copy(memory, "Two.Who")
			if ran, err := weft.Invoke[Reply](t.Context(), c, name, &Args{}); err != nil || ran.Server != "b" {
				t.Fatalf("a call of %s has run %+v, %v", name, ran, err)
			}
		}
		if s := c.Stats(); len(s.Services) != 2 || len(s.Methods) != 2 || s.Methods[0].Method != "Two.Who" || s.Methods[0].Calls != 10 || s.Methods[1].Calls != 10 {
			t.Errorf("counted are %+v of %+v", s.Methods, s.Services)
		}
		time.Sleep(cluster.DefaultServiceIdle + time.Minute)
		if s := c.Stats(); len(s.Services) != 0 || len(s.Servers) != 0 {
			t.Errorf("left are %+v and %+v", s.Services, s.Servers)
		}
	})
}
