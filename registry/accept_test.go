package registry

import (
	"fmt"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

func TestAccept(t *testing.T) {
	type said struct {
		at       time.Duration
		revision uint64
		ids      []string
		want     string
	}
	tests := []struct {
		name string
		all  []said
	}{
		{"small changes", []said{
			{0, 1, []string{"a", "b", "c"}, "[a b c]"},
			{1, 2, []string{"a", "b"}, "[a b]"},
			{2, 3, []string{"b"}, "[b]"}, // one of two is half, not more
		}},
		{"the last one", []said{
			{0, 1, []string{"a"}, "[a]"},
			{1, 2, nil, "[a]"},
			{29, 2, nil, "[a]"},
			{31, 2, nil, "[]"},
		}},
		{"a collapse that is made good", []said{
			{0, 1, []string{"a", "b", "c"}, "[a b c]"},
			{1, 2, []string{"a"}, "[a b c]"},
			{2, 3, []string{"a", "b"}, "[a b c]"}, // c gets its time as well
			{3, 4, []string{"a", "b", "c"}, "[a b c]"},
			{4, 5, []string{"a", "b"}, "[a b]"},
		}},
		{"all are replaced", []said{
			{0, 1, []string{"a", "b"}, "[a b]"},
			{1, 2, []string{"x", "y"}, "[a b x y]"},
			{31, 2, []string{"x", "y"}, "[x y]"},
		}},
		{"a second collapse", []said{
			{0, 1, []string{"a", "b"}, "[a b]"},
			{1, 2, []string{"x", "y"}, "[a b x y]"},
			{30, 3, nil, "[a b x y]"},
			{31, 3, nil, "[x y]"},
			{59, 3, nil, "[x y]"},
			{60, 3, nil, "[]"},
			{61, 4, []string{"a", "b", "c"}, "[a b c]"},
			{62, 5, []string{"a", "b"}, "[a b]"},
		}},
		{"back and gone again", []said{
			{0, 1, []string{"a", "b", "c"}, "[a b c]"},
			{1, 2, nil, "[a b c]"},
			{20, 3, []string{"a"}, "[a b c]"},
			{25, 4, nil, "[a b c]"},
			{31, 4, nil, "[a]"},
			{55, 4, nil, "[]"},
		}},
		{"older in the middle of a collapse", []said{
			{0, 100, []string{"a", "b"}, "[a b]"},
			{1, 101, nil, "[a b]"},
			{20, 7, []string{"old"}, "[a b]"},
			{49, 7, []string{"old"}, "[a b]"},
			{50, 7, []string{"old"}, "[old]"},
		}},
		{"data lost", []said{
			{0, 100, []string{"a", "b"}, "[a b]"},
			{1, 1, nil, "[a b]"},
			{5, 2, []string{"a"}, "[a b]"},
			{6, 3, []string{"a", "b", "c"}, "[a b]"},
			{31, 3, []string{"a", "b", "c"}, "[a b c]"},
			{32, 4, []string{"b", "c"}, "[b c]"},
		}},
		{"a stale member for a moment", []said{
			{0, 100, []string{"a", "b"}, "[a b]"},
			{1, 90, []string{"a", "b", "old"}, "[a b]"},
			{2, 101, []string{"a", "b", "c"}, "[a b c]"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Unix(1_000_000, 0)
			b := accepted{protect: 30}
			for _, s := range tt.all {
				l := List{Revision: s.revision}
				for _, id := range s.ids {
					l.Instances = append(l.Instances, weft.Instance{ID: id})
				}
				b.take(l, start.Add(s.at))
				var got []string
				for _, i := range b.instances {
					got = append(got, i.ID)
				}
				if fmt.Sprint(got) != s.want {
					t.Fatalf("at %d, told %v of revision %d, it uses %v, want %s", s.at, s.ids, s.revision, got, s.want)
				}
			}
		})
	}
}
