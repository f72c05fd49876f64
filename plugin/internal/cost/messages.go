package main

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/protovalidate"
	"github.com/weftrpc/weft/plugin/protovalidate/shop"
	"github.com/weftrpc/weft/plugin/validate"
)

// messages are the plugins that check messages.
func messages() ([]setup, error) {
	rules, err := protovalidate.New(&protovalidate.Config{Messages: []proto.Message{&shop.Order{}}})
	if err != nil {
		return nil, err
	}
	checked := []weft.Plugin{rules}
	return []setup{
		{name: "validate, of a message without the method", server: []weft.Plugin{validate.Plugin()}},
		{name: "no plugin, a message of Protocol Buffers without rules", bare: true, caller: show},
		{name: "protovalidate", server: checked, caller: show},
		{name: "no plugin, a message with six rules", bare: true, caller: buy},
		{name: "protovalidate", server: checked, caller: buy},
	}, nil
}

// show makes a caller with a message that has no rules.
func show(c *weft.Client, _ int) func(context.Context) error {
	req, reply := &shop.Receipt{Number: "4711"}, &shop.Receipt{}
	return func(ctx context.Context) error { return c.Call(ctx, "Cost.Show", req, reply) }
}

// buy makes a caller with a message that has rules, and breaks none.
func buy(c *weft.Client, _ int) func(context.Context) error {
	req, reply := &shop.Order{Email: "ada@example.org", Discount: 5, Notes: map[string]string{"gift": "yes"},
		Items: []*shop.Item{{Sku: "AB1234", Count: 1}, {Sku: "CD5678", Count: 2}}}, &shop.Receipt{}
	return func(ctx context.Context) error { return c.Call(ctx, "Cost.Buy", req, reply) }
}
