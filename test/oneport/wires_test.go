package oneport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/rpc"
	"net/rpc/jsonrpc"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/grpc"
	wefthttp "github.com/weftrpc/weft/door/http"
	weftjson "github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/door/thrift"
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
	h2   bool   // with TLS it prefers HTTP/2, which is that of the door of gRPC
	dial func(addr string, secure *tls.Config) (client, error)
}

// wires are all that can be spoken on the port. A new door adds its row here.
func wires() []wire {
	return []wire{
		{name: "weft", peer: "weft", dial: byWeft("tcp", nil)},
		{name: "net/rpc", peer: "netrpc", dial: byStandard(rpc.NewClient, "")},
		{name: "net/rpc over HTTP", peer: "netrpc", dial: byStandard(rpc.NewClient, rpc.DefaultRPCPath)},
		{name: "net/rpc, weft's wire", peer: "netrpc", dial: byWeft("netrpc", netrpc.Wire())},
		{name: "net/rpc over HTTP, weft's wire", peer: "netrpc", dial: byWeft("netrpc+http", netrpc.WireHTTP(""))},
		{name: "JSON-RPC 1.0", peer: "jsonrpc", dial: byStandard(jsonrpc.NewClient, "")},
		{name: "JSON-RPC 2.0", peer: "jsonrpc", dial: byWeft("jsonrpc", weftjson.Wire())},
		{name: "HTTP", peer: "http", dial: byHTTP(browser{path: "/Test/Echo", body: "%s", kind: "application/json"})},
		{name: "HTTP, without ALPN", peer: "http", dial: byHTTP(browser{path: "/Test/Echo", body: "%s", kind: "application/json", sniffed: true})},
		{name: "HTTP/2, without ALPN", peer: "grpc", dial: byHTTP2},
		{name: "JSON-RPC over HTTP", peer: "http", dial: byHTTP(browser{path: "/rpc", body: `{"jsonrpc":"2.0","method":"Test.Echo","params":%s,"id":1}`, member: "result", kind: "application/json"})},
		{name: "JSON-RPC over HTTP, weft's wire", peer: "http", h2: true, dial: byWeft("jsonrpc+http", weftjson.WireHTTP(&weftjson.HTTPConfig{Path: "/rpc"}))},
		{name: "rpcx's gateway", peer: "http", dial: byHTTP(browser{path: "/Test", body: "%s", kind: "application/json", header: []string{"X-RPCX-ServiceMethod", "Echo", "X-RPCX-SerializeType", "1"}})},
		{name: "HTTP, weft's wire", peer: "http", h2: true, dial: byWeft("http", wefthttp.Wire(nil))},
		{name: "JSON-RPC over WebSocket", peer: "http", dial: byWeft("jsonrpc+ws", weftjson.WebSocketWire("/rpc"))},
		{name: "WebSocket", peer: "http", dial: byWebSocket},
		{name: "gRPC", peer: "grpc", dial: byWeft("grpc", grpc.Wire(nil))},
		{name: "gRPC-Web", peer: "http", dial: byHTTP(browser{path: "/Test/Echo", body: "%s", kind: "application/grpc-web+json"})},
		{name: "gRPC-Web, text", peer: "http", dial: byHTTP(browser{path: "/Test/Echo", body: "%s", kind: "application/grpc-web-text+json"})},
		{name: "Connect", peer: "http", h2: true, dial: byWeft("connect+http", connect.Wire(nil))},
		{name: "Connect, HTTP/2", peer: "grpc", dial: byWeft("connect+http", connect.Wire(&connect.WireConfig{HTTP2: true}))},
		{name: "rpcx", peer: "rpcx", dial: byWeft("rpcx", rpcx.Wire(nil))},
		{name: "rpcx over HTTP", peer: "rpcx", dial: byWeft("rpcx+http", rpcx.WireHTTP(nil))},
		{name: "Thrift, framed binary", peer: "thrift", dial: byWeft("thrift", thrift.Wire(&thrift.WireConfig{Multiplexed: true}))},
		{name: "Thrift, binary without frames", peer: "thrift", dial: byWeft("thrift", thrift.Wire(&thrift.WireConfig{Multiplexed: true, Framing: thrift.Unframed}))},
		{name: "Thrift, binary that is not strict", peer: "thrift", dial: byLoose(false)},
		{name: "Thrift, framed binary that is not strict", peer: "thrift", dial: byLoose(true)},
		{name: "Thrift, compact with frames", peer: "thrift", dial: byWeft("thrift", thrift.Wire(&thrift.WireConfig{Multiplexed: true, Protocol: thrift.Compact}))},
		{name: "Thrift, compact without frames", peer: "thrift", dial: byWeft("thrift", thrift.Wire(&thrift.WireConfig{Multiplexed: true, Protocol: thrift.Compact, Framing: thrift.Unframed}))},
		{name: "Thrift, THeader", peer: "thrift", dial: byWeft("thrift", thrift.Wire(&thrift.WireConfig{Multiplexed: true, Framing: thrift.THeader}))},
		{name: "Thrift, THeader and compact", peer: "thrift", dial: byWeft("thrift", thrift.Wire(&thrift.WireConfig{Multiplexed: true, Protocol: thrift.Compact, Framing: thrift.THeader}))},
		{name: "Thrift, JSON with frames", peer: "thrift", dial: byWeft("thrift", thrift.Wire(&thrift.WireConfig{Multiplexed: true, Protocol: thrift.JSON}))},
		{name: "Thrift, JSON without frames", peer: "thrift", dial: byWeft("thrift", thrift.Wire(&thrift.WireConfig{Multiplexed: true, Protocol: thrift.JSON, Framing: thrift.Unframed}))},
		{name: "Thrift over HTTP", peer: "http", h2: true, dial: byWeft("thrift+http", thrift.WireHTTP(&thrift.HTTPConfig{Multiplexed: true, Path: "/thrift"}))},
	}
}

