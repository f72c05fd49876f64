package catalog

import (
	"slices"
	"testing"

	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/health"
)

// Weft's own services are left out where there are others.
func TestOthersOrOwn(t *testing.T) {
	for _, tt := range []struct{ services, want []string }{
		{[]string{"Arith", admin.Service, health.Service}, []string{"Arith"}},
		{[]string{admin.Service, health.Service}, []string{admin.Service, health.Service}},
		{nil, nil},
	} {
		if got := OthersOrOwn(tt.services); !slices.Equal(got, tt.want) {
			t.Errorf("of %v: %v, want %v", tt.services, got, tt.want)
		}
	}
}
