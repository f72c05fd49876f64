package jsonrpc_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/internal/polltest"
)

// patience is how long what must happen may take.
const patience = time.Minute

// socket is a stock client of WebSocket.
type socket struct {
	*websocket.Conn
	t   *testing.T
	ctx context.Context
}

// dialSocket opens a WebSocket; headers are names and values in turn.
func dialSocket(t *testing.T, addr string, o *websocket.DialOptions, headers ...string) *socket {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	if o == nil {
		o = &websocket.DialOptions{}
	}
	o.HTTPHeader = make(nethttp.Header)
	for i := 0; i < len(headers); i += 2 {
		o.HTTPHeader.Set(headers[i], headers[i+1])
	}
	o.HTTPClient = &nethttp.Client{Transport: &nethttp.Transport{}}
	c, _, err := websocket.Dial(ctx, "ws://"+addr+"/rpc", o)
	must(t, err)
	c.SetReadLimit(-1)
	t.Cleanup(func() {
		c.CloseNow()
		cancel()
	})
	return &socket{c, t, ctx}
}

// refused opens a WebSocket that the server refuses, and returns the status.
func refused(t *testing.T, addr string, headers ...string) int {
	t.Helper()
	r, err := nethttp.NewRequestWithContext(t.Context(), "GET", "http://"+addr+"/rpc", nil)
	must(t, err)
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
		r.Header.Set(name, value)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Body" {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(headers[i+1])), int64(len(headers[i+1]))
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	transport := &nethttp.Transport{}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(r)
	must(t, err)
	answer.Body.Close()
	return answer.StatusCode
}

func (s *socket) send(text string) {
	s.t.Helper()
	must(s.t, s.Write(s.ctx, websocket.MessageText, []byte(text)))
}

func (s *socket) receive() string {
	s.t.Helper()
	_, b, err := s.Read(s.ctx)
	must(s.t, err)
	return string(b)
}

// closed waits for the end, and returns its code.
func (s *socket) closed() websocket.StatusCode {
	s.t.Helper()
	_, b, err := s.Read(s.ctx)
	if err == nil {
		s.t.Fatalf("in place of the end came %s", b)
	}
	return websocket.CloseStatus(err)
}

// TestDoorWebSocket tries the handler by a client that sends each request as a message.
func TestDoorWebSocket(t *testing.T) {
	doortest.Run(t, doortest.Kit{
		Scheme: weft.WireHTTP,
		Door:   func() weft.Door { return http.Door(&http.Config{Handler: jsonrpc.Handler(nil)}) },
		Dial: func(conn net.Conn) (doortest.Client, error) {
			own := &nethttp.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
			c, _, err := websocket.Dial(t.Context(), "ws://localhost/rpc", &websocket.DialOptions{HTTPClient: &nethttp.Client{Transport: own}})
			if err != nil {
				conn.Close()
				return noClient{err}, nil // the door has answered by HTTP
			}
			c.SetReadLimit(-1)
			return dialTwo(websocket.NetConn(context.Background(), c, websocket.MessageText)), nil
		},
		Codes: true, Handshake: true, TLSProtocol: "http/1.1",
	})
}

// noClient is a client whose connection was refused.
type noClient struct{ err error }

func (n noClient) Call(string, any, any) error { return n.err }
func (noClient) Close() error                  { return nil }

// TestVectorsWebSocket sends each vector as one message, all on one connection, and a question behind it whose answer
// shows that there was no other.
func TestVectorsWebSocket(t *testing.T) {
	s := dialSocket(t, start(t, nil), nil)
	const ping, pong = `{"jsonrpc":"2.0","method":"sum","params":[40,2],"id":"ping"}`, `{"jsonrpc":"2.0","id":"ping","result":42}`
	for i, v := range vectors(t) {
		kind := websocket.MessageText
		if i%2 == 1 {
			kind = websocket.MessageBinary
		}
		must(t, s.Write(s.ctx, kind, []byte(v.send)))
		got := ""
		if v.want != "" {
			got = s.receive()
		}
		if !agree(t, got, v.want) {
			t.Errorf("%s: %s\ngot  %s\nwant %s", v.about, v.send, got, v.want)
		}
		s.send(ping)
		if got := s.receive(); got != pong {
			t.Errorf("%s: behind it came %s", v.about, got)
		}
	}
}

