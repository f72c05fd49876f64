// Command codecs sends one order in every codec, one of its own among them, and a
// long one through every compressor, and prints how many bytes that takes.
//
// The codec cbor is not here: it brings a dependency and is a module of its own.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gencode"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/compress/lz4"
	"github.com/weftrpc/weft/compress/snappy"
	"github.com/weftrpc/weft/compress/zstd"
	"github.com/weftrpc/weft/examples/codecs/internal/orderpb"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/tcp"
)

// echo answers with what it got.
func echo[T any](_ context.Context, v *T) (*T, error) { return v, nil }

func echoRaw(_ context.Context, req, buf []byte) ([]byte, error) { return append(buf, req...), nil }

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	compressors := []compress.Compressor{snappy.New(), lz4.New(), zstd.New(), gzip.New()}
	srv := weft.NewServer(&weft.ServerConfig{
		// Codecs that are not among the defaults must be offered by the server.
		Codecs:      []codec.Codec{json.New(), msgpack.New(), gob.New(), gencode.New(), protobuf.New(), raw.New(), xmlCodec{}},
		Compressors: compressors,
	})
	for _, err := range []error{
		weft.Handle(srv, "Orders.Echo", echo[Order]),
		weft.Handle(srv, "Orders.EchoProto", echo[orderpb.Order]),
		weft.HandleRaw(srv, "Orders.EchoRaw", echoRaw),
	} {
		if err != nil {
			return err
		}
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	// This goroutine ends with Close.
	go srv.Serve(l)
	defer srv.Close()

	w := &wire{Transport: tcp.New(nil)}
	c, err := weft.Dial(ctx, l.Addr().String(), &weft.ClientConfig{Transports: []transport.Transport{w}})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := allCodecs(ctx, c, w); err != nil {
		return err
	}
	return allCompressors(ctx, c, w, compressors)
}

func allCodecs(ctx context.Context, c *weft.Client, w *wire) error {
	order := newOrder(3)
	text, err := json.New().Append(nil, order)
	if err != nil {
		return err
	}
	fmt.Println("an order of 3 items   body   on the wire")
	for _, e := range []struct {
		codec       codec.Codec
		method      string
		args, reply any
	}{
		{xmlCodec{}, "Orders.Echo", order, new(Order)},
		{json.New(), "Orders.Echo", order, new(Order)},
		{gob.New(), "Orders.Echo", order, new(Order)},
		{msgpack.New(), "Orders.Echo", order, new(Order)},
		{gencode.New(), "Orders.Echo", order, new(Order)},
		{protobuf.New(), "Orders.EchoProto", order.proto(), new(orderpb.Order)},
		{raw.New(), "Orders.EchoRaw", &text, new([]byte)},
	} {
		sent, err := send(ctx, c, w, e.method, e.args, e.reply, weft.WithCodec(e.codec))
		if err != nil {
			return fmt.Errorf("%s: %w", e.codec.Name(), err)
		}
		body, err := e.codec.Append(nil, e.args)
		if err != nil {
			return err
		}
		if again, err := e.codec.Append(nil, e.reply); err != nil || string(again) != string(body) {
			return fmt.Errorf("%s: the order came back changed (%v)", e.codec.Name(), err)
		}
		fmt.Printf("%-20s %5d %13d\n", e.codec.Name(), len(body), sent)
	}
	return nil
}

func allCompressors(ctx context.Context, c *weft.Client, w *wire, all []compress.Compressor) error {
	order := newOrder(500)
	fmt.Println("\nan order of 500 items, in json")
	for _, comp := range append([]compress.Compressor{nil}, all...) {
		sent, err := send(ctx, c, w, "Orders.Echo", order, new(Order), weft.WithCodec(json.New()), weft.WithCompressor(comp))
		if err != nil {
			return err
		}
		name := "not compressed"
		if comp != nil {
			name = comp.Name()
		}
		fmt.Printf("%-20s %5s %13d\n", name, "", sent)
	}
	return nil
}
