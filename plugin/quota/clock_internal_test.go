package quota

import (
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// A clock that is set back over the end of a window gives no caller its quota twice. One that was far ahead is believed when it is
// set right.
func TestClockSetBack(t *testing.T) {
	c, err := New(&Config{Quotas: []Quota{{By: Server, Calls: 2, Every: time.Hour}}})
	if err != nil {
		t.Fatal(err)
	}
	end := time.Unix(1_000*3600, 0)
	take := func(at time.Time, want bool) {
		t.Helper()
		if err := c.charge(t.Context(), &weft.CallInfo{Method: "A.M"}, at); (err == nil) != want {
			t.Errorf("at %v: %v", at.Sub(end), err)
		}
	}
	take(end.Add(-2*time.Second), true)
	take(end.Add(-time.Second), true)
	take(end.Add(-time.Second), false)
	take(end, true)
	take(end.Add(-time.Second), true) // it counts in the window that is open
	take(end.Add(-time.Second), false)
	take(end.Add(time.Second), false)
	take(end.Add(1000*time.Hour), true)
	take(end.Add(2*time.Second), true)
}
