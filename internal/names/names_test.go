package names_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/names"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestInstead(t *testing.T) {
	var many []string
	for i := range 10 {
		many = append(many, fmt.Sprintf("Many.M%d", i))
	}
	for _, tt := range []struct {
		missing string
		all     []string
		want    string
	}{
		{"Arith.Div", []string{"Arith.Mul", "Arith.Add", "Echo.Say"}, "; the service has Arith.Add, Arith.Mul"},
		{"Arith.Div", []string{"Echo.Say", "a.b.Clock.Now", "Echo.Sing"}, "; there are the services Echo, a.b.Clock"},
		{"Many.X", many, "; the service has Many.M0, Many.M1, Many.M2, Many.M3, Many.M4, Many.M5, Many.M6, Many.M7 and 2 more"},
		{"Arith.Div", nil, "; nothing is registered"},
	} {
		if got := names.Instead(tt.missing, slices.Values(tt.all)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.missing, got, tt.want)
		}
	}
}

func TestLimiter(t *testing.T) {
	var l names.Limiter
	for second := range int64(3) {
		allowed := 0
		for range 100 {
			if l.Allow(second + 5) {
				allowed++
			}
		}
		if allowed != 10 {
			t.Errorf("%d of 100 are allowed in a second, want 10", allowed)
		}
	}
}