// TestWebSocketCalls: calls run at once, and their answers come as they end.
func TestWebSocketCalls(t *testing.T) {
	s := dialSocket(t, start(t, nil), nil, "Weft-Meta-Color", "red")
	s.send(`{"jsonrpc":"2.0","method":"wait","params":[300],"id":"slow"}`)
	s.send(`{"jsonrpc":"2.0","method":"wait","params":[0],"id":"quick"}`)
	for _, want := range []string{`{"jsonrpc":"2.0","id":"quick","result":"red"}`, `{"jsonrpc":"2.0","id":"slow","result":"red"}`} {
		if got := s.receive(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	s.send(`{"jsonrpc":"2.0","method":"fail","id":1}`)
	if got := s.receive(); !strings.Contains(got, `-32005`) || !strings.Contains(got, `"reason":"NONE"`) {
		t.Errorf("%s", got)
	}
	must(t, s.Close(websocket.StatusNormalClosure, ""))
}

// TestWebSocketSubprotocol: the first one that both have is chosen.
func TestWebSocketSubprotocol(t *testing.T) {
	addr := start(t, nil)
	for offered, want := range map[string]string{"": "", "jsonrpc": "jsonrpc", "chat, json-rpc": "json-rpc", "chat": ""} {
		o := &websocket.DialOptions{}
		if offered != "" {
			o.Subprotocols = strings.Split(offered, ", ")
		}
		if got := dialSocket(t, addr, o).Subprotocol(); got != want {
			t.Errorf("of %q the server has chosen %q, want %q", offered, got, want)
		}
	}
}

// TestWebSocketHandshake: what is refused before there is a connection.
func TestWebSocketHandshake(t *testing.T) {
	addr := start(t, nil)
	for _, c := range []struct {
		status  int
		headers []string
	}{
		{101, nil},
		{101, []string{"Origin", "http://" + addr}},
		{403, []string{"Origin", "https://evil.example"}},
		{403, []string{"Origin", "null"}},
		{403, []string{"Origin", "http://" + addr, "Sec-Fetch-Site", "cross-site"}},
		{400, []string{"Sec-WebSocket-Version", "7"}},
		{400, []string{"Sec-WebSocket-Key", "short"}},
		{400, []string{"Body", "{}"}},
		{405, []string{"Upgrade", "h2c"}},
		{400, []string{"Weft-Timeout", "soon"}},
	} {
		if got := refused(t, addr, c.headers...); got != c.status {
			t.Errorf("%q: status %d, want %d", c.headers, got, c.status)
		}
	}
}

// TestWebSocketCredential: the credential of the first request, in the header or in a subprotocol, is that of the calls.
func TestWebSocketCredential(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Logger: slog.New(slog.DiscardHandler), Doors: []weft.Door{http.Door(&http.Config{Handler: jsonrpc.Handler(nil)})},
		Authenticate: func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
			if cred.Token != "secret" {
				return nil, weft.Errorf(weft.Unauthenticated, "want the token secret")
			}
			return "ada", nil
		}})
	must(t, weft.Handle(srv, "Who.Am", func(ctx context.Context, _ *struct{}) (*string, error) {
		name, _ := weft.PrincipalFrom(ctx).(string)
		return &name, nil
	}))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	addr := l.Addr().String()
	token := "weft.authorization." + base64.RawURLEncoding.EncodeToString([]byte("Bearer secret"))
	for name, s := range map[string]*socket{
		"header":      dialSocket(t, addr, nil, "Authorization", "Bearer secret"),
		"subprotocol": dialSocket(t, addr, &websocket.DialOptions{Subprotocols: []string{"jsonrpc", token}}),
	} {
		s.send(`{"jsonrpc":"2.0","method":"Who.Am","id":1}`)
		if got := s.receive(); got != `{"jsonrpc":"2.0","id":1,"result":"ada"}` {
			t.Errorf("%s: %s", name, got)
		}
	}
	s := dialSocket(t, addr, nil)
	s.send(`{"jsonrpc":"2.0","method":"Who.Am","id":1}`)
	if got := s.receive(); !strings.Contains(got, "-32016") {
		t.Errorf("without a credential: %s", got)
	}

	cfg := &weft.ClientConfig{Wires: []weft.Wire{jsonrpc.WebSocketWire("")}, ConnCredential: func(context.Context) (weft.Credential, error) {
		return weft.Credential{Scheme: "Bearer", Token: "secret"}, nil
	}}
	c, err := weft.Dial(t.Context(), "jsonrpc+ws://"+addr, cfg)
	must(t, err)
	defer c.Close()
	if name, err := weft.Invoke[string](t.Context(), c, "Who.Am", &struct{}{}); err != nil || *name != "ada" {
		t.Errorf("weft's wire: %v", err)
	}
	must(t, c.Ping(t.Context()))
}

