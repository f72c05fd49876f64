package calls

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cmd/weft/internal/fields"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
)

const callHelp = `Makes a call, with messages in JSON on any wire: to one of the servers that the registry knows, as a client would choose
it, or to the server at an address. The request is the last argument, or --data: JSON, @file, or - for the standard
input; without one it is the empty object. The reply goes to the standard output, an error to the standard error.

A method that sends many messages has them written one a line. One that receives many gets the values of JSON in the
data, one after the other; those of the standard input are sent as they come.

A server of gRPC is asked for its types by reflection. A server of weft takes JSON on all its wires. net/rpc does not
describe its types: fields of the request are matched by name, and --reply is a sample of the reply, without which
it is not shown. Of Thrift it is the same, and fields are matched by their numbers: a key is the number of a field with
its type, such as "1:i32" or "2:list<string>", or only the number if JSON shows the type; integers are i64 then.

A field that the message does not have is an error, and nothing is sent, if the server describes its methods: by package
admin or by reflection. Otherwise the server may ignore such a field; -v tells when fields are not checked.`

const callExamples = `  weft call Arith.Mul '{"A":6,"B":7}'
  weft call tcp://127.0.0.1:8972 Arith.Mul '{"A":6,"B":7}'
  weft call grpc://127.0.0.1:50051 helloworld.Greeter.SayHello @request.json
  weft call http://127.0.0.1:8972 Arith.Mul -H tenant:acme -v '{"A":6,"B":7}'
  weft call netrpc://127.0.0.1:1234 Arith.Multiply --reply 0 '{"A":6,"B":7}'
  weft call thrift://127.0.0.1:9090 Calculator.add --reply 0 '{"1:i32":6,"2:i32":7}'
  weft call connect+http://127.0.0.1:8080 eliza.v1.ElizaService.Say '{"sentence":"hello"}'
  weft call Feed.Import -d @orders.ndjson
  tail -f orders.ndjson | weft call Feed.Import -d -`

// options are the flags of call.
type options struct {
	data, reply, instance, hashKey string
	oneway, idempotent, defaults   bool
	meta, unknown, unbounded       bool
}

// Command makes a call.
func Command(p *shell.Shell, methods cobra.CompletionFunc) *cobra.Command {
	o := new(options)
	cmd := &cobra.Command{
		Use: "call [address] Service.Method [JSON]", GroupID: shell.GroupCall, Short: "Make a call", Long: callHelp, Example: callExamples,
		Args: shell.Arguments(1, 3), ValidArgsFunction: methods,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.unbounded = !cmd.Flags().Changed("timeout")
			return run(cmd.Context(), p, o, args)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.data, "data", "d", "", "the request as `JSON`, @file, or - for the standard input")
	f.StringVar(&o.reply, "reply", "", "a `sample` of the reply in JSON, for net/rpc and Thrift")
	f.StringVar(&o.instance, "instance", "", "call the instance with this `ID` in the registry")
	f.StringVar(&o.hashKey, "hash-key", "", "the `key` by which consistent hashes and rules choose a server")
	f.BoolVar(&o.oneway, "oneway", false, "do not ask for a reply")
	f.BoolVar(&o.idempotent, "idempotent", false, "the call may run more than once: it is tried again also when it may have run")
	f.BoolVar(&o.defaults, "emit-defaults", false, "show fields with their zero value too, of Protocol Buffers")
	f.BoolVar(&o.unknown, "allow-unknown", false, "send fields too that the server does not describe")
	f.BoolVar(&o.meta, "meta", false, "write the metadata of the reply to the standard error")
	return cmd
}

// call is one call under way.
type call struct {
	p       *shell.Shell
	o       *options
	t       *target.Target
	method  string
	in      *input
	shape   shape
	fields  *fields.Fields // nil: those of requests are not checked
	meta    weft.Metadata
	replies int
	began   time.Time
}

func run(ctx context.Context, p *shell.Shell, o *options, args []string) error {
	address, args := target.Split(args)
	if len(args) == 0 || len(args) > 2 || !strings.Contains(args[0], ".") {
		return fmt.Errorf("call: want Service.Method and perhaps its request; %w", shell.ErrUsage)
	}
	if address != "" && o.instance != "" {
		return fmt.Errorf("call: there is an address and --instance, which names a server in the registry; want one of them; %w", shell.ErrUsage)
	}
	if len(args) == 2 {
		if o.data != "" {
			return fmt.Errorf("call: the request is an argument, and --data is given too; %w", shell.ErrUsage)
		}
		o.data = args[1]
	}
	in, err := open(p, o.data)
	if err != nil {
		return err
	}
	defer func() { _ = in.close() }()
	bounded, cancel := target.Within(ctx, p)
	defer cancel()
	if o.instance != "" {
		service := args[0][:strings.LastIndexByte(args[0], '.')]
		if address, err = target.Instance(bounded, p, service, o.instance); err != nil {
			return err
		}
	}
	t, err := target.OpenFor(bounded, p, address, args[0])
	if err != nil {
		if e, ok := errors.AsType[*weft.Error](err); ok && e.Reason == weft.ReasonNoServer {
			p.WriteFailure(err)
		}
		return err
	}
	defer t.Close()
	x := &call{p: p, o: o, t: t, method: args[0], in: in}
	err = x.make(ctx, bounded)
	x.tell(err)
	if err == nil {
		return nil
	}
	p.WriteFailure(err)
	return shell.FromCall(err)
}

