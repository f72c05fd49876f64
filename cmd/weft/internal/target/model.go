package target

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/schema"
)

// Model asks the one server of the target for the model of its services: by weft.Admin, or else by the reflection of
// gRPC. name is a service or a method, "" for all; of reflection the model is always that of all.
func (t *Target) Model(ctx context.Context, p *shell.Shell, name string) (*schema.Model, error) {
	ctx = Context(ctx, p)
	d, err := t.Admin(p).Describe(ctx, &admin.DescribeRequest{Name: name, NoSchemas: true, Model: true})
	if strings.HasPrefix(t.Scheme(), "grpc") && weft.CodeOf(err) == weft.Unimplemented {
		return t.reflectedModel(ctx)
	}
	if err != nil {
		return nil, err
	}
	if d.Model == "" {
		return nil, fmt.Errorf("%s: the server has an older version of weft, which gives no schema: describe its package or .proto file in place of it", t.Address)
	}
	m, err := schema.Decode([]byte(d.Model))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Address, err)
	}
	return m, nil
}

// ProtoModel is Model with the names that messages have in Protocol Buffers: a server that is called by gRPC is asked by its
// reflection first, as programs of gRPC ask it, and by weft.Admin, which has the names of Go, where it has none.
func (t *Target) ProtoModel(ctx context.Context, p *shell.Shell, name string) (*schema.Model, error) {
	if strings.HasPrefix(t.Scheme(), "grpc") {
		m, err := t.reflectedModel(Context(ctx, p))
		if err == nil {
			return m, nil
		}
		if m, other := t.Model(ctx, p, name); other == nil || weft.CodeOf(err) == weft.Unimplemented {
			return m, other
		}
		return nil, err
	}
	return t.Model(ctx, p, name)
}

// reflectedModel is Model by the reflection of gRPC.
func (t *Target) reflectedModel(ctx context.Context) (*schema.Model, error) {
	r, err := Reflect(ctx, t)
	if err != nil {
		if weft.CodeOf(err) == weft.Unimplemented {
			err = fmt.Errorf("%w: %w", ErrNoReflection, err)
		}
		return nil, err
	}
	b := schema.NewBuilder()
	for _, name := range r.Services() {
		d, err := r.Service(name)
		if err != nil {
			return nil, err
		}
		b.AddDescriptor(d)
	}
	return b.Model()
}

// mostAsked is how many servers of a service are asked for a model that will do.
const mostAsked = 8

// Models hands over the models of the servers of a method until enough returns true: that of the one server, or those
// of the first servers that the registry has of the service. The error says why there is none.
func (t *Target) Models(ctx context.Context, p *shell.Shell, method string, enough func(*schema.Model) bool) error {
	if t.Client != nil {
		m, err := t.Model(ctx, p, method)
		if err == nil {
			enough(m)
		}
		return err
	}
	service, _, _ := cutMethod(method)
	snapshot, err := catalog.Ask(ctx, t.registry, service)
	if err != nil {
		return err
	}
	found := false
	err = Each(ctx, snapshot.Instances[:min(len(snapshot.Instances), mostAsked)], func(ctx context.Context, address string) error {
		m, err := modelAt(ctx, p, address, method)
		if err != nil {
			return err
		}
		if found = true; !enough(m) {
			return errOther
		}
		return nil
	})
	switch {
	case found:
		return nil
	case err == nil:
		return fmt.Errorf("no server of %s is registered", service)
	}
	return err
}

// errOther says that another server is to be asked.
var errOther = errors.New("the model of the server does not suffice")

// modelAt asks the server at an address for its model.
func modelAt(ctx context.Context, p *shell.Shell, address, name string) (*schema.Model, error) {
	t, err := Open(ctx, p, address)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return t.Model(ctx, p, name)
}
