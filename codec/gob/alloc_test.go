//go:build !race

package gob

import "testing"

// The race detector drops what is in pools.
func TestDecodeAllocates(t *testing.T) {
	c := New()
	body := bodyOf(t, entry{5})
	allocs := testing.AllocsPerRun(100, func() {
		var got entry
		if err := c.Decode(body, &got); err != nil {
			t.Fatal(err)
		}
	})
	if most := 20.0; allocs > most { // some hundred with a decoder that knows nothing
		t.Errorf("Decode allocates %v times, want at most %v", allocs, most)
	}
}
