package generate

import (
	"fmt"
	"strings"

	"github.com/weftrpc/weft/generate/internal/names"
)

// optionsMethod is the method of clients that adds options.
const optionsMethod = "With"

// service writes the client and the register function of a service, and its interface unless that is declared.
func (p *printer) service(s *service) {
	im := p.f.imports
	context, weft := im.Std("context"), im.Use(names.Weft, "weft")
	for _, m := range s.methods {
		if m.streams() {
			im.Std("iter")
			im.Use(names.Stub, "stub")
		}
	}
	if !s.declared {
		p.line("")
		p.doc(orElse(s.doc, fmt.Sprintf("%s is the service %s.", s.goName, s.name)))
		p.line("type %s interface {", s.goName)
		for i, m := range s.methods {
			if i > 0 {
				p.line("")
			}
			p.doc(orElse(m.doc, fmt.Sprintf("%s is the method %s.%s.", m.name, s.name, m.wireName)))
			p.line("%s%s", m.name, p.signature(m))
		}
		p.line("}")
	}
	client, caller := s.goName+"Client", weft+".Caller"
	if s.streams() {
		caller = weft + ".StreamCaller"
	}
	p.client(s, weft, caller)
	for _, m := range s.methods {
		p.doc(orElse(m.doc, fmt.Sprintf("%s calls %s.%s.", m.name, s.name, m.wireName)))
		p.line("func (c *%s) %s%s {", client, m.name, p.signature(m))
		name := fmt.Sprintf("%q", s.name+"."+m.wireName)
		switch m.kind {
		case unary:
			p.line("return %s.Invoke[%s](ctx, c.caller, %s, req, c.opts...)", weft, m.res, name)
		case filling:
			p.line("return c.caller.Call(ctx, %s, req, res, c.opts...)", name)
		case serverStream:
			p.line("return stub.Receive[%s](ctx, c.caller, %s, req, c.opts...)", m.res, name)
		case clientStream:
			p.line("return stub.Send[%s](ctx, c.caller, %s, in, c.opts...)", m.res, name)
		case bidiStream:
			p.line("return stub.Exchange[%s](ctx, c.caller, %s, in, c.opts...)", m.res, name)
		}
		p.line("}\n")
	}
	p.registerBegin(s, weft)
	for _, m := range s.methods {
		p.register(s, m, context, weft)
	}
	p.line("return nil\n}\n")
}

// client writes the type of a client, without its methods, and how it is made.
func (p *printer) client(s *service, weft, caller string) {
	p.line(`
// %[1]s calls the service %[2]s. It implements %[3]s.
type %[1]s struct {
	caller %[5]s
	opts   []%[4]s.CallOption
}

var _ %[3]s = (*%[1]s)(nil)

// New%[1]s returns a client that makes its calls with c.
func New%[1]s(c %[5]s) *%[1]s { return &%[1]s{caller: c} }

// With returns a client that makes its calls with more options.
func (c *%[1]s) With(opts ...%[4]s.CallOption) *%[1]s {
	return &%[1]s{c.caller, append(c.opts[:len(c.opts):len(c.opts)], opts...)}
}
`, s.goName+"Client", s.name, s.goName, weft, caller)
}

// registerBegin writes the beginning of the register function.
func (p *printer) registerBegin(s *service, weft string) {
	p.line(`// Register%[1]s registers the methods of s as the service %[2]s.
func Register%[1]s(r %[3]s.Registrar, s %[1]s) error {
	if s == nil {
		return %[3]s.Errorf(%[3]s.InvalidArgument, "register %[2]s: the service is nil")
	}`, s.goName, s.name, weft)
}

func (p *printer) register(s *service, m *method, context, weft string) {
	var options strings.Builder
	if m.idempotent {
		fmt.Fprintf(&options, ", %s.Idempotent()", weft)
	}
	if m.doc != "" {
		fmt.Fprintf(&options, ", %s.Doc(%q)", weft, strings.TrimSpace(m.doc))
	}
	name := fmt.Sprintf("%q", s.name+"."+m.wireName)
	handle, function := "", ""
	switch m.kind {
	case unary:
		handle, function = "Handle", "s."+m.name
	case filling:
		if m.reuse {
			handle, function = "HandleReuse", "s."+m.name
			break
		}
		handle = "Handle"
		function = fmt.Sprintf(`func(ctx %[1]s.Context, req *%[2]s) (*%[3]s, error) {
		res := new(%[3]s)
		return res, s.%[4]s(ctx, req, res)
	}`, context, m.req, m.res, m.name)
	case serverStream:
		handle = "HandleServerStream"
		function = fmt.Sprintf(`func(ctx %[1]s.Context, req *%[2]s, out *%[5]s.Sender[%[3]s]) error {
		return stub.SendAll(out, s.%[4]s(ctx, req))
	}`, context, m.req, m.res, m.name, weft)
	case clientStream:
		handle = "HandleClientStream"
		function = fmt.Sprintf(`func(ctx %[1]s.Context, in *%[5]s.Receiver[%[2]s]) (*%[3]s, error) {
		return s.%[4]s(ctx, in.All())
	}`, context, m.req, m.res, m.name, weft)
	case bidiStream:
		handle = "HandleStream"
		function = fmt.Sprintf(`func(ctx %[1]s.Context, both *%[5]s.Stream[%[2]s, %[3]s]) error {
		return stub.SendAll(both, s.%[4]s(ctx, both.All()))
	}`, context, m.req, m.res, m.name, weft)
	}
	p.line("if err := %s.%s(r, %s, %s%s); err != nil {\nreturn err\n}", weft, handle, name, function, options.String())
}

// signature returns the parameters and results of a method.
func (p *printer) signature(m *method) string {
	context := p.f.imports.Std("context")
	switch m.kind {
	case filling:
		return fmt.Sprintf("(ctx %s.Context, req *%s, res *%s) error", context, m.req, m.res)
	case serverStream:
		return fmt.Sprintf("(ctx %s.Context, req *%s) iter.Seq2[*%s, error]", context, m.req, m.res)
	case clientStream:
		return fmt.Sprintf("(ctx %s.Context, in iter.Seq2[*%s, error]) (*%s, error)", context, m.req, m.res)
	case bidiStream:
		return fmt.Sprintf("(ctx %s.Context, in iter.Seq2[*%s, error]) iter.Seq2[*%s, error]", context, m.req, m.res)
	}
	return fmt.Sprintf("(ctx %s.Context, req *%s) (*%s, error)", context, m.req, m.res)
}

func orElse(text, otherwise string) string {
	if strings.TrimSpace(text) == "" {
		return otherwise
	}
	return text
}
