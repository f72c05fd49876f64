// Command pigeon makes the made-up framework pigeon a peer of the comparison.
package main

import (
	"context"
	"fmt"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/msg"
	"github.com/weftrpc/weft/bench/peers/example/pigeon"
)

func main() { harness.Main(peer{}) }

type peer struct{}

func (peer) Name() string { return "pigeon" }

func (peer) Describe() contract.Description {
	return contract.Description{Language: "Go", Version: "pigeon " + pigeon.Version, Settings: "a connection for each caller"}
}

// Supports what carries bytes can carry: protobuf through msg.Exchange, and no sums.
func (peer) Supports(codec msg.Codec, method msg.Method) error {
	if codec != msg.Google || method == msg.Add {
		return fmt.Errorf("pigeon does not carry %s with %s", method.Name(), codec)
	}
	return nil
}

func (peer) Serve(ctx context.Context, cfg harness.ServeConfig) error {
	respond, err := cfg.Service.Responder(cfg.Codec)
	if err != nil {
		return err
	}
	server, err := pigeon.Listen(cfg.Addr)
	if err != nil {
		return err
	}
	for _, m := range msg.Methods() {
		server.Handle(m.Name(), func(request []byte) ([]byte, error) { return respond(nil, m, request) })
	}
	cfg.Ready(server.Addr())
	<-ctx.Done()
	return server.Close()
}

func (peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
	c := &client{codec: cfg.Codec}
	for range cfg.Callers {
		conn, err := pigeon.Dial(ctx, cfg.Addr)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

type client struct {
	codec msg.Codec
	conns []*pigeon.Conn
}

func (c *client) Conns() int { return len(c.conns) }

func (c *client) Close() error {
	for _, conn := range c.conns {
		conn.Close()
	}
	return nil
}

func (c *client) Caller(i int) (harness.Caller, error) {
	exchange, err := msg.NewExchange(c.codec)
	return &caller{c.conns[i], exchange}, err
}

type caller struct {
	conn     *pigeon.Conn
	exchange msg.Exchange
}

// Call sends the message and checks the reply.
func (c *caller) Call(m msg.Method) error {
	request, err := c.exchange.AppendRequest(nil)
	if err != nil {
		return err
	}
	reply, err := c.conn.Call(m.Name(), request)
	if err != nil {
		return err
	}
	return c.exchange.Accept(m, reply)
}
