package pace

import "testing"

// The timed calls stand for all of them.
func TestSampler(t *testing.T) {
	var s Sampler
	timed, sum := 0, int32(0)
	for range 4 * SampleEvery {
		n := s.Next()
		if n != 0 {
			timed++
		}
		sum += n
	}
	if timed != 4 || sum != 4*SampleEvery {
		t.Errorf("%d calls of %d were timed and stand for %d, want 4 that stand for all", timed, 4*SampleEvery, sum)
	}
}
