package generate

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/weftrpc/weft/generate/internal/directive"
	"github.com/weftrpc/weft/generate/internal/names"
	"github.com/weftrpc/weft/generate/internal/protofile"
	"github.com/weftrpc/weft/generate/internal/source"
	"github.com/weftrpc/weft/schema"
)

// Schema returns the model of the services that the inputs declare: Go packages, and .proto files. The comments in the
// sources are the documentation. Config.Codec and Config.Package have no effect.
func Schema(ctx context.Context, cfg Config) (*schema.Model, error) {
	b := schema.NewBuilder()
	found := false
	var patterns []string
	for _, input := range cfg.Inputs {
		switch filepath.Ext(input) {
		case ".thrift":
			return nil, fmt.Errorf("%s: the schema of a .thrift file is not read: generate its Go code and register it, and ask the server", input)
		case ".proto":
		default:
			patterns = append(patterns, input)
			continue
		}
		some, err := schemaOfProto(ctx, cfg, input, b)
		if err != nil {
			return nil, err
		}
		found = found || some
	}
	if len(patterns) > 0 || len(cfg.Inputs) == 0 {
		some, err := schemaOfGo(ctx, cfg, patterns, b)
		if err != nil {
			return nil, err
		}
		found = found || some
	}
	if !found {
		return nil, fmt.Errorf("%s: no service is declared there: in Go it is an interface with %s above it", orElse(strings.Join(cfg.Inputs, " "), "this package"), directive.Service)
	}
	return b.Model()
}

// schemaOfProto adds the services of a .proto file.
func schemaOfProto(ctx context.Context, cfg Config, name string, b *schema.Builder) (found bool, err error) {
	d, err := protofile.Load(ctx, cfg.Dir, cfg.ImportPath, name)
	if err != nil {
		return false, err
	}
	all := d.Services()
	for i := range all.Len() {
		b.AddDescriptor(all.Get(i))
	}
	return all.Len() > 0, nil
}

// schemaOfGo adds the services of packages of Go.
func schemaOfGo(ctx context.Context, cfg Config, patterns []string, b *schema.Builder) (found bool, err error) {
	loaded, err := source.Load(ctx, cfg.Dir, patterns)
	if err != nil {
		return false, err
	}
	r := source.NewReader()
	for _, pkg := range loaded {
		r.Comments(pkg)
	}
	var errs []error
	for _, pkg := range loaded {
		sources, err := source.Files(pkg)
		errs = append(errs, err)
		for _, src := range sources {
			s := &goSource{pkg: pkg, f: &file{pkg: pkg.Name, imports: names.NewImports()}}
			errs = append(errs, s.file(src.Syntax, false))
			for _, svc := range s.f.services {
				found = true
				errs = append(errs, describeService(b, r, pkg, svc))
			}
		}
	}
	return found, errors.Join(errs...)
}

// describeService adds a service to a model.
func describeService(b *schema.Builder, r *source.Reader, pkg *packages.Package, svc *service) error {
	b.Describe(svc.name, svc.doc)
	object := pkg.Types.Scope().Lookup(svc.goName)
	i, ok := object.Type().Underlying().(*types.Interface)
	if !ok {
		return fmt.Errorf("%s.%s is no interface", pkg.PkgPath, svc.goName)
	}
	for _, m := range svc.methods {
		for k := range i.NumExplicitMethods() {
			f := i.ExplicitMethod(k)
			if f.Name() != m.name {
				continue
			}
			request, reply := messagesOf(f.Signature(), m.kind)
			at := svc.goName + "_" + m.name
			b.Add(svc.name, schema.Method{Name: m.wireName, Kind: m.kind.schema(), Doc: m.doc, Idempotent: m.idempotent,
				Request: b.Go(r.Type(request), at+"_Request"), Reply: b.Go(r.Type(reply), at+"_Reply")})
		}
	}
	return r.Err()
}

// schema is the kind as package schema names it.
func (k kind) schema() string {
	switch k {
	case serverStream:
		return schema.ServerStream
	case clientStream:
		return schema.ClientStream
	case bidiStream:
		return schema.BidiStream
	}
	return schema.Unary
}

// messagesOf are the types of the messages of a method, whose signature is one of that kind.
func messagesOf(sig *types.Signature, k kind) (request, reply types.Type) {
	in, out := sig.Params(), sig.Results()
	switch k {
	case filling:
		return source.Message(in.At(1).Type()), source.Message(in.At(2).Type())
	case unary, serverStream, clientStream, bidiStream:
	}
	return source.Message(in.At(1).Type()), source.Message(out.At(0).Type())
}
