// Command server is a weft server whose schema is checked by the tools of other languages. It writes the schema, as
// weft.Admin gives it, in all formats to the folder that is its argument, prints its address, and ends with its standard
// input.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/types/known/apipb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/export"
)

type (
	// Order has fields of all kinds.
	Order struct {
		ID      int64               `json:"id" doc:"the number"`
		Lines   []*Line             `json:"lines"`
		By      map[string]Line     `json:"by,omitempty"`
		Counts  map[int32]uint64    `json:"counts"`
		At      time.Time           `json:"at"`
		Took    time.Duration       `json:"took"`
		Limit   *uint32             `json:"limit"`
		Blob    []byte              `json:"blob"`
		Ratio   float64             `json:"ratio"`
		Small   int8                `json:"small"`
		Flag    bool                `json:"flag,string"`
		Level   Level               `json:"level"`
		Odd     string              `json:"sizes-of-it"`
		Class   string              `json:"class"`
		Next    *Order              `json:"next"`
		Place   struct{ X, Y int }  `json:"place"`
		Loose   any                 `json:"loose"`
		Grid    [2]float64          `json:"grid"`
		Code    [3]byte             `json:"code"`
		Addr    netip.Addr          `json:"addr"`
		Whole   *big.Int            `json:"whole"`
		Price   *Price              `json:"price"`
		Nested  [][]string          `json:"nested" weft:"-"`
		Decimal map[string][]string `json:"decimal" weft:"-"`
	}
	// Line has numbers.
	Line struct {
		Article string `weft:"1" json:"article"`
		Pieces  int32  `weft:"2,zigzag" json:"pieces"`
		Price   uint64 `weft:"5,fixed" json:"price"`
	}
	// Price travels as bytes where it is not JSON.
	Price struct {
		Cents uint64 `json:"cents"`
	}
	// Level is a text in JSON and a number elsewhere.
	Level int
)

// MarshalText implements encoding.TextMarshaler.
func (l Level) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "level %d", int(l)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Level) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "level %d", (*int)(l))
	return err
}

// MarshalWeft implements codec.Marshaler.
func (p Price) MarshalWeft(dst []byte) ([]byte, error) {
	return binary.AppendUvarint(dst, p.Cents), nil
}

// UnmarshalWeft implements codec.Unmarshaler.
func (p *Price) UnmarshalWeft(b []byte) error {
	n := 0
	if p.Cents, n = binary.Uvarint(b); n != len(b) {
		return errors.New("a price is one varint")
	}
	return nil
}

// full is an order with a value in each field, empty one with none.
func full() *Order {
	limit := uint32(7)
	return &Order{
		ID: 1 << 40, Lines: []*Line{{"a", -3, 9}}, By: map[string]Line{"k": {Article: "b"}}, Counts: map[int32]uint64{-1: 5}, At: time.Unix(1_700_000_000, 5).UTC(),
		Took: 1500 * time.Millisecond, Limit: &limit, Blob: []byte("\xff\x00"), Ratio: 0.5, Small: -8, Flag: true, Level: 3, Odd: "o", Class: "c", Next: &Order{ID: 2},
		Place: struct{ X, Y int }{1, -2}, Loose: map[string]any{"a": []any{1.5, nil}}, Grid: [2]float64{0, -1}, Code: [3]byte{1, 2, 3},
		Addr: netip.MustParseAddr("10.0.0.1"), Whole: big.NewInt(-12), Price: &Price{500}, Nested: [][]string{{"n"}, nil}, Decimal: map[string][]string{"d": nil},
	}
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	srv := weft.NewServer(&weft.ServerConfig{Logger: slog.New(slog.DiscardHandler), Doors: []weft.Door{http.Door(nil)}})
	defer srv.Close()
	err := errors.Join(
		weft.Handle(srv, "Shop.Full", func(context.Context, *struct{}) (*Order, error) { return full(), nil }, weft.Idempotent()),
		weft.Handle(srv, "Shop.Empty", func(context.Context, *struct{}) (*Order, error) { return new(Order), nil }),
		weft.Handle(srv, "Shop.Echo", func(_ context.Context, o *Order) (*Order, error) { return o, nil }, weft.Doc("Echo returns the order.")),
		weft.HandleServerStream(srv, "Shop.Many", func(context.Context, *Line, *weft.Sender[Order]) error { return nil }),
		weft.HandleClientStream(srv, "Shop.Add", func(context.Context, *weft.Receiver[Line]) (*Line, error) { return new(Line), nil }),
		weft.Handle(srv, "stock.Apis.Echo", func(_ context.Context, a *apipb.Api) (*apipb.Api, error) { return a, nil }),
		admin.Register(srv, nil),
	)
	if err != nil {
		return err
	}
	l, err := srv.Listen(context.Background(), "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	// It ends with Close of the server.
	go srv.Serve(l)
	if err := write(folder, "tcp://"+l.Addr().String()); err != nil {
		return err
	}
	fmt.Println(l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// write asks the server for its schema, and writes that, and an order in Protocol Buffers.
func write(folder, address string) error {
	ctx := context.Background()
	c, err := weft.Dial(ctx, address, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	d, err := admin.NewClient(c, nil).Describe(ctx, &admin.DescribeRequest{Model: true})
	if err != nil {
		return err
	}
	all, err := schema.Decode([]byte(d.Model))
	if err != nil {
		return err
	}
	body, err := protobuf.New().Append(nil, full())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "order.bin"), body, 0o600); err != nil {
		return err
	}
	for _, service := range []string{"Shop", "stock.Apis"} {
		m, err := all.Select(service)
		if err != nil {
			return err
		}
		for _, format := range export.Formats() {
			out, err := export.Write(m, format, schema.Info{Title: "Compat", Version: "1"})
			if err != nil {
				return err
			}
			for _, f := range out.Files {
				at := filepath.Join(folder, service, filepath.FromSlash(f.Name))
				if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
					return err
				}
				if err := os.WriteFile(at, f.Content, 0o600); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