// TestWebSocketLimits: messages that are too large, or stop, end the connection.
func TestWebSocketLimits(t *testing.T) {
	s := dialSocket(t, startLimited(t, nil, weft.Limits{MaxMessage: 16 << 10, HandshakeTimeout: patience}), nil)
	s.send(`{"jsonrpc":"2.0","method":"sum","params":[1` + strings.Repeat(" ", 16<<10) + `],"id":1}`)
	if got := s.receive(); !strings.Contains(got, "MESSAGE_TOO_LARGE") || !strings.Contains(got, `"id":1`) {
		t.Errorf("params beyond the limit: %s", got)
	}
	s.send(strings.Repeat(" ", 64<<10))
	if got := s.receive(); !strings.Contains(got, "MESSAGE_TOO_LARGE") {
		t.Errorf("a message beyond the limit: %s", got)
	}
	if code := s.closed(); code != websocket.StatusMessageTooBig {
		t.Errorf("it ends with %d", code)
	}
	// A busy machine may take all of a short time to begin.
	addr := startLimited(t, nil, weft.Limits{HandshakeTimeout: 200 * time.Millisecond})
	polltest.Until(t, patience, "a message that stops ends the connection", func() error {
		c, _, err := websocket.Dial(t.Context(), "ws://"+addr+"/rpc", &websocket.DialOptions{HTTPClient: &nethttp.Client{Transport: &nethttp.Transport{}}})
		if err != nil {
			return err
		}
		defer c.CloseNow()
		w, err := c.Writer(t.Context(), websocket.MessageText)
		if err != nil {
			return err
		}
		if _, err = io.WriteString(w, `{"jsonrpc":"2.0"`+strings.Repeat(" ", 8<<10)); err != nil { // more than the client's buffer
			return err
		}
		_, b, err := c.Read(t.Context())
		if code := websocket.CloseStatus(err); code != websocket.StatusPolicyViolation {
			return fmt.Errorf("it ends with %d behind %q: %w", code, b, err)
		}
		return nil
	})
}

// TestWebSocketSilence: a client that answers no ping loses its connection; one that does keeps it. A busy machine may take long for
// an answer.
func TestWebSocketSilence(t *testing.T) {
	for timeout := 300 * time.Millisecond; ; timeout *= 4 {
		err := silentAndOther(t, timeout)
		if err == nil {
			return
		}
		if timeout > patience/4 {
			t.Fatalf("with %v for a pong: %v", timeout, err)
		}
	}
}

