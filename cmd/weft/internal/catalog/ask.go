package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/etcd"
)

// ListServices are the names of all services of a registry.
func ListServices(ctx context.Context, a Address, reg *registry.Registry) ([]string, error) {
	if a.Kind != "etcd" {
		return nil, fmt.Errorf("name a service, since only etcd can list them all; %w", shell.ErrUsage)
	}
	defer shell.Waiting(ctx, reg.Name())()
	services, err := etcd.Services(ctx, a.Etcd())
	return services, shell.FromRegistry(reg, err)
}

// Unknown is the error of a service of which no server is registered. It names the
// services that have one where the registry can list them, and otherwise says where to look.
func Unknown(ctx context.Context, a Address, reg *registry.Registry, service string) error {
	err := fmt.Errorf("no server of %s is registered in %s", service, reg.Name())
	if a.Kind != "etcd" {
		return fmt.Errorf("%w, and only etcd can list the services that there are: compare the name with that in the log of the servers, "+
			"and this address with the one at which they register", err)
	}
	known, failed := etcd.Services(ctx, a.Etcd())
	known, _ = WithoutOwn(known)
	switch {
	case failed != nil:
		return fmt.Errorf("%w, and the services there cannot be listed: %w", err, failed)
	case len(known) == 0:
		return fmt.Errorf("%w, and none of any other service", err)
	case len(known) > maxNamed:
		return fmt.Errorf("%w, only servers of %s and %d more services; 'weft instances' lists all",
			err, strings.Join(known[:maxNamed], ", "), len(known)-maxNamed)
	default:
		return fmt.Errorf("%w, only servers of %s", err, strings.Join(known, ", "))
	}
}

// maxNamed is how many services an error names.
const maxNamed = 20

// Ask returns what the registry has of a service now.
func Ask(ctx context.Context, reg *registry.Registry, service string) (*registry.Snapshot, error) {
	first := make(chan *registry.Snapshot, 1)
	stop := reg.Watch(service, func(s *registry.Snapshot) {
		select {
		case first <- s:
		default:
		}
	})
	defer stop()
	defer shell.Waiting(ctx, reg.Name())()
	select {
	case s := <-first:
		if s.Err != nil {
			return nil, shell.FromRegistry(reg, s.Err)
		}
		return s, nil
	case <-ctx.Done():
		return nil, shell.FromRegistry(reg, fmt.Errorf("no answer: %w", ctx.Err()))
	}
}
