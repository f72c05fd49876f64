package oneport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/rpc"
	"net/rpc/jsonrpc"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc"
	weftjson "github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/door/netrpc"
)

// Message is the request and the reply of the one method, Test.Echo.
type Message struct {
	Text string
	N    int
}

// client is a connection of some wire.
type client interface {
	Echo(m *Message) (*Message, error)
	Close() error
}

// wire is a wire with a client: the stock one of the standard library where there is one.
type wire struct {
	name string
	peer string // Peer.Wire of its connections
	dial func(addr string, secure *tls.Config) (client, error)
}

// wires are all that can be spoken on the port. A new door adds its row here.
func wires() []wire {
	return []wire{
		{"weft", "weft", byWeft("tcp", nil)},
		{"net/rpc", "netrpc", byStandard(rpc.NewClient, "")},
		{"net/rpc over HTTP", "netrpc", byStandard(rpc.NewClient, rpc.DefaultRPCPath)},
		{"net/rpc, weft's wire", "netrpc", byWeft("netrpc", netrpc.Wire())},
		{"net/rpc over HTTP, weft's wire", "netrpc", byWeft("netrpc+http", netrpc.WireHTTP(""))},
		{"JSON-RPC 1.0", "jsonrpc", byStandard(jsonrpc.NewClient, "")},
		{"JSON-RPC 2.0", "jsonrpc", byWeft("jsonrpc", weftjson.Wire())},
		{"HTTP", "http", byHTTP("/Test/Echo", `%s`, "")},
		{"JSON-RPC over HTTP", "http", byHTTP("/rpc", `{"jsonrpc":"2.0","method":"Test.Echo","params":%s,"id":1}`, "result")},
		{"gRPC", "grpc", byWeft("grpc", grpc.Wire(nil))},
	}
}

// weftClient is one of weft, with a foreign wire or its own.
type weftClient struct{ *weft.Client }

func (c weftClient) Echo(m *Message) (*Message, error) {
	return weft.Invoke[Message](context.Background(), c, "Test.Echo", m, weft.WithTimeout(patience))
}

func byWeft(scheme string, w weft.Wire) func(string, *tls.Config) (client, error) {
	return func(addr string, secure *tls.Config) (client, error) {
		cfg := &weft.ClientConfig{TLS: secure, Logger: slog.New(slog.DiscardHandler), Limits: weft.Limits{HandshakeTimeout: patience}}
		if w != nil {
			cfg.Wires = []weft.Wire{w}
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c, err := weft.Dial(ctx, scheme+"://"+addr, cfg)
		if err != nil {
			return nil, err
		}
		return weftClient{c}, nil
	}
}

// connect makes a connection underneath.
func connect(addr string, secure *tls.Config) (net.Conn, error) {
	if secure == nil {
		return net.DialTimeout("tcp", addr, patience)
	}
	return tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", addr, secure)
}

// standard is a client of the standard library.
type standard struct{ *rpc.Client }

func (c standard) Echo(m *Message) (*Message, error) {
	back := new(Message)
	return back, c.Call("Test.Echo", m, back)
}

// byStandard dials as package net/rpc does, with the CONNECT of rpc.DialHTTPPath if there is a path.
func byStandard(of func(io.ReadWriteCloser) *rpc.Client, path string) func(string, *tls.Config) (client, error) {
	return func(addr string, secure *tls.Config) (client, error) {
		conn, err := connect(addr, secure)
		if err != nil {
			return nil, err
		}
		if path != "" {
			if _, err := io.WriteString(conn, "CONNECT "+path+" HTTP/1.0\n\n"); err != nil {
				return nil, err
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: "CONNECT"})
			if err != nil {
				return nil, err
			}
			if answer.Status != "200 Connected to Go RPC" {
				return nil, errors.New(answer.Status)
			}
		}
		return standard{of(conn)}, nil
	}
}

// browser is a client of HTTP on one connection.
type browser struct {
	path, body, member string
	conn               net.Conn
	in                 *bufio.Reader
}

func byHTTP(path, body, member string) func(string, *tls.Config) (client, error) {
	return func(addr string, secure *tls.Config) (client, error) {
		if secure != nil {
			secure = secure.Clone()
			secure.NextProtos = []string{"http/1.1"}
		}
		conn, err := connect(addr, secure)
		if err != nil {
			return nil, err
		}
		return &browser{path, body, member, conn, bufio.NewReader(conn)}, nil
	}
}

func (b *browser) Echo(m *Message) (*Message, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest("POST", "http://server"+b.path, bytes.NewReader([]byte(fmt.Sprintf(b.body, body))))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if err := req.Write(b.conn); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(b.in, req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %w", answer.Status, text, err)
	}
	if b.member != "" {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, err
		}
		text = all[b.member]
	}
	back := new(Message)
	return back, json.Unmarshal(text, back)
}

func (b *browser) Close() error { return b.conn.Close() }
