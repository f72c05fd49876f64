package schema

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Reserved is what a message or an enumeration of a .proto file keeps from being used, since a field or a value that is gone had it. The
// methods may be called on nil, which reserves nothing.
type Reserved struct {
	Numbers []Range  `json:"numbers,omitempty"` // in ascending order
	Names   []string `json:"names,omitempty"`   // as in the file
}

// Range is a range of numbers, with both ends.
type Range struct {
	First int32 `json:"first"`
	Last  int32 `json:"last"`
}

// HasNumber reports whether a number is reserved.
func (r *Reserved) HasNumber(n int32) bool {
	return r != nil && slices.ContainsFunc(r.Numbers, func(s Range) bool { return s.First <= n && n <= s.Last })
}

// HasName reports whether a name is reserved.
func (r *Reserved) HasName(name string) bool { return r != nil && slices.Contains(r.Names, name) }

// reservedBy is what a message or an enumeration reserves.
func reservedBy(names protoreflect.Names, ranges int, get func(i int) Range) *Reserved {
	if names.Len()+ranges == 0 {
		return nil
	}
	r := &Reserved{}
	for i := range ranges {
		r.Numbers = append(r.Numbers, get(i))
	}
	for i := range names.Len() {
		r.Names = append(r.Names, string(names.Get(i)))
	}
	slices.SortFunc(r.Numbers, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	return r
}

// check finds what is wrong with what was decoded.
func (r *Reserved) check() error {
	if r == nil {
		return nil
	}
	for i, s := range r.Numbers {
		if s.First > s.Last || i > 0 && r.Numbers[i-1].Last >= s.First {
			return fmt.Errorf("the reserved numbers %d to %d are no range, or stand before those that they follow", s.First, s.Last)
		}
	}
	return nil
}
