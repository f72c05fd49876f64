package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

// Admin is a client of the service weft.Admin of the target. Calls with it take a context of Context,
// whose metadata comes before the token.
func (t *Target) Admin(p *shell.Shell) *admin.Client {
	cfg := &admin.ClientConfig{Token: p.Settings.AdminToken}
	for i := 0; i < len(p.Settings.Metadata); i += 2 {
		if p.Settings.Metadata[i] == admin.CredentialKey {
			cfg.Token = ""
		}
	}
	return admin.NewClient(t, cfg)
}

// NoAdmin says what to do about a server without the service weft.Admin.
func NoAdmin(err error) error {
	e, ok := weftError(err)
	switch {
	case errors.Is(err, ErrNoReflection):
		return shell.Exit(err, shell.ExitFailed)
	case ok && (e.Reason == weft.ReasonNoMethod || e.Code == weft.Unimplemented || e.Reason == weft.ReasonNoServices):
		return shell.Exit(fmt.Errorf("the server does not tell this of itself: %w; it does with admin.Register of package admin in its program", err), shell.ExitFailed)
	case ok && e.Code == weft.NotFound:
		return shell.Exit(fmt.Errorf("%s; 'weft list' names what there is", e.Message), shell.ExitFailed)
	case ok && e.Reason == weft.ReasonNoServer:
		return shell.Exit(fmt.Errorf("%w; name a server by --server, or by its address as the first argument", err), shell.ExitUnreachable)
	}
	return shell.FromCall(err)
}

// Describe asks a server what it serves: by weft.Admin, or by the reflection of gRPC. name is a
// service or a method, "" for all.
func (t *Target) Describe(ctx context.Context, p *shell.Shell, name string, schemas bool) ([]admin.ServiceInfo, error) {
	ctx = Context(ctx, p)
	if strings.HasPrefix(t.Scheme(), "grpc") {
		services, err := t.reflected(ctx, name, schemas)
		if weft.CodeOf(err) != weft.Unimplemented {
			return services, err
		}
	}
	d, err := t.Admin(p).Describe(ctx, &admin.DescribeRequest{Name: name, NoSchemas: !schemas, Model: schemas})
	if err != nil {
		if strings.HasPrefix(t.Scheme(), "grpc") && weft.CodeOf(err) == weft.Unimplemented {
			err = fmt.Errorf("%w: %w", ErrNoReflection, err)
		}
		return nil, err
	}
	order(d.Services, d.Model)
	return d.Services, nil
}

// ErrNoReflection is the error of a server of gRPC that does not describe itself.
var ErrNoReflection = errors.New("the server does not have gRPC's reflection, by which it would describe its services; register it in the server's program, in Go with reflection.Register of google.golang.org/grpc/reflection")

// reflected is Describe by the reflection of gRPC.
func (t *Target) reflected(ctx context.Context, name string, schemas bool) ([]admin.ServiceInfo, error) {
	r, err := Reflect(ctx, t)
	if err != nil {
		return nil, err
	}
	names := r.Services()
	var out []admin.ServiceInfo
	for _, service := range names {
		if name != "" && name != service && !strings.HasPrefix(name, service+".") || name == "" && strings.HasPrefix(service, "grpc.reflection.") {
			continue
		}
		d, err := r.Service(service)
		if err != nil {
			return nil, err
		}
		info := admin.ServiceInfo{Name: service}
		for i := range d.Methods().Len() {
			m := d.Methods().Get(i)
			if full := service + "." + string(m.Name()); name == "" || name == service || name == full {
				info.Methods = append(info.Methods, reflectedMethod(full, m, schemas))
			}
		}
		if len(info.Methods) > 0 || name == "" || name == service { // a service may have no method that reflection can describe
			out = append(out, info)
		}
	}
	if name != "" && len(out) == 0 {
		return nil, weft.Errorf(weft.NotFound, "there is no service or method %q here, only %s", name, strings.Join(names, ", "))
	}
	return out, nil
}

func reflectedMethod(name string, m protoreflect.MethodDescriptor, schemas bool) admin.MethodInfo {
	info := admin.MethodInfo{
		Name: name, Kind: KindOf(m).String(), Request: string(m.Input().FullName()), Reply: string(m.Output().FullName()),
		Doc: strings.TrimSpace(m.ParentFile().SourceLocations().ByDescriptor(m).LeadingComments),
	}
	if o, ok := m.Options().(*descriptorpb.MethodOptions); ok {
		info.Idempotent = o.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
	}
	if schemas {
		info.RequestSchema, info.ReplySchema = protoSchema(m.Input()), protoSchema(m.Output())
	}
	return info
}