// make makes the call. bounded has the time of a unary call, for which the time until its request has come by the standard
// input does not count; a stream has it too if --timeout is given.
func (x *call) make(ctx, bounded context.Context) error {
	decorate := func(ctx context.Context) context.Context {
		ctx = target.Context(ctx, x.p)
		if x.o.hashKey != "" {
			ctx = cluster.WithKey(ctx, x.o.hashKey)
		}
		if x.o.idempotent {
			ctx = cluster.WithIdempotent(ctx)
		}
		return ctx
	}
	ctx, bounded = decorate(ctx), decorate(bounded)
	streaming := ctx
	if !x.o.unbounded {
		streaming = bounded
	}
	s, kind, known, err := shapeOf(bounded, x.t, x.o, x.method)
	if err != nil {
		return err
	}
	x.shape = s
	if own, ok := s.(*asProto); ok {
		x.fields, err = fields.OfMessage(x.method, own.method.Input())
	} else if !known && (x.in.live || x.in.fields && !x.o.unknown) {
		// The standard input must not be read to its end before the kind of the method is known.
		kind, known = x.learn(bounded)
	}
	if err != nil {
		return err
	}
	x.began = time.Now()
	x.t.Trace.Take() // what was asked before is no part of the call
	if scheme := x.t.Scheme(); known && kind != weft.Unary || !known && alike(scheme) && !x.o.oneway {
		return x.streamed(streaming, nil)
	}
	first, err := x.in.next()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%s has no value; %w", x.in.name, shell.ErrUsage)
		}
		return err
	}
	second, err := x.in.next()
	switch {
	case err == nil && known:
		return fmt.Errorf("%s receives one message, and there are more values in %s; %w", x.method, x.in.name, shell.ErrUsage)
	case err == nil:
		return x.streamed(streaming, []json.RawMessage{first, second})
	case !errors.Is(err, io.EOF):
		return err
	}
	if x.in.live {
		x.began = time.Now()
		var cancel context.CancelFunc
		bounded, cancel = target.Within(ctx, x.p)
		defer cancel()
	}
	err = x.unary(bounded, first)
	if e, ok := errors.AsType[*weft.Error](err); ok && !known && e.Outcome == weft.Refused && e.Reason == weft.ReasonWrongKind {
		x.t.Trace.Take()
		return x.streamed(streaming, []json.RawMessage{first})
	}
	return err
}

// alike reports whether a stream with one message is a unary call on a wire, so that the kind of the
// method need not be known.
func alike(scheme string) bool {
	return strings.HasPrefix(scheme, "http") || strings.HasPrefix(scheme, "grpc")
}

// learn asks the server for the fields and the kind of the method. A server that does not tell is called as for one
// value, whose fields are not checked.
func (x *call) learn(ctx context.Context) (kind weft.Kind, known bool) {
	var name string
	var err error
	if x.fields, name, err = fields.Learn(ctx, x.p, x.t, x.method); err != nil && x.p.Settings.Verbose > 0 {
		fmt.Fprintf(x.p.Log, "* the fields of the request are not checked, since the server does not describe %s: %v\n", x.method, err)
	}
	for kind := weft.Unary; kind <= weft.BidiStream; kind++ {
		if kind.String() == name {
			return kind, true
		}
	}
	return 0, false
}

// request makes a message of a value, whose fields the request of the method must have.
func (x *call) request(ctx context.Context, text json.RawMessage) (any, error) {
	if !x.o.unknown {
		var err error
		if x.fields, err = x.fields.CheckAt(ctx, x.p, x.t, text); err != nil {
			return nil, err
		}
	}
	return x.shape.request(text)
}

func (x *call) unary(ctx context.Context, text json.RawMessage) error {
	request, err := x.request(ctx, text)
	if err != nil {
		return err
	}
	opts := []weft.CallOption{weft.WithCodec(x.shape.codec())}
	if x.o.oneway {
		if err := x.t.Notify(ctx, x.method, request, opts...); err != nil {
			return err
		}
		return x.t.Shutdown(ctx) // the server has the call when it returns
	}
	reply := x.shape.reply()
	if err := x.t.Call(ctx, x.method, request, reply, append(opts, weft.WithReplyMetadata(&x.meta))...); err != nil {
		return err
	}
	if reply == nil { // the types of the wire are not known
		fmt.Fprintln(x.p.Log, "weft: the reply is not shown: give a sample of it with --reply, such as --reply 0")
	}
	return x.write(reply, true)
}

