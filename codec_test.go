package weft_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gencode"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/raw"
)

// Pair is a message with the methods that gencode's generator writes.
type Pair struct{ A, B int64 }

func (p *Pair) Size() uint64 { return 16 }

func (p *Pair) Marshal(buf []byte) ([]byte, error) {
	buf = binary.LittleEndian.AppendUint64(buf[:0], uint64(p.A))
	return binary.LittleEndian.AppendUint64(buf, uint64(p.B)), nil
}

func (p *Pair) Unmarshal(buf []byte) (uint64, error) {
	if len(buf) < 16 {
		return 0, errors.New("too short")
	}
	p.A, p.B = int64(binary.LittleEndian.Uint64(buf)), int64(binary.LittleEndian.Uint64(buf[8:]))
	return 16, nil
}

// Every codec carries calls and streams, both ways.
func TestEveryCodec(t *testing.T) {
	w := start(t, &weft.ServerConfig{
		Codecs: append(weft.DefaultCodecs(), gob.New()),
	}, func(s *weft.Server) error {
		swap := func(_ context.Context, p *Pair) (*Pair, error) { return &Pair{p.B, p.A}, nil }
		return errors.Join(streams(s), echo(s), weft.Handle(s, "Pair.Swap", swap),
			weft.HandleStream(s, "Pair.Swaps", func(ctx context.Context, st *weft.Stream[Pair, Pair]) error {
				for p, err := range st.All() {
					if err != nil {
						return err
					}
					q, _ := swap(ctx, p)
					if err := st.Send(q); err != nil {
						return err
					}
				}
				return nil
			}))
	})
	for _, c := range []codec.Codec{msgpack.New(), json.New(), gob.New(), gencode.New()} {
		t.Run(c.Name(), func(t *testing.T) {
			ctx := t.Context()
			for name, try := range map[string]struct {
				client *weft.Client
				opts   []weft.CallOption
			}{
				"configured": {w.dial(&weft.ClientConfig{Codec: c}), nil},
				"by option":  {w.dial(nil), []weft.CallOption{weft.WithCodec(c)}},
			} {
				p, err := weft.Invoke[Pair](ctx, try.client, "Pair.Swap", &Pair{1, -2}, try.opts...)
				if err != nil || *p != (Pair{-2, 1}) {
					t.Errorf("%s: %v, %v", name, p, err)
				}
				s, err := weft.Subscribe[Pair](ctx, try.client, "Pair.Swaps", &Pair{3, 4}, try.opts...)
				must(t, err)
				if last, _ := lastOf(s); last == nil || *last != (Pair{4, 3}) {
					t.Errorf("%s: stream gave %v", name, last)
				}
			}
		})
	}
	c := w.dial(&weft.ClientConfig{Codec: raw.New()})
	var reply []byte
	if err := c.Call(t.Context(), "Raw.Echo", []byte("bytes"), &reply); err != nil || string(reply) != "bytes" {
		t.Errorf("raw: %q, %v", reply, err)
	}
}

// Protobuf messages choose their codec by themselves.
func TestProtobuf(t *testing.T) {
	ctx := t.Context()
	w := start(t, nil, func(s *weft.Server) error {
		return errors.Join(
			weft.Handle(s, "Proto.Add", func(_ context.Context, at *timestamppb.Timestamp) (*timestamppb.Timestamp, error) {
				return timestamppb.New(at.AsTime().Add(time.Hour)), nil
			}),
			weft.Handle(s, "Proto.Struct", func(_ context.Context, in *structpb.Struct) (*structpb.Struct, error) { return in, nil }),
			weft.HandleStream(s, "Proto.Sums", func(_ context.Context, st *weft.Stream[wrapperspb.Int64Value, wrapperspb.Int64Value]) error {
				sum := int64(0)
				for v, err := range st.All() {
					if err != nil {
						return err
					}
					sum += v.Value
					if err := st.Send(wrapperspb.Int64(sum)); err != nil {
						return err
					}
				}
				return nil
			}),
			s.RegisterName("Reflected", protoService{}))
	})
	var seen []string
	c := w.dial(&weft.ClientConfig{Interceptors: []weft.UnaryInterceptor{
		func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			seen = append(seen, info.Codec)
			return next(ctx, info, req)
		},
	}})
	at := timestamppb.New(time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC))
	later, err := weft.Invoke[timestamppb.Timestamp](ctx, c, "Proto.Add", at)
	if err != nil || !later.AsTime().Equal(at.AsTime().Add(time.Hour)) {
		t.Errorf("%v, %v", later, err)
	}
	in, err := structpb.NewStruct(map[string]any{"a": 1.5, "b": []any{true, nil, "x"}, "c": map[string]any{}})
	must(t, err)
	if out, err := weft.Invoke[structpb.Struct](ctx, c, "Proto.Struct", in); err != nil || !proto.Equal(in, out) {
		t.Errorf("%v, %v", out, err)
	}
	if d, err := weft.Invoke[durationpb.Duration](ctx, c, "Reflected.Double", durationpb.New(time.Second)); err != nil || d.AsDuration() != 2*time.Second {
		t.Errorf("%v, %v", d, err)
	}
	for _, name := range seen {
		if name != "protobuf" {
			t.Errorf("codecs %v", seen)
		}
	}
	s, err := weft.OpenStream[wrapperspb.Int64Value, wrapperspb.Int64Value](ctx, c, "Proto.Sums")
	must(t, err)
	for i := range int64(5) {
		must(t, s.Send(wrapperspb.Int64(i)))
	}
	must(t, s.CloseSend())
	if last, _ := lastOf(s); last.GetValue() != 10 {
		t.Errorf("stream: %v", last)
	}
}