// silentAndOther has a client that answers no ping beside one that does, which have so long for it, and says what is wrong.
func silentAndOther(t *testing.T, timeout time.Duration) error {
	srv, addr := startServer(t, nil, weft.Limits{PingIdle: 50 * time.Millisecond, WriteTimeout: timeout})
	s := dialSocket(t, addr, nil)
	answer := make(chan string, 1)
	go func() { // it ends with the answer, or the connection
		_, b, err := s.Read(s.ctx)
		if err != nil {
			b = []byte(err.Error())
		}
		answer <- string(b)
	}()
	silent, err := net.Dial("tcp", addr)
	must(t, err)
	defer silent.Close()
	must(t, silent.SetDeadline(time.Now().Add(patience)))
	_, err = fmt.Fprintf(silent, "GET /rpc HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", addr)
	must(t, err)
	b, err := io.ReadAll(silent)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("without a pong the connection goes on, behind %q", b)
	}
	if err != nil || !strings.Contains(string(b), "\r\n\r\n\x89") {
		return fmt.Errorf("without a pong the connection ends with %w, behind %q", err, b)
	}
	polltest.True(t, patience, "one connection is left at most", func() bool { return len(srv.Peers()) <= 1 })
	// If the other connection has ended too, its answer says so.
	_ = s.Write(s.ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","method":"sum","params":[1,2],"id":1}`))
	if got := <-answer; got != `{"jsonrpc":"2.0","id":1,"result":3}` {
		return fmt.Errorf("the other connection: %q", got)
	}
	return nil
}

// TestWebSocketClientGone: the calls of a client that leaves end.
func TestWebSocketClientGone(t *testing.T) {
	for name, leave := range map[string]func(*socket){
		"close": func(s *socket) { s.Close(websocket.StatusNormalClosure, "") },
		"cut":   func(s *socket) { s.CloseNow() },
	} {
		srv, addr := startServer(t, nil, weft.Limits{})
		s := dialSocket(t, addr, nil)
		s.send(`{"jsonrpc":"2.0","method":"wait","params":[600000],"id":1}`)
		polltest.True(t, patience, "the call runs", func() bool { return srv.Stats().InFlight == 1 })
		leave(s)
		polltest.True(t, patience, name+": the call ends", func() bool { return srv.Stats().InFlight == 0 })
	}
}

// TestWebSocketDrain: a shutdown lets open calls end, refuses others, and tells the client.
func TestWebSocketDrain(t *testing.T) {
	srv, addr := startServer(t, nil, weft.Limits{})
	release := make(chan struct{})
	must(t, weft.Handle(srv, "Spec.held", func(context.Context, *struct{}) (*string, error) {
		<-release
		return new(string), nil
	}))
	let := sync.OnceFunc(func() { close(release) })
	t.Cleanup(let)
	s, idle := dialSocket(t, addr, nil), dialSocket(t, addr, nil)
	s.send(`{"jsonrpc":"2.0","method":"held","id":"open"}`)
	polltest.True(t, patience, "the call runs", func() bool { return srv.Stats().InFlight == 1 })
	ended := make(chan websocket.StatusCode, 1)
	go func() { // it ends with the connection
		_, _, err := idle.Read(idle.ctx)
		ended <- websocket.CloseStatus(err)
	}()
	shut := make(chan error, 1)
	go func() { shut <- srv.Shutdown(context.Background()) }() // it ends with the drain
	if code := <-ended; code != websocket.StatusGoingAway {
		t.Errorf("a connection without calls ends with %d", code)
	}
	got := ""
	polltest.True(t, patience, "the shutdown has reached the other connection", func() bool {
		s.send(`{"jsonrpc":"2.0","method":"sum","params":[1],"id":"late"}`)
		got = s.receive()
		return got != `{"jsonrpc":"2.0","id":"late","result":1}`
	})
	if !strings.Contains(got, `"id":"late"`) || !strings.Contains(got, "-32014") || !strings.Contains(got, "Refused") {
		t.Errorf("a call after the shutdown has begun: %s", got)
	}
	let()
	if got := s.receive(); got != `{"jsonrpc":"2.0","id":"open","result":""}` {
		t.Errorf("the open call: %s", got)
	}
	if code := s.closed(); code != websocket.StatusGoingAway {
		t.Errorf("it ends with %d", code)
	}
	must(t, <-shut)
}

