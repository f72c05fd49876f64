package doctest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/registry/memory"
)

// What the table of docs/guide/upgrading.md sends and reads.
type (
	ofInt32 struct {
		A int32
		S string
	}
	ofOne     struct{ A int32 }
	ofRenamed struct {
		B int32
		S string
	}
	ofOther struct{ B int32 }
	ofId    struct {
		Id int32
		S  string
	}
	ofID struct {
		ID int32
		S  string
	}
	ofIdAlone struct{ Id int32 }
	ofIDAlone struct{ ID int32 }
	ofInt64   struct{ A int64 }
	ofUint32  struct{ A uint32 }
	ofFloat64 struct{ A float64 }
	ofPointer struct{ A *int32 }
	ofString  struct{ A string }
	ofBytes   struct{ A []byte }
)

// TestUpgradingTable compares the table of docs/guide/upgrading.md with what the codecs do.
func TestUpgradingTable(t *testing.T) {
	small, large := wrapperspb.Int32(300), wrapperspb.Int64(5_000_000_000)
	all := []struct {
		change               string
		sent, read           any
		protoSent, protoRead proto.Message // nil: the same cannot be said with the messages at hand
	}{
		{"the reader has one more field", &ofOne{300}, new(ofInt32), wrapperspb.Int64(300), new(timestamppb.Timestamp)},
		{"the reader lacks a field", &ofInt32{300, "x"}, new(ofOne), &timestamppb.Timestamp{Seconds: 300, Nanos: 1}, new(wrapperspb.Int64Value)},
		{"the field has another name", &ofInt32{300, "x"}, new(ofRenamed), &timestamppb.Timestamp{Seconds: 300}, new(wrapperspb.Int64Value)},
		{"no field has the same name", &ofOne{300}, new(ofOther), &timestamppb.Timestamp{Seconds: 300}, new(wrapperspb.Int64Value)},
		{"the name differs in case alone, `Id` to `ID`", &ofId{300, "x"}, new(ofID), small, new(wrapperspb.Int32Value)},
		{"the same, and no other field has the same name", &ofIdAlone{300}, new(ofIDAlone), small, new(wrapperspb.Int32Value)},
		{"`int32` to `int64`", &ofOne{300}, new(ofInt64), small, new(wrapperspb.Int64Value)},
		{"`int64` to `int32`, the value fits", &ofInt64{300}, new(ofOne), wrapperspb.Int64(300), new(wrapperspb.Int32Value)},
		{"`int64` to `int32`, it does not fit", &ofInt64{5_000_000_000}, new(ofOne), large, new(wrapperspb.Int32Value)},
		{"`int32` to `uint32`", &ofOne{-1}, new(ofUint32), wrapperspb.Int32(-1), new(wrapperspb.UInt32Value)},
		{"`int32` to `float64`", &ofOne{300}, new(ofFloat64), nil, nil},
		{"`float64` to `int32`", &ofFloat64{1.5}, new(ofOne), nil, nil},
		{"`int32` to `*int32`", &ofOne{300}, new(ofPointer), small, new(wrapperspb.Int32Value)},
		{"`int32` to `string`", &ofOne{300}, new(ofString), nil, nil},
		{"`string` to `[]byte`", &ofString{"x"}, new(ofBytes), wrapperspb.String("x"), new(wrapperspb.BytesValue)},
	}
	table := rows(readDocument(t, "docs/guide/upgrading.md").section(t, "Changing a message"))
	if len(table) != len(all) {
		t.Fatalf("the table has %d rows, want %d", len(table), len(all))
	}
	for i, tt := range all {
		row := table[i]
		if row[0] != tt.change || row[1] != told(tt.sent) {
			t.Errorf("row %d is %q, sent %s; want %q, sent %s", i, row[0], row[1], tt.change, told(tt.sent))
			continue
		}
		for j, c := range []codec.Codec{msgpack.New(), json.New(), gob.New(), protobuf.New(), protobuf.New()} {
			sent, read := tt.sent, reflect.New(reflect.TypeOf(tt.read).Elem()).Interface()
			switch {
			case j == 3:
				sent, read = numbered(sent), numbered(read)
			case j == 4:
				if tt.protoSent == nil {
					continue // – in the table
				}
				sent, read = tt.protoSent, tt.protoRead
			}
			body, err := c.Append(nil, sent)
			must(t, err)
			got := "error"
			if c.Decode(body, read) == nil {
				got = told(read)
			}
			if i == 0 {
				got += ", the new field is zero"
			}
			if row[2+j] != got {
				t.Errorf("%s, %s: the reader gets %s, the table says %s", tt.change, c.Name(), got, row[2+j])
			}
		}
	}
}

