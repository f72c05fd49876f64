package registrytest

import (
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

func TestWatch(t *testing.T) {
	f := newFake()
	d := fakeDriver{f}
	w := NewWatch(t, d, "Arith")
	if first := w.Count(t, 0); len(first.Instances) != 0 {
		t.Errorf("the first list is %+v", first)
	}
	i := weft.Instance{Service: "Arith", ID: "one", Address: "tcp://10.0.0.7:8972"}
	if err := d.Put(t.Context(), i, time.Minute); err != nil {
		t.Fatal(err)
	}
	if list := w.Count(t, 1); list.Instances[0].ID != "one" {
		t.Errorf("the list is %+v", list)
	}
	f.Kill(t)
	if err := <-w.Ended; err == nil {
		t.Error("Watch has ended without an error")
	}
}
