// Package protovalidate refuses requests that break the rules in their .proto files: those of
// Protovalidate (buf/validate/validate.proto), such as
//
//	string email = 1 [(buf.validate.field).string.email = true];
//
// One value is the plugin, for servers and clients:
//
//	p, err := protovalidate.New(nil)
//	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{p}})
//
// On a server it runs before the handler, for unary requests and for every message of a stream that
// comes in. On a client it runs before anything is sent. A request that breaks rules is refused with
// InvalidArgument and a google.rpc.BadRequest, which has a violation for each of them:
//
//	for _, bad := range weft.Details[errdetails.BadRequest](err) {
//
// Clients of gRPC find it in the details of the status. Messages without rules, and those that are not
// made by protoc-gen-go, pass at once; plugin/validate is for Go types with a method Validate. Of a struct that
// embeds a generated message the fields of that message are checked, if there is one.
package protovalidate

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/logger"
	"github.com/weftrpc/weft/internal/stock"
	"github.com/weftrpc/weft/plugin/internal/checked"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// The values of Error.Reason.
const (
	// Reason is that of a request that breaks rules.
	Reason = "NOT_VALID"
	// ReasonRules is that of a request whose rules are wrong themselves. Its code is Internal.
	ReasonRules = "RULES_NOT_USABLE"
)

// Config configures the plugin. The zero value, and a nil pointer to one, give the defaults.
type Config struct {
	// Methods are those whose requests are checked: "Arith.Mul", "Arith.*", "*". nil: all.
	Methods []string
	// Messages are checked and compiled by New, with the messages in their fields: rules that are wrong
	// are then an error of New, and the first request of a kind does not wait for them. The rules of
	// other messages are compiled when the first of them comes. nil: all are.
	Messages []proto.Message
	// FailFast ends the check of a request at the first rule that it breaks.
	FailFast bool
	// Validator checks the messages. nil: one that is made for this plugin.
	Validator protovalidate.Validator
	// Logger gets an error, once for each message, when its rules cannot be evaluated. nil: slog.Default().
	// slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// New returns the plugin.
func New(cfg *Config) (weft.Plugin, error) {
	v := &validator{}
	if cfg != nil {
		v.cfg = *cfg
	}
	c := &v.cfg
	v.methods = slices.Clone(c.Methods)
	if err := v.methods.Check(); err != nil {
		return weft.Plugin{}, weft.Errorf(weft.InvalidArgument, "protovalidate: Config.Methods: %w", err)
	}
	c.Logger = logger.OrDefault(c.Logger)
	if c.Validator == nil {
		var options []protovalidate.ValidatorOption
		if c.FailFast {
			options = append(options, protovalidate.WithFailFast())
		}
		var err error
		if c.Validator, err = protovalidate.New(options...); err != nil {
			return weft.Plugin{}, weft.Errorf(weft.Internal, "protovalidate: %w", err)
		}
	}
	for _, m := range c.Messages {
		if m == nil {
			return weft.Plugin{}, weft.Errorf(weft.InvalidArgument, "protovalidate: a message of Config.Messages is nil")
		}
		if err := v.compile(m); err != nil {
			return weft.Plugin{}, err
		}
	}
	return checked.Plugin("protovalidate", v.check), nil
}

// validator is what the plugin knows.
type validator struct {
	cfg     Config
	methods match.Methods
	ruled   sync.Map // protoreflect.MessageDescriptor → bool: whether there are rules
	told    sync.Map // names of messages whose wrong rules were logged
}

// compile compiles the rules of a message and of those in its fields.
func (v *validator) compile(m proto.Message) error {
	for d := range reached(m.ProtoReflect().Descriptor()) {
		err := v.validate(dynamicpb.NewMessage(d))
		if wrong, ok := errors.AsType[*protovalidate.CompilationError](err); ok {
			return weft.Errorf(weft.InvalidArgument, "protovalidate: the rules of %s cannot be compiled: %w", d.FullName(), wrong)
		}
	}
	return nil
}

func (v *validator) validate(m proto.Message) error {
	if v.cfg.FailFast { // a Validator of the program may not know of it
		return v.cfg.Validator.Validate(m, protovalidate.WithFailFast())
	}
	return v.cfg.Validator.Validate(m)
}

// check returns what is wrong with a message.
func (v *validator) check(ctx context.Context, method string, msg any) *weft.Error {
	m := messageOf(msg)
	if m == nil || !v.methods.Has(method) || !v.anyRules(m) {
		return nil
	}
	err := v.validate(m)
	if err == nil {
		return nil
	}
	if broken, ok := errors.AsType[*protovalidate.ValidationError](err); ok {
		return refusal(broken)
	}
	name := m.ProtoReflect().Descriptor().FullName()
	if _, told := v.told.LoadOrStore(name, true); !told {
		v.cfg.Logger.ErrorContext(ctx, "protovalidate: the rules of a message cannot be evaluated; requests that need them are refused",
			"message", name, "method", method, "error", err)
	}
	return weft.Errorf(weft.Internal, "the rules of the message %s cannot be evaluated on this side", name).WithReason(ReasonRules)
}

// messageOf returns the message of protoc-gen-go that msg is, or that it embeds; nil when there is none.
func messageOf(msg any) (m proto.Message) {
	if m, ok := stock.Message(msg); ok {
		return m
	}
	outer, ok := msg.(proto.Message)
	if !ok {
		return nil
	}
	defer func() {
		if recover() != nil { // it embeds an interface, or is a pointer, which is nil
			m = nil
		}
	}()
	if inner := outer.ProtoReflect(); inner.IsValid() {
		return inner.Interface()
	}
	return nil
}

// anyRules reports whether there are rules for a message, or for one in its fields.
func (v *validator) anyRules(m proto.Message) bool {
	d := m.ProtoReflect().Descriptor()
	if found, ok := v.ruled.Load(d); ok {
		return found.(bool)
	}
	found := false
	for one := range reached(d) {
		found = found || ruled(one)
	}
	v.ruled.Store(d, found)
	return found
}