// numbered is what v, a struct, is when its fields have the numbers 1, 2 and so on.
func numbered(v any) any {
	from := reflect.ValueOf(v).Elem()
	fields := reflect.VisibleFields(from.Type())
	for i := range fields {
		fields[i] = reflect.StructField{Name: fields[i].Name, Type: fields[i].Type, Tag: reflect.StructTag(fmt.Sprintf(`weft:"%d"`, i+1))}
	}
	to := reflect.New(reflect.StructOf(fields))
	for i := range fields {
		to.Elem().Field(i).Set(from.Field(i))
	}
	return to.Interface()
}

// told is the value of the field in question, as the table has it.
func told(v any) string {
	switch v := v.(type) {
	case *timestamppb.Timestamp:
		return fmt.Sprint(v.Seconds)
	case interface{ GetValue() int32 }:
		return fmt.Sprint(v.GetValue())
	case interface{ GetValue() int64 }:
		return fmt.Sprint(v.GetValue())
	case interface{ GetValue() uint32 }:
		return fmt.Sprint(v.GetValue())
	case interface{ GetValue() []byte }:
		return fmt.Sprintf("%q", v.GetValue())
	}
	field := reflect.Indirect(reflect.ValueOf(v).Elem().Field(0))
	if k := field.Kind(); k == reflect.String || k == reflect.Slice {
		return fmt.Sprintf("%q", field.Interface())
	}
	return fmt.Sprint(field.Interface())
}

// What a struct without numbers becomes.
type (
	ofNumber struct {
		A int32 `weft:"1"`
	}
	ofHash struct {
		A int32 `weft:"212268"`
	}
)

// TestUpgradingNumbers: numbers for a struct in use, at one end alone, have the effects that docs/guide/upgrading.md says.
func TestUpgradingNumbers(t *testing.T) {
	ctx := t.Context()
	srv := weft.NewServer(nil)
	must(t, weft.Handle(srv, "Of.None", func(_ context.Context, q *ofOne) (*ofOne, error) { return &ofOne{q.A + 1}, nil }))
	must(t, weft.Handle(srv, "Of.Number", func(_ context.Context, q *ofNumber) (*ofNumber, error) { return &ofNumber{q.A + 1}, nil }))
	must(t, weft.Handle(srv, "Of.Hash", func(_ context.Context, q *ofHash) (*ofHash, error) { return &ofHash{q.A + 1}, nil }))
	var got atomic.Int32 // by the handler of Of.Seen
	must(t, weft.Handle(srv, "Of.Seen", func(_ context.Context, q *ofOne) (*ofOne, error) { got.Store(q.A); return &ofOne{300}, nil }))
	c, err := weft.Dial(ctx, serve(t, srv), nil)
	must(t, err)
	defer c.Close()
	reply := new(ofNumber)
	if err := c.Call(ctx, "Of.Seen", &ofNumber{300}, reply); err != nil || got.Load() != 0 || reply.A != 0 {
		t.Errorf("numbers at the client alone: the handler got %d, the client %d, %v; want zeros", got.Load(), reply.A, err)
	}
	old, hash := new(ofOne), new(ofHash)
	if err := c.Call(ctx, "Of.Number", &ofOne{300}, old); err != nil || old.A != 301 {
		t.Errorf("numbers at the server alone: %d, %v", old.A, err)
	}
	if err := c.Call(ctx, "Of.None", &ofHash{300}, hash); err != nil || hash.A != 301 {
		t.Errorf("hashes at the client alone: %d, %v", hash.A, err)
	}
	for _, codec := range []codec.Codec{msgpack.New(), protobuf.New()} { // protobuf as clients of gRPC have it
		if err := c.Call(ctx, "Of.Hash", &ofOne{300}, old, weft.WithCodec(codec)); err != nil || old.A != 301 {
			t.Errorf("hashes at the server alone, %s: %d, %v", codec.Name(), old.A, err)
		}
	}
}

