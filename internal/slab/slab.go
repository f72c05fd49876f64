// Package slab allocates values of a type several at once.
package slab

// Slab gives out values that were never used before. The values of one allocation stay in memory as long as one of
// them is referred to, with all that they refer to: that must be little. The zero Slab is ready for use.
type Slab[T any] struct {
	left []T
	made int // at once, last
}

// Next returns a zero value. least are allocated at once at first, and most at last, so that a slab of which few are
// taken holds little.
func (s *Slab[T]) Next(least, most int) *T {
	if len(s.left) == 0 {
		s.made = min(max(2*s.made, least), most)
		s.left = make([]T, s.made)
	}
	v := &s.left[0]
	s.left = s.left[1:]
	return v
}
