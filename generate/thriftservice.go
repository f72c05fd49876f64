package generate

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"github.com/weftrpc/weft/generate/internal/names"
	"github.com/weftrpc/weft/generate/internal/thriftidl"
)

// operation is a function of a service in Go.
type operation struct {
	*thriftidl.Function
	name    string // in Go
	wire    string // "Service.function"
	doc     string
	args    string // the type of its parameters as a struct; "": it has none
	params  []param
	result  string // the type of the result; "": void
	wrapped string // the type of a struct around the result; "": there is none
}

// param is a parameter in Go.
type param struct {
	*thriftidl.Field
	name, typ string
}

// thriftService writes the interface, the client and the register function of a service.
func (p *thriftPrinter) thriftService(x *thriftidl.Service) {
	im := p.f.imports
	context, weft := im.Std("context"), im.Use(names.Weft, "weft")
	svc := p.s.service(x)
	ops := p.s.operations(svc, x)
	for _, o := range ops[len(ops)-len(x.Functions):] {
		p.messages(o)
	}
	p.line("")
	p.doc(orElse(svc.doc, fmt.Sprintf("%s is the service %s.", svc.goName, svc.name)))
	p.line("type %s interface {", svc.goName)
	for i, o := range ops {
		if i > 0 {
			p.line("")
		}
		p.doc(orElse(o.doc, fmt.Sprintf("%s is the method %s.", o.name, o.wire)))
		p.line("%s%s", o.name, o.signature(context))
	}
	p.line("}")
	caller := weft + ".Caller"
	for _, o := range ops {
		if o.Oneway {
			caller = p.s.thrift() + ".Caller"
		}
	}
	p.client(svc, weft, caller)
	for _, o := range ops {
		p.doc(orElse(o.doc, fmt.Sprintf("%s calls %s.", o.name, o.wire)))
		p.line("func (c *%sClient) %s%s {", svc.goName, o.name, o.signature(context))
		p.call(svc, o, weft)
		p.line("}\n")
	}
	if x.Throws() {
		p.exceptions(svc, ops)
	}
	p.registerBegin(svc, weft)
	for _, o := range ops {
		p.handle(svc, o, context, weft)
	}
	p.line("return nil\n}\n")
}

// service is a service without what its functions are in Go.
func (s *thriftSource) service(x *thriftidl.Service) *service {
	svc := &service{name: x.Name, goName: names.Exported(x.Name), pos: x.Pos.String(), doc: x.Comment()}
	if name, ok := x.Annotations.Get(serviceAnnotation); ok {
		svc.name = name
	}
	for _, f := range x.All() {
		svc.methods = append(svc.methods, &method{wireName: f.Name})
	}
	return svc
}

// operations are the functions of a service, those of the services that it extends first.
func (s *thriftSource) operations(svc *service, x *thriftidl.Service) []*operation {
	var all []*operation
	in := s.d
	for base := x; base != nil; base = base.Base {
		var own []*operation
		for _, f := range base.Functions {
			own = append(own, s.operation(svc, base, in, f))
		}
		all = append(own, all...)
		if base.Base != nil {
			in = in.BaseOf(base)
		}
	}
	return all
}

func (s *thriftSource) operation(svc *service, x *thriftidl.Service, in *thriftidl.Document, f *thriftidl.Function) *operation {
	o := &operation{Function: f, name: names.Exported(f.Name), wire: svc.name + "." + f.Name, doc: f.Comment()}
	message := names.Exported(x.Name) + o.name
	if len(f.Params) > 0 {
		o.args = s.qualified(in, message+"Args", f.Pos)
	}
	if f.Result != nil {
		o.result = s.variable(f.Result)
		if f.ReturnsEmpty() { // as the reply itself it would stand for void
			o.wrapped = s.qualified(in, message+"Result", f.Pos)
		}
	}
	var typs []string // before the names of the parameters: none is that of a package that they need
	for _, f := range f.Params {
		typs = append(typs, s.variable(f.Type))
	}
	taken := map[string]bool{"ctx": true, "c": true, "s": true, "r": true, "req": true, "res": true, "err": true, "context": true, "weft": true, "thrift": true}
	for i, f := range f.Params {
		name := names.Local(f.Name)
		for taken[name] || s.f.imports.Has(name) || token.IsKeyword(name) || types.Universe.Lookup(name) != nil {
			name += "_"
		}
		taken[name] = true
		o.params = append(o.params, param{f, name, typs[i]})
	}
	return o
}

// messages writes the structs of a function.
func (p *thriftPrinter) messages(o *operation) {
	if o.args != "" {
		p.line("")
		p.fields(o.args, fmt.Sprintf("%s are the parameters of %s.", o.args, o.wire), o.Params, thriftidl.Plain)
		p.getters(o.args, o.Params, thriftidl.Plain)
	}
	if o.wrapped != "" {
		p.line("\n// %[1]s is the result of %[2]s.\ntype %[1]s struct {\nSuccess %[3]s `thrift:\"success,0\" json:\"success\"`\n}", o.wrapped, o.wire, o.result)
	}
}