// TestUpgradingErrors: the code, outcome and reason of messages that cannot be read, and
// of a codec that is not there, are those of docs/guide/upgrading.md.
func TestUpgradingErrors(t *testing.T) {
	srv := weft.NewServer(nil)
	must(t, weft.Handle(srv, "Old.Get", func(context.Context, *ofOne) (*ofOne, error) { return &ofOne{1}, nil }))
	ctx := t.Context()
	c, err := weft.Dial(ctx, serve(t, srv), &weft.ClientConfig{Codec: json.New()})
	must(t, err)
	defer c.Close()
	for _, tt := range []struct {
		err     error
		code    weft.Code
		outcome weft.Outcome
		reason  string
	}{
		{c.Call(ctx, "Old.Get", &ofString{"x"}, nil), weft.InvalidArgument, weft.Refused, weft.ReasonDecode},
		{c.Call(ctx, "Old.Get", &ofOne{1}, new(ofString)), weft.Internal, weft.Executed, weft.ReasonDecode},
		{c.Call(ctx, "Old.Get", &ofOne{1}, nil, weft.WithCodec(gob.New())), weft.Unimplemented, weft.Refused, weft.ReasonNoCodec},
	} {
		e, ok := errors.AsType[*weft.Error](tt.err)
		if !ok || e.Code != tt.code || e.Outcome != tt.outcome || e.Reason != tt.reason {
			t.Errorf("%v, want %v (%v) [%s]", tt.err, tt.code, tt.outcome, tt.reason)
		}
	}
}

// TestUpgradingStreams runs the code of docs/guide/upgrading.md: a stream that watches Draining does not hold Shutdown up, and one
// that does not is cut.
func TestUpgradingStreams(t *testing.T) {
	ctx := t.Context()
	srv := weft.NewServer(nil)
	events := make(chan ofOne)
	must(t, weft.HandleServerStream(srv, "Events.Watch", func(ctx context.Context, _ *ofOne, out *weft.Sender[ofOne]) error {
		if err := out.Send(&ofOne{1}); err != nil {
			return err
		}
		for {
			select {
			case <-srv.Draining(): // closed when the server begins to shut down
				return weft.Errorf(weft.Unavailable, "the server is shutting down: open the stream again").WithReason(weft.ReasonDraining)
			case <-ctx.Done():
				return ctx.Err()
			case e := <-events:
				if err := out.Send(&e); err != nil {
					return err
				}
			}
		}
	}))
	must(t, weft.HandleServerStream(srv, "Events.Hold", func(ctx context.Context, _ *ofOne, out *weft.Sender[ofOne]) error {
		if err := out.Send(&ofOne{1}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}))
	c, err := weft.Dial(ctx, serve(t, srv), nil)
	must(t, err)
	defer c.Close()
	open := func(method string) *weft.Stream[ofOne, ofOne] {
		s, err := weft.Subscribe[ofOne](ctx, c, method, &ofOne{})
		must(t, err)
		_, err = s.Recv()
		must(t, err)
		return s
	}
	watching, holding := open("Events.Watch"), open("Events.Hold")
	waits, over := context.WithCancel(ctx)
	defer over()
	ended := make(chan error, 1)
	go func() { ended <- srv.Shutdown(waits) }() // it ends with its context
	for _, tt := range []struct {
		stream *weft.Stream[ofOne, ofOne]
		reason string
	}{{watching, weft.ReasonDraining}, {holding, weft.ReasonShutdown}} {
		_, err := tt.stream.Recv()
		e, ok := errors.AsType[*weft.Error](err)
		if !ok || e.Code != weft.Unavailable || e.Reason != tt.reason {
			t.Errorf("%v, want %v with the reason %s", err, weft.Unavailable, tt.reason)
		}
		if tt.stream == watching { // which ended while the server waits for the other one
			select {
			case err := <-ended:
				t.Errorf("the server did not wait for its stream: %v", err)
			default:
			}
			over()
		}
	}
	<-ended
}

// TestUpgradingAlias runs the code of docs/guide/upgrading.md.
func TestUpgradingAlias(t *testing.T) {
	check := func(err error) { t.Helper(); must(t, err) }
	reg, err := memory.New(nil)
	check(err)
	var seen atomic.Value
	srv := weft.NewServer(&weft.ServerConfig{Registry: reg, Interceptors: []weft.UnaryInterceptor{
		func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			seen.Store(info.Method)
			return next(ctx, info, req)
		}}})

	check(srv.Register(Arith{}))
	check(srv.Alias("Calculator.Multiply", "Arith.Mul")) // both names lead to the same handler

	serve(t, srv)
	waitForServer(t, reg)
	ctx := t.Context()
	c, err := cluster.New(&cluster.Config{Registry: reg})
	check(err)
	p, err := weft.Invoke[Product](ctx, c, "Calculator.Multiply", &Args{6, 7})
	if err != nil || p.C != 42 || seen.Load() != "Arith.Mul" {
		t.Errorf("%v, %v; the interceptor saw %v", p, err, seen.Load())
	}
	check(c.Close())
	check(srv.Shutdown(ctx))
	check(reg.Close())
	if s := srv.Stats().Methods; len(s) != 1 || s[0].Method != "Arith.Mul" {
		t.Errorf("the statistics are %v", s)
	}
}