type protoService struct{}

func (protoService) Double(_ context.Context, d *durationpb.Duration) (*durationpb.Duration, error) {
	return durationpb.New(2 * d.AsDuration()), nil
}

func TestCodecTheServerLacks(t *testing.T) {
	c := start(t, nil, nil).dial(nil)
	err := c.Call(t.Context(), "Arith.Mul", &Args{}, nil, weft.WithCodec(gob.New()))
	e := wantError(t, err, weft.Unimplemented, weft.Refused, `no codec "gob"`, "protobuf, msgpack, json, raw, gencode")
	if e.Reason != "NO_CODEC" {
		t.Errorf("reason %q", e.Reason)
	}
	multiply(t, c, weft.WithCodec(json.New()))
	multiply(t, c, weft.WithCodec(nil))
}

// textCodec is a codec of one's own: numbers in decimal.
type textCodec struct{ name string }

func (c textCodec) Name() string { return c.name }

func (textCodec) Append(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case *Args:
		return fmt.Appendf(dst, "%d %d", v.A, v.B), nil
	case *Product:
		return fmt.Appendf(dst, "%d", v.C), nil
	}
	return dst, fmt.Errorf("no text for a %T", v)
}

func (textCodec) Decode(b []byte, v any) (err error) {
	switch v := v.(type) {
	case *Args:
		_, err = fmt.Sscanf(string(b), "%d %d", &v.A, &v.B)
	case *Product:
		_, err = fmt.Sscanf(string(b), "%d", &v.C)
	default:
		panic("a codec that panics")
	}
	return err
}

func TestCustomCodec(t *testing.T) {
	own := textCodec{"text-1.0"}
	w := start(t, &weft.ServerConfig{Codecs: []codec.Codec{own}}, func(s *weft.Server) error {
		return errors.Join(s.Register(Arith{}), weft.Handle(s, "Text.Other", func(context.Context, *Pair) (*Pair, error) { return nil, nil }))
	})
	c := w.dial(&weft.ClientConfig{Codec: own})
	multiply(t, c)
	wantError(t, c.Call(t.Context(), "Arith.Mul", &Pair{}, nil), weft.InvalidArgument, weft.NotSent, "no text for a *weft_test.Pair")
	wantError(t, c.Call(t.Context(), "Text.Other", &Args{}, nil), weft.InvalidArgument, weft.Refused, "decode the request with codec text-1.0", "panic")
	wantError(t, c.Call(t.Context(), "Arith.Mul", &Args{}, new(Pair)), weft.Internal, weft.Executed, "decode the reply with codec text-1.0", "panic")
	multiply(t, c)
}

func TestCodecConfigErrors(t *testing.T) {
	many := make([]codec.Codec, 65)
	for i := range many {
		many[i] = textCodec{fmt.Sprint("text-", i)}
	}
	for _, tt := range []struct {
		codecs []codec.Codec
		want   string
	}{
		{[]codec.Codec{nil}, "codec 0 of the configuration is nil"},
		{[]codec.Codec{textCodec{"a,b"}}, `codec "a,b" of type weft_test.textCodec`},
		{[]codec.Codec{textCodec{""}}, `codec ""`},
		{[]codec.Codec{textCodec{strings.Repeat("x", 33)}}, "33 bytes"},
		{[]codec.Codec{textCodec{"x"}, textCodec{"x"}}, `two codecs have the name "x"`},
		{many, "65 codecs"},
	} {
		srv := weft.NewServer(&weft.ServerConfig{Codecs: tt.codecs})
		wantError(t, srv.Register(Arith{}), weft.InvalidArgument, 0, tt.want)
		_, err := weft.Dial(t.Context(), address, &weft.ClientConfig{Codecs: tt.codecs, Lazy: true})
		wantError(t, err, weft.InvalidArgument, 0, tt.want)
	}
	_, err := weft.Dial(t.Context(), address, &weft.ClientConfig{Codec: textCodec{"Bad"}, Lazy: true})
	wantError(t, err, weft.InvalidArgument, 0, "weft_test.textCodec")
	c := start(t, nil, nil).dial(nil)
	wantError(t, c.Call(t.Context(), "Arith.Mul", &Args{}, nil, weft.WithCodec(textCodec{"Bad"})), weft.InvalidArgument, weft.NotSent, "weft_test.textCodec")
	multiply(t, c)
}

// traced has the methods of a generated message, which know nothing of its own field.
type traced struct {
	*wrapperspb.StringValue
	Trace string
}

// A message that embeds a generated one loses none of its own fields: it is no message of Protocol Buffers.
func TestEmbeddedMessageKeepsFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, nil)
		must(t, weft.Handle(w.srv, "Echo.Traced", func(_ context.Context, req *traced) (*traced, error) { return req, nil }))
		reply, err := weft.Invoke[traced](t.Context(), w.dial(nil), "Echo.Traced", &traced{wrapperspb.String("x"), "t"})
		if err != nil || reply.Trace != "t" || reply.GetValue() != "x" {
			t.Errorf("got %+v, %v", reply, err)
		}
		_, err = weft.Invoke[traced](t.Context(), w.dial(&weft.ClientConfig{Codec: protobuf.New()}), "Echo.Traced", &traced{wrapperspb.String("x"), "t"})
		wantError(t, err, weft.InvalidArgument, weft.NotSent, "embeds a generated message", "Trace")
	})
}
