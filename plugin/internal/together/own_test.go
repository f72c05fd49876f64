package together_test

import (
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/health"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// The plugins that count calls leave those of the services that weft registers alone: all that there are.
func TestOwnServices(t *testing.T) {
	srv := weft.NewServer(nil)
	defer srv.Close()
	must(t, admin.Register(srv, nil))
	h, err := health.New(srv, nil)
	must(t, err)
	must(t, grpc.RegisterHealth(srv, h))
	must(t, grpc.RegisterReflection(srv))
	all := srv.Describe()
	if len(all) < 5 {
		t.Errorf("only %d services are registered", len(all))
	}
	for _, s := range all {
		if !match.Own(s.Name + ".Method") {
			t.Errorf("%s is not among them", s.Name)
		}
	}
}