// streamed makes a streaming call: it sends the values that were read already, and those that
// come, while it writes what it receives.
func (x *call) streamed(ctx context.Context, values []json.RawMessage) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sample, err := x.shape.request(json.RawMessage("{}"))
	if err != nil {
		return err
	}
	s, err := x.t.OpenStream(ctx, x.method, sample, weft.WithCodec(x.shape.codec()), weft.WithReplyMetadata(&x.meta))
	if err != nil {
		return err
	}
	defer s.Close()
	// It ends with the input or the call. A read of the standard input cannot be interrupted, and
	// ends with the process.
	go func() {
		if err := x.send(ctx, s, values); err != nil {
			cancel(&unsent{err})
		}
	}()
	for {
		reply := x.shape.reply()
		switch err := s.Recv(reply); {
		case err == io.EOF: // a lost connection may wrap it
			return context.Cause(ctx)
		case err != nil:
			if cause, ok := errors.AsType[*unsent](context.Cause(ctx)); ok && !errors.Is(cause, context.Canceled) {
				return cause
			}
			return err
		}
		if err := x.write(reply, false); err != nil {
			return err
		}
	}
}

// unsent is what ends a stream whose values cannot be read or sent.
type unsent struct{ error }

func (u *unsent) Unwrap() error { return u.error }

// send sends values, and closes the stream behind the last one.
func (x *call) send(ctx context.Context, s weft.RawStream, values []json.RawMessage) error {
	for {
		var value json.RawMessage
		var err error
		if len(values) > 0 {
			value, values = values[0], values[1:]
		} else if value, err = x.in.next(); errors.Is(err, io.EOF) {
			_ = s.CloseSend() // the call has ended if it fails
			return nil
		} else if err != nil {
			return err
		}
		message, err := x.request(ctx, value)
		if err != nil {
			return err
		}
		if s.Send(message) != nil {
			return nil // the error of the call comes from Recv
		}
	}
}

// write writes a reply.
func (x *call) write(reply any, alone bool) error {
	x.replies++
	text, err := x.shape.show(reply)
	if err != nil {
		return fmt.Errorf("the reply cannot be shown: %w", err)
	}
	switch x.p.Settings.Output {
	case "table", "wide":
		text, err = shell.Encode(text, alone)
	case "json", "name":
		text, err = shell.Encode(text, false)
	default:
		return x.p.WriteValue(text, alone)
	}
	if err != nil {
		return fmt.Errorf("the reply is no JSON: %w", err)
	}
	_, err = x.p.Out.Write(text)
	return err
}

// tell writes what -v and --meta ask for.
func (x *call) tell(err error) {
	took := time.Since(x.began)
	attempts, events := x.t.Trace.Take()
	if x.p.Settings.Verbose > 0 && !errors.Is(err, shell.ErrUsage) { // otherwise there was no call
		for n, a := range attempts {
			result := codeOf(a.Err)
			if a.Opened && a.Err == nil {
				result = "opened"
			}
			fmt.Fprintf(x.p.Log, "* attempt %d at %s by %s: %s in %v\n", n+1, shell.Dash(a.Server), shell.Dash(a.Wire), result, a.Took.Round(time.Microsecond))
		}
		if x.p.Settings.Verbose > 1 {
			for _, e := range events {
				fmt.Fprintf(x.p.Log, "* %s\n", e)
			}
		}
		outcome := ""
		if e, ok := errors.AsType[*weft.Error](err); ok {
			outcome = ", outcome " + e.Outcome.String()
			if e.Peer != "" {
				outcome += ", by " + e.Peer
			}
		}
		fmt.Fprintf(x.p.Log, "* %s: %s%s in %v, %s, %s\n", x.method, codeOf(err), outcome, took.Round(time.Microsecond),
			shell.Plural(len(attempts), "attempt"), shell.Plural(x.replies, "reply"))
		if e, ok := errors.AsType[*weft.Error](err); ok {
			for _, d := range e.Details {
				fmt.Fprintf(x.p.Log, "* detail %q: %s\n", d.Type, base64.StdEncoding.EncodeToString(d.Value))
			}
		}
	}
	if x.o.meta || x.p.Settings.Verbose > 0 {
		for _, key := range keys(x.meta) {
			for _, value := range x.meta.Values(key) {
				fmt.Fprintf(x.p.Log, "< %s: %q\n", key, value)
			}
		}
	}
}

func keys(m weft.Metadata) []string {
	var all []string
	for key := range m.All() {
		if !slices.Contains(all, key) {
			all = append(all, key)
		}
	}
	return all
}

// codeOf is the name of the code of an error, "OK" for none.
func codeOf(err error) string {
	if err == nil {
		return "OK"
	}
	return weft.CodeOf(err).String()
}