// weftClient is one of weft, with a foreign wire or its own.
type weftClient struct{ *weft.Client }

func (c weftClient) Echo(m *Message) (*Message, error) {
	return weft.Invoke[Message](context.Background(), c, "Test.Echo", m, weft.WithTimeout(patience))
}

func byWeft(scheme string, w weft.Wire) func(string, *tls.Config) (client, error) {
	return func(addr string, secure *tls.Config) (client, error) {
		cfg := &weft.ClientConfig{TLS: secure, Logger: slog.New(slog.DiscardHandler), Limits: limits()}
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

// underneath makes a connection underneath.
func underneath(addr string, secure *tls.Config) (net.Conn, error) {
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
		conn, err := underneath(addr, secure)
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

// browser is a client of HTTP/1.1 on one connection.
type browser struct {
	path, body string // in body "%s" is the message
	member     string // of the answer that is the message; "": all of it
	kind       string // the Content-Type; of gRPC-Web, messages have envelopes
	header     []string
	sniffed    bool // with TLS there is no ALPN
	conn       net.Conn
	in         *bufio.Reader
}

// web makes a connection underneath for HTTP/1.1.
func web(addr string, secure *tls.Config) (net.Conn, error) {
	if secure != nil {
		secure = secure.Clone()
		secure.NextProtos = []string{"http/1.1"}
	}
	return underneath(addr, secure)
}

func byHTTP(b browser) func(string, *tls.Config) (client, error) {
	return func(addr string, secure *tls.Config) (client, error) {
		dial := web
		if b.sniffed {
			dial = underneath
		}
		conn, err := dial(addr, secure)
		if err != nil {
			return nil, err
		}
		b := b
		b.conn, b.in = conn, bufio.NewReader(conn)
		return &b, nil
	}
}

func (b *browser) Echo(m *Message) (*Message, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	body = fmt.Appendf(nil, b.body, body)
	enveloped, armored := strings.HasPrefix(b.kind, "application/grpc-web"), strings.HasPrefix(b.kind, "application/grpc-web-text")
	if enveloped {
		body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	}
	if armored {
		body = base64.StdEncoding.AppendEncode(nil, body)
	}
	req, err := http.NewRequest("POST", "http://server"+b.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", b.kind)
	for i := 0; i < len(b.header); i += 2 {
		req.Header.Set(b.header[i], b.header[i+1])
	}
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
	if armored {
		if text, err = base64.StdEncoding.AppendDecode(nil, text); err != nil {
			return nil, err
		}
	}
	if enveloped {
		if len(text) < 5 || text[0] != 0 || uint64(len(text)-5) < uint64(binary.BigEndian.Uint32(text[1:])) {
			return nil, fmt.Errorf("%.20q begins with no message", text)
		}
		text = text[5 : 5+binary.BigEndian.Uint32(text[1:])]
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

// multiplexed is a client of HTTP/2.
type multiplexed struct {
	http.Client
	url string
}

// byHTTP2 begins with HTTP/2 at once, also inside TLS.
func byHTTP2(addr string, secure *tls.Config) (client, error) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	dial := func(context.Context, string, string) (net.Conn, error) { return underneath(addr, secure) }
	return &multiplexed{http.Client{Transport: &http.Transport{Protocols: &protocols, DialContext: dial}, Timeout: patience}, "http://" + addr + "/Test/Echo"}, nil
}

func (c *multiplexed) Echo(m *Message) (*Message, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	answer, err := c.Post(c.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
		return nil, errors.New(answer.Proto + " " + answer.Status)
	}
	back := new(Message)
	return back, json.NewDecoder(answer.Body).Decode(back)
}

func (c *multiplexed) Close() error {
	c.CloseIdleConnections()
	return nil
}

// talk is a stream by WebSocket.
type talk struct{ conn *websocket.Conn }

// byWebSocket opens the stream Test.Talk by the library github.com/coder/websocket.
func byWebSocket(addr string, secure *tls.Config) (client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dial := func(context.Context, string, string) (net.Conn, error) { return web(addr, secure) }
	c, _, err := websocket.Dial(ctx, "ws://"+addr+"/Test/Talk", &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dial}}})
	if err != nil {
		return nil, err
	}
	c.SetReadLimit(-1)
	return talk{c}, nil
}

func (t talk) Echo(m *Message) (*Message, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if err := t.conn.Write(ctx, websocket.MessageText, body); err != nil {
		return nil, err
	}
	_, text, err := t.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	var of struct{ Result *Message }
	if err := json.Unmarshal(text, &of); err != nil || of.Result == nil {
		return nil, fmt.Errorf("%.100s: %w", text, err)
	}
	return of.Result, nil
}

func (t talk) Close() error { return t.conn.CloseNow() }

// loose is a client of Thrift's binary protocol that is not strict, which no wire of weft speaks.
type loose struct {
	conn   net.Conn
	in     *bufio.Reader
	framed bool
	seq    uint32
}

func byLoose(framed bool) func(string, *tls.Config) (client, error) {
	return func(addr string, secure *tls.Config) (client, error) {
		conn, err := underneath(addr, secure)
		if err != nil {
			return nil, err
		}
		return &loose{conn: conn, in: bufio.NewReader(conn), framed: framed}, nil
	}
}

// The types of Thrift's binary protocol that the message has.
const (
	thriftI64    = 10
	thriftString = 11
)

func (l *loose) Echo(m *Message) (*Message, error) {
	const name, call, reply = "Test:Echo", 1, 2
	l.seq++
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(name))), name...)
	b = binary.BigEndian.AppendUint32(append(b, call), l.seq)
	b = append(b, thriftString, 0, 1)
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(m.Text))), m.Text...)
	b = append(b, thriftI64, 0, 2)
	b = append(binary.BigEndian.AppendUint64(b, uint64(m.N)), 0)
	if l.framed {
		b = append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
	}
	if err := l.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := l.conn.Write(b); err != nil {
		return nil, err
	}
	var err error
	read := func(n uint32) []byte { // zeros behind an error
		p := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(l.in, p)
		}
		return p
	}
	number := func() uint32 { return binary.BigEndian.Uint32(read(4)) }
	if l.framed {
		number()
	}
	read(number()) // the name
	if kind, seq := read(1)[0], number(); err != nil || kind != reply || seq != l.seq {
		return nil, fmt.Errorf("a message of the kind %d with the number %d, want %d and %d: %w", kind, seq, reply, l.seq, err)
	}
	read(3) // the field 0 of the result, a struct
	back := new(Message)
	for kind := read(1)[0]; kind != 0; kind = read(1)[0] {
		switch read(2); kind {
		case thriftString:
			back.Text = string(read(number()))
		case thriftI64:
			back.N = int(binary.BigEndian.Uint64(read(8)))
		default:
			return nil, fmt.Errorf("a field of the type %d", kind)
		}
	}
	read(1) // the end of the result
	return back, err
}

func (l *loose) Close() error { return l.conn.Close() }