// protoSchema is the JSON Schema of a message, as protojson encodes it.
func protoSchema(d protoreflect.MessageDescriptor) string {
	defs := make(map[string]any)
	root := messageSchema(d, defs)
	root["$defs"] = defs
	text, err := json.Marshal(root)
	if err != nil {
		return "" // maps of texts can always be encoded
	}
	return string(text)
}

func messageSchema(d protoreflect.MessageDescriptor, defs map[string]any) map[string]any {
	switch d.FullName() {
	case "google.protobuf.Timestamp":
		return map[string]any{"type": "string", "format": "date-time"}
	case "google.protobuf.Duration":
		return map[string]any{"type": "string"}
	case "google.protobuf.Struct", "google.protobuf.Any":
		return map[string]any{"type": "object"}
	case "google.protobuf.Value":
		return map[string]any{}
	}
	name := string(d.FullName())
	if _, known := defs[name]; !known {
		fields := new(fieldList)
		defs[name] = map[string]any{"type": "object", "properties": fields}
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			*fields = append(*fields, schemaField{f.JSONName(), fieldSchema(f, defs)})
		}
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// fieldList are the fields of a message in their order.
type fieldList []schemaField

type schemaField struct {
	name   string
	schema map[string]any
}

// MarshalJSON implements json.Marshaler.
func (l *fieldList) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for n, f := range *l {
		if n > 0 {
			b = append(b, ',')
		}
		text, err := json.Marshal(f.schema)
		if err != nil {
			return nil, err
		}
		b = append(append(strconv.AppendQuote(b, f.name), ':'), text...)
	}
	return append(b, '}'), nil
}

func fieldSchema(f protoreflect.FieldDescriptor, defs map[string]any) map[string]any {
	switch {
	case f.IsMap():
		return map[string]any{"type": "object", "additionalProperties": valueSchema(f.MapValue(), defs)}
	case f.IsList():
		return map[string]any{"type": "array", "items": valueSchema(f, defs)}
	}
	return valueSchema(f, defs)
}

func valueSchema(f protoreflect.FieldDescriptor, defs map[string]any) map[string]any {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return messageSchema(f.Message(), defs)
	case protoreflect.EnumKind:
		var names []string
		for i := range f.Enum().Values().Len() {
			names = append(names, string(f.Enum().Values().Get(i).Name()))
		}
		return map[string]any{"type": "string", "enum": names}
	case protoreflect.BoolKind:
		return map[string]any{"type": "boolean"}
	case protoreflect.StringKind:
		return map[string]any{"type": "string"}
	case protoreflect.BytesKind:
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	case protoreflect.FloatKind:
		return map[string]any{"type": "number", "format": "float"}
	case protoreflect.DoubleKind:
		return map[string]any{"type": "number", "format": "double"}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return map[string]any{"type": "string", "format": "int64"}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return map[string]any{"type": "string", "format": "uint64"}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return map[string]any{"type": "integer", "minimum": 0}
	}
	return map[string]any{"type": "integer", "format": "int32"}
}

// Idempotent are the methods of services that their servers describe as idempotent: the server at an address
// ("": that of the settings), or for each service one in the registry.
func Idempotent(ctx context.Context, p *shell.Shell, address string, services []string) (map[string]bool, error) {
	methods := make(map[string]bool)
	add := func(ctx context.Context, at string) error {
		t, err := Open(ctx, p, at)
		if err != nil {
			return err
		}
		defer t.Close()
		found, err := t.Describe(ctx, p, "", false)
		if err != nil {
			return NoAdmin(err)
		}
		for _, s := range found {
			for _, m := range s.Methods {
				methods[m.Name] = m.Idempotent
			}
		}
		return nil
	}
	if address != "" || p.Settings.Server != "" {
		return methods, add(ctx, address)
	}
	_, reg, err := catalog.OpenRegistry(p)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	for _, service := range services {
		snapshot, err := catalog.Ask(ctx, reg, service)
		if err != nil {
			return nil, err
		}
		if err := Each(ctx, snapshot.Instances, add); err != nil {
			return nil, err
		}
	}
	return methods, nil
}
