package processtest

import "testing"

// A port is given once until the test ends, though nothing listens on it. Of 500 that are
// drawn among 15,000, eight would be the same.
func TestFreePortGivesAPortOnce(t *testing.T) {
	given := make(map[int]bool)
	take := func(ports ...int) {
		t.Helper()
		for _, port := range ports {
			if given[port] {
				t.Errorf("port %d was given twice", port)
			}
			given[port] = true
		}
	}
	for range 250 {
		port := FreePort(t, 1000)
		take(port, port+1000)
	}
	t.Run("ended", func(t *testing.T) {
		for range 20 {
			take(FreePort(t))
		}
	})
	// What a test that has ended had can be given again.
	for port := range given {
		c, err := reserve(port)
		if err == nil {
			_ = c.Close()
			return
		}
	}
	t.Error("the ports of a test that has ended are still kept")
}