// signature returns the parameters and results.
func (o *operation) signature(context string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "(ctx %s.Context", context)
	for _, x := range o.params {
		fmt.Fprintf(&b, ", %s %s", x.name, x.typ)
	}
	if o.result == "" {
		return b.String() + ") error"
	}
	return b.String() + ") (" + o.result + ", error)"
}

// reply is the type that the reply has for weft.
func (o *operation) reply() string {
	switch {
	case o.result == "":
		return "struct{}"
	case o.wrapped != "":
		return o.wrapped
	}
	return strings.TrimPrefix(o.result, "*")
}

// request is an expression for the request of a call.
func (o *operation) request() string {
	if o.args == "" {
		return "&struct{}{}"
	}
	var parts []string
	for _, x := range o.params {
		value := x.name
		if x.Type.IsScalar() && absent(x.Field, thriftidl.Plain) {
			value = "&" + value
		}
		parts = append(parts, fieldName(x.Field, thriftidl.Plain)+": "+value)
	}
	return "&" + o.args + "{" + strings.Join(parts, ", ") + "}"
}

// call writes the body of a method of a client.
func (p *thriftPrinter) call(svc *service, o *operation, weft string) {
	caught := func(err string) string {
		if len(o.Throws) == 0 {
			return err
		}
		return fmt.Sprintf("%sExceptions().Catch(%q, %s)", svc.goName, o.wire, err)
	}
	invoke := fmt.Sprintf("%s.Invoke[%s](ctx, c.caller, %q, %s, c.opts...)", weft, o.reply(), o.wire, o.request())
	switch {
	case o.Oneway:
		p.line("return c.caller.Notify(ctx, %q, %s, c.opts...)", o.wire, o.request())
	case o.result == "":
		p.line("return %s", caught(fmt.Sprintf("c.caller.Call(ctx, %q, %s, nil, c.opts...)", o.wire, o.request())))
	case o.wrapped == "" && o.Result.IsStruct():
		if len(o.Throws) == 0 {
			p.line("return %s", invoke)
			break
		}
		p.line("res, err := %s\nreturn res, %s", invoke, caught("err"))
	default:
		value := "*res"
		if o.wrapped != "" {
			value = "res.Success"
		}
		p.line("res, err := %s\nif err != nil {\nreturn %s, %s\n}\nreturn %s, nil", invoke, p.s.zero(o.Result), caught("err"), value)
	}
}

// exceptions writes the function that returns what functions throw.
func (p *thriftPrinter) exceptions(svc *service, ops []*operation) {
	p.line("// %[1]sExceptions are those that the methods of %[2]s declare.\nfunc %[1]sExceptions() %[3]s.Exceptions {\nreturn %[3]s.Exceptions{", svc.goName, svc.name, p.s.thrift())
	for _, o := range ops {
		if len(o.Throws) == 0 {
			continue
		}
		var parts []string
		for _, t := range o.Throws {
			parts = append(parts, fmt.Sprintf("{ID: %d, Name: %q, Value: (*%s)(nil)}", t.ID, t.Name, p.s.typ(t.Type)))
		}
		p.line("%q: {%s},", o.wire, strings.Join(parts, ", "))
	}
	p.line("}\n}\n")
}

// handle writes the registration of a method.
func (p *thriftPrinter) handle(svc *service, o *operation, context, weft string) {
	var options strings.Builder
	if value, ok := o.Annotations.Get(idempotentAnnotation); ok && value != "false" {
		fmt.Fprintf(&options, ", %s.Idempotent()", weft)
	}
	if o.doc != "" {
		fmt.Fprintf(&options, ", %s.Doc(%q)", weft, strings.TrimSpace(o.doc))
	}
	if o.Oneway {
		fmt.Fprintf(&options, ", %s.Oneway()", p.s.thrift())
	}
	request, args := "_ *struct{}", "ctx"
	if o.args != "" {
		request = "req *" + o.args
	}
	for _, x := range o.params {
		value := "req." + fieldName(x.Field, thriftidl.Plain)
		if readable(x.Field, thriftidl.Plain) {
			value = "req.Get" + fieldName(x.Field, thriftidl.Plain) + "()"
		}
		args += ", " + value
	}
	p.line("if err := %s.Handle(r, %q, func(ctx %s.Context, %s) (*%s, error) {", weft, o.wire, context, request, o.reply())
	thrown := "err"
	if len(o.Throws) > 0 {
		thrown = fmt.Sprintf("%sExceptions().Throw(%q, err)", svc.goName, o.wire)
	}
	call := fmt.Sprintf("s.%s(%s)", o.name, args)
	switch {
	case o.result == "" && thrown == "err":
		p.line("return &struct{}{}, %s", call)
	case o.result == "":
		p.line("err := %s\nreturn &struct{}{}, %s", call, thrown)
	case o.wrapped != "":
		p.line("res, err := %s\nreturn &%s{Success: res}, %s", call, o.wrapped, thrown)
	case !o.Result.IsStruct():
		p.line("res, err := %s\nreturn &res, %s", call, thrown)
	case thrown == "err":
		p.line("return %s", call)
	default:
		p.line("res, err := %s\nreturn res, %s", call, thrown)
	}
	p.line("}%s); err != nil {\nreturn err\n}", options.String())
}