// TestWebSocketDeaf: a client that reads nothing is held to the limits, and does not hold up others.
func TestWebSocketDeaf(t *testing.T) {
	srv, addr := startServer(t, nil, weft.Limits{WriteTimeout: 500 * time.Millisecond})
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	s := dialSocket(t, addr, &websocket.DialOptions{}) // reads nothing: no goroutine of the client does
	text := strings.Repeat("x", 256<<10)
	for range 200 {
		if s.Write(s.ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","method":"none`+text[:64<<10]+`","id":"`+text[:200]+`"}`)) != nil {
			break
		}
	}
	other := dialSocket(t, addr, nil)
	other.send(`{"jsonrpc":"2.0","method":"sum","params":[1,2],"id":1}`)
	if got := other.receive(); got != `{"jsonrpc":"2.0","id":1,"result":3}` {
		t.Errorf("%s", got)
	}
	s.CloseNow()
	polltest.True(t, patience, "the connection has ended", func() bool { return srv.Stats().InFlight == 0 })
}

// TestWebSocketMemory: the message that comes in counts against the memory of the server.
func TestWebSocketMemory(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Logger: slog.New(slog.DiscardHandler), MaxMemory: 1 << 20,
		Doors: []weft.Door{http.Door(&http.Config{Handler: jsonrpc.Handler(nil)})}})
	must(t, weft.Handle(srv, "Text.Length", func(_ context.Context, text *string) (*int, error) {
		n := len(*text)
		return &n, nil
	}))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	addr := l.Addr().String()
	request := `{"jsonrpc":"2.0","method":"Text.Length","params":["` + strings.Repeat("x", 600<<10) + `"],"id":1}`
	const answer = `{"jsonrpc":"2.0","id":1,"result":614400}`
	call := func() string {
		_, text := post(t, addr, request)
		return text
	}
	s := dialSocket(t, addr, nil)
	for range 8 {
		s.send(request)
		if got := s.receive(); got != answer {
			t.Errorf("%.200s", got)
		}
		polltest.True(t, patience, "the call counts no longer", func() bool { return srv.Stats().InFlight == 0 })
		s.send(strings.Repeat("x", 600<<10))
		if got := s.receive(); !strings.Contains(got, "-32700") {
			t.Errorf("%.200s", got)
		}
	}
	w, err := s.Writer(s.ctx, websocket.MessageText)
	must(t, err)
	_, err = io.WriteString(w, strings.Repeat(" ", 700<<10))
	must(t, err)
	must(t, s.Ping(s.CloseRead(s.ctx))) // it is read behind the part of the message
	if got := call(); !strings.Contains(got, "TOO_MANY_BYTES") {
		t.Errorf("another call: %.200s", got)
	}
	s.CloseNow()
	polltest.True(t, patience, "there is room again", func() bool { return call() == answer })
}

// TestWebSocketWireRefused: the error of Dial tells why there is no connection.
func TestWebSocketWireRefused(t *testing.T) {
	addr := start(t, nil)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	site := &nethttp.Server{Handler: nethttp.NotFoundHandler(), ReadHeaderTimeout: patience}
	served := make(chan error, 1)
	go func() { served <- site.Serve(plain) }() // it ends with site
	defer func() {
		site.Close()
		<-served
	}()
	for _, c := range []struct {
		addr, path, want string
		code             weft.Code
	}{
		{addr, "/rpc", "", 0},
		{addr, "rpc", "", 0},
		{plain.Addr().String(), "/rpc", "404 Not Found", weft.Unimplemented},
	} {
		client, err := weft.Dial(t.Context(), "jsonrpc+ws://"+c.addr, &weft.ClientConfig{Wires: []weft.Wire{jsonrpc.WebSocketWire(c.path)}, Logger: slog.New(slog.DiscardHandler)})
		if c.want == "" {
			must(t, err)
			client.Close()
		} else if err == nil || !strings.Contains(err.Error(), c.want) || weft.CodeOf(err) != c.code {
			t.Errorf("%s%s: %v", c.addr, c.path, err)
		}
	}
}
