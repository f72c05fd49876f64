// Package httppeer is HTTP/1.1 with JSON as the standard library has it: net/http's server and
// client, encoding/json, and nothing else.
package httppeer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/idl/thrift/wire"
	"github.com/weftrpc/weft/bench/internal/listen"
	"github.com/weftrpc/weft/bench/internal/peer/netrpcpeer"
	"github.com/weftrpc/weft/bench/msg"
)

// Peer is net/http with JSON. The zero value is ready.
type Peer struct{}

// Name is "net-http".
func (Peer) Name() string { return "net-http" }

// Describe describes the peer.
func (p Peer) Describe() contract.Description {
	return contract.Description{
		Language: "Go",
		Version:  runtime.Version(),
		Settings: "net/http's client and server with encoding/json, HTTP/1.1, messages of plain fields, a connection for each caller",
		Client:   p.Name(), // it is measured beside weft's door alone
	}
}

// Supports JSON.
func (Peer) Supports(codec msg.Codec, _ msg.Method) error {
	if codec != msg.JSON {
		return fmt.Errorf("net-http has no codec %s", codec)
	}
	return nil
}

// path is the method's.
func path(m msg.Method) string {
	if m == msg.Add {
		return "/MathService/Add"
	}
	return "/Hello/" + m.String()
}

// Serve serves Hello and MathService.
func (Peer) Serve(ctx context.Context, cfg harness.ServeConfig) error {
	mux := http.NewServeMux()
	for _, m := range msg.Methods() {
		mux.HandleFunc("POST "+path(m), handle(func(message *wire.BenchmarkMessage) any {
			cfg.Service.AnswerPlain(m, message)
			return message
		}))
	}
	mux.HandleFunc("POST "+path(msg.Add), handle(func(n *netrpcpeer.Numbers) any { return n.A + n.B }))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	return listen.Until(ctx, cfg.Addr, cfg.Ready, server.Serve, func() { server.Close() })
}

// handle is one method's handler.
func handle[M any](answer func(*M) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 2*msg.LargeSize))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		message := new(M)
		if err := json.Unmarshal(body, message); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		reply, err := json.Marshal(answer(message))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(reply) // a client that has gone needs no reply
	}
}

// Dial makes the transport, which connects when it is first used: a call of each caller is made.
func (Peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
	c := &client{addr: cfg.Addr, callers: cfg.Callers, transport: &http.Transport{
		MaxIdleConnsPerHost: cfg.Callers,
		DisableCompression:  true,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	}}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c, nil
}

type client struct {
	ctx       context.Context // of all calls
	end       context.CancelFunc
	addr      string
	callers   int
	transport *http.Transport
}

// Conns is one for each caller.
func (c *client) Conns() int { return c.callers }

// Close ends all connections.
func (c *client) Close() error {
	c.end()
	c.transport.CloseIdleConnections()
	return nil
}

// Caller makes a caller.
func (c *client) Caller(int) (harness.Caller, error) {
	return &caller{client: c, http: http.Client{Transport: c.transport}, request: sync.OnceValue(msg.NewPlain)}, nil
}

type caller struct {
	client  *client
	http    http.Client
	request func() *wire.BenchmarkMessage // made at the first use: sums have none
	reply   wire.BenchmarkMessage
	numbers msg.Numbers
}

// Call calls one method.
func (c *caller) Call(m msg.Method) error {
	if m == msg.Add {
		a, b := c.numbers.Next()
		var sum int32
		if err := c.post(m, netrpcpeer.Numbers{A: a, B: b}, &sum); err != nil {
			return err
		}
		return msg.CheckSum(a, b, sum)
	}
	if err := c.post(m, c.request(), &c.reply); err != nil {
		return err
	}
	return msg.CheckPlain(m, &c.reply)
}

// post makes a request.
func (c *caller) post(m msg.Method, message, reply any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(c.client.ctx, http.MethodPost, "http://"+c.client.addr+path(m), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %.200s", resp.Status, body)
	}
	return json.Unmarshal(body, reply)
}
