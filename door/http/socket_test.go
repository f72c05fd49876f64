package http_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
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

// socket opens a WebSocket; headers are names and values in turn.
func (r *rig) socket(path string, headers ...string) *socket {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	o := &websocket.DialOptions{HTTPHeader: make(nethttp.Header), HTTPClient: r.c}
	for i := 0; i < len(headers); i += 2 {
		o.HTTPHeader.Add(headers[i], headers[i+1])
	}
	c, _, err := websocket.Dial(ctx, r.url+path, o)
	must(r.t, err)
	c.SetReadLimit(-1)
	r.t.Cleanup(func() {
		c.CloseNow()
		cancel()
	})
	return &socket{c, r.t, ctx}
}

func (s *socket) send(messages ...string) {
	s.t.Helper()
	for _, m := range messages {
		must(s.t, s.Write(s.ctx, websocket.MessageText, []byte(m)))
	}
}

func (s *socket) receive() string {
	s.t.Helper()
	_, b, err := s.Read(s.ctx)
	must(s.t, err)
	return string(b)
}

// rest receives what comes until the end, and says how it ends.
func (s *socket) rest() string {
	s.t.Helper()
	var all []string
	for {
		_, b, err := s.Read(s.ctx)
		if err != nil {
			return strings.Join(append(all, fmt.Sprint(int(websocket.CloseStatus(err)))), " ")
		}
		all = append(all, string(b))
	}
}

// TestSocketStreams makes calls of every kind.
func TestSocketStreams(t *testing.T) {
	r := start(t, nil, nil)
	const aborted = `{"error":{"type":"about:blank","title":"Aborted","status":409,"detail":"enough","code":"Aborted","outcome":"Executed"}}`
	for _, c := range []struct {
		path string
		send []string
		want string
	}{
		{"/Stream/Count", []string{`{"id":2}`}, `{"result":{"id":1}} {"result":{"id":2}} 1000`},
		{"/Stream/Count", []string{`{}`, `ignored`}, `1000`},
		{"/Stream/Count?id=2", nil, `{"result":{"id":1}} {"result":{"id":2}} 1000`},
		{"/count/1", nil, `{"result":{"id":1}} 1000`},
		{"/count/1?admin=true", nil, `{"result":{"id":1}} ` + aborted + ` 4010`},
		{"/Stream/Sum", []string{`{"id":1}`, ` {"id":2} `, ``}, `{"result":{"id":3}} 1000`},
		{"/Stream/Sum", []string{``}, `{"result":{}} 1000`},
		{"/Stream/Echo", []string{`{"id":1}`, `{"id":2}`, ``}, `{"result":{"id":1}} {"result":{"id":2}} 1000`},
	} {
		s := r.socket(c.path)
		s.send(c.send...)
		if got := s.rest(); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.path, c.send, got, c.want)
		}
	}
	for _, c := range [][3]string{{"/Stream/Sum", `{`, "DECODE"}, {"/Stream/Count", `[]`, "DECODE"}, {"/Stream/Sum", `{"name":"` + strings.Repeat("x", 5<<20) + `"}`, "MESSAGE_TOO_LARGE"}} {
		s := r.socket(c[0])
		s.send(c[1])
		if got := s.rest(); !strings.Contains(got, c[2]) || !strings.Contains(got, ` 40`) {
			t.Errorf("%s %.20q: %s, want %s", c[0], c[1], got, c[2])
		}
	}
	s := r.socket("/Stream/Echo")
	for _, m := range []string{`{"id":1}`, `{"id":2}`} { // each one when the one before has come back
		s.send(m)
		if got := s.receive(); got != `{"result":`+m+`}` {
			t.Errorf("%s came back as %s", m, got)
		}
	}
}

// TestSocketHandshake: what is refused before there is a connection, with the status that it has without WebSocket.
func TestSocketHandshake(t *testing.T) {
	r := start(t, &http.Config{Origins: []string{"https://app.example"}}, func(c *weft.ServerConfig) {
		c.Authenticate = func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
			if cred.Token == "wrong" {
				return nil, weft.Errorf(weft.Unauthenticated, "no")
			}
			return nil, nil
		}
	})
	ask := []string{"Connection", "keep-alive, Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}
	for _, c := range []struct {
		path    string
		status  int
		headers []string
	}{
		{"/count/1", 101, []string{"Origin", r.url}},
		{"/count/1", 101, []string{"Origin", "https://app.example"}},
		{"/count/1", 403, []string{"Origin", "https://evil.example"}}, // though a link to it may be followed
		{"/count/1", 403, []string{"Sec-Fetch-Site", "cross-site"}},
		{"/Stream/Echo", 403, []string{"Origin", "null"}},
		{"/Stream/Echo", 401, []string{"Authorization", "Bearer wrong"}},
		{"/Stream/Echo", 401, []string{"Sec-WebSocket-Protocol", "weft, weft.authorization." + base64.RawURLEncoding.EncodeToString([]byte("Bearer wrong"))}},
		{"/Stream/Echo", 400, []string{"Weft-Timeout", "soon"}},
		{"/Stream/Echo", 400, []string{"Sec-WebSocket-Key", "short"}},
		{"/count/1", 400, []string{"Content-Length", "2"}},
		{"/count/1", 400, []string{"Content-Length", "400000"}},
		{"/count/1", 400, []string{"Transfer-Encoding", "chunked"}},
		{"/Users/Get", 405, nil},
		{"/Users/Put", 405, nil},
		{"/Stream/None", 404, nil},
		{"/users/7", 405, nil},
	} {
		answer, body := r.upgrade(c.path, append(ask, c.headers...)...)
		if answer.StatusCode != c.status {
			t.Errorf("%s %q: %s %s, want %d", c.path, c.headers, answer.Status, body, c.status)
		}
	}
	answer, _ := r.upgrade("/Stream/Echo", append(ask, "Sec-WebSocket-Protocol", "chat, weft")...)
	if got := answer.Header.Get("Sec-WebSocket-Protocol"); got != "weft" {
		t.Errorf("the subprotocol is %q", got)
	}
}

// upgrade sends a request for WebSocket and reads the header of the answer.
func (r *rig) upgrade(path string, headers ...string) (*nethttp.Response, string) {
	r.t.Helper()
	req, err := nethttp.NewRequestWithContext(r.t.Context(), "GET", r.url+path, nil)
	must(r.t, err)
	for i := 0; i < len(headers); i += 2 {
		switch headers[i] {
		case "Second-Key":
			req.Header.Add("Sec-WebSocket-Key", headers[i+1])
		case "Content-Length":
			req.ContentLength, err = strconv.ParseInt(headers[i+1], 10, 64)
			must(r.t, err)
			req.Body = io.NopCloser(strings.NewReader(strings.Repeat(" ", int(req.ContentLength))))
		case "Transfer-Encoding":
			req.ContentLength, req.Body = -1, io.NopCloser(strings.NewReader("{}"))
		default:
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	answer, err := r.c.Do(req)
	must(r.t, err)
	defer answer.Body.Close()
	if answer.StatusCode == nethttp.StatusSwitchingProtocols {
		return answer, ""
	}
	b := make([]byte, 1<<10)
	n, _ := answer.Body.Read(b)
	return answer, string(b[:n])
}

// TestSocketMalformed: the handler of a request that is no good one for WebSocket does not run.
func TestSocketMalformed(t *testing.T) {
	r := start(t, nil, nil)
	var ran atomic.Int64
	must(t, weft.HandleServerStream(r.srv, "Stream.Run", func(context.Context, *User, *weft.Sender[User]) error {
		ran.Add(1)
		return nil
	}))
	const key = "AAAAAAAAAAAAAAAAAAAAAA=="
	for _, headers := range [][]string{
		{"Sec-WebSocket-Version", "13"},
		{"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "short"},
		{"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "?" + key[1:]},
		{"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", key, "Second-Key", key},
		{"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", key, "Content-Length", "2"},
		{"Sec-WebSocket-Version", "7", "Sec-WebSocket-Key", key},
		{"Sec-WebSocket-Key", key},
	} {
		answer, body := r.upgrade("/Stream/Run?id=1", append([]string{"Connection", "Upgrade", "Upgrade", "websocket"}, headers...)...)
		if answer.StatusCode != 400 || !strings.Contains(body, `"code":"InvalidArgument"`) {
			t.Errorf("%q: %s %s", headers, answer.Status, body)
		}
		if want := headers[1] != "13"; (answer.Header.Get("Sec-WebSocket-Version") == "13") != want {
			t.Errorf("%q: the answer names the version %q", headers, answer.Header.Get("Sec-WebSocket-Version"))
		}
	}
	must(t, r.srv.Shutdown(context.Background())) // no call is under way
	if n := ran.Load(); n != 0 {
		t.Errorf("the handler ran %d times", n)
	}
}

// panics is a listener whose connections panic when they are read after the answer to a request for WebSocket.
type panics struct{ net.Listener }

func (l panics) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &panicking{Conn: c}, err
}

type panicking struct {
	net.Conn
	armed atomic.Bool
}

func (c *panicking) Write(p []byte) (int, error) {
	if strings.Contains(string(p), " 101 ") {
		c.armed.Store(true)
	}
	return c.Conn.Write(p)
}

func (c *panicking) Read(p []byte) (int, error) {
	if c.armed.Load() && len(p) > 1 { // one byte is what net/http reads until the connection is taken over
		panic("as the test wants")
	}
	return c.Conn.Read(p)
}

// TestSocketPanic: what panics while a WebSocket is read ends that connection alone.
func TestSocketPanic(t *testing.T) {
	r := start(t, nil, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- r.srv.Serve(panics{l}) }() // it ends with the server
	defer func() {
		r.srv.Close()
		<-served
	}()
	r.url = "http://" + l.Addr().String()
	s := r.socket("/Stream/Echo")
	if got := s.rest(); got != "-1" {
		t.Errorf("%s", got)
	}
	polltest.True(t, patience, "the call ends", func() bool { return r.srv.Stats().InFlight == 0 })
}

// TestSocketMetadata: it comes in the header of the request, and goes back in the last message.
func TestSocketMetadata(t *testing.T) {
	r := start(t, nil, nil)
	must(t, weft.HandleServerStream(r.srv, "Stream.Meta", func(ctx context.Context, u *User, out *weft.Sender[User]) error {
		if err := weft.SetReplyMetadata(ctx, "seen", weft.MetadataFrom(ctx).Get("color"), "binary", "\x00\x01"); err != nil {
			return err
		}
		if u.Admin {
			return weft.Errorf(weft.NotFound, "none")
		}
		return out.Send(u)
	}))
	const meta = `"metadata":{"weft-bin-binary":["AAE="],"weft-meta-seen":["red"]}`
	for send, want := range map[string]string{
		`{"id":1}`:       `{"result":{"id":1}} {` + meta + `} 1000`,
		`{"admin":true}`: `{"error":{"type":"about:blank","title":"NotFound","status":404,"detail":"none","code":"NotFound","outcome":"Executed"},` + meta + `} 4005`,
	} {
		s := r.socket("/Stream/Meta", "Weft-Meta-Color", "red")
		s.send(send)
		if got := s.rest(); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", send, got, want)
		}
	}
}

// TestSocketEnds: deadline, a client that leaves, a shutdown.
func TestSocketEnds(t *testing.T) {
	r := start(t, nil, nil)
	s := r.socket("/Stream/Echo", "Weft-Timeout", "100")
	if got := s.rest(); !strings.Contains(got, `"code":"DeadlineExceeded"`) || !strings.HasSuffix(got, " 4004") {
		t.Errorf("after the deadline: %s", got)
	}
	for name, leave := range map[string]func(*socket){
		"close": func(s *socket) { s.Close(websocket.StatusNormalClosure, "") },
		"cut":   func(s *socket) { s.CloseNow() },
	} {
		s := r.socket("/Stream/Echo")
		s.send(`{"id":1}`)
		s.receive()
		leave(s)
		polltest.True(t, patience, name+": the call ends", func() bool { return r.srv.Stats().InFlight == 0 })
	}

	s = r.socket("/Stream/Echo")
	s.send(`{"id":1}`)
	s.receive()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	cut := make(chan error, 1)
	go func() { cut <- r.srv.Shutdown(ctx) }() // it ends with ctx
	if got := s.rest(); !strings.Contains(got, `"reason":"SHUTDOWN"`) || !strings.HasSuffix(got, " 4014") {
		t.Errorf("cut off by a shutdown: %s", got)
	}
	if err := <-cut; err == nil {
		t.Error("Shutdown says that it cut off nothing")
	}
}

// TestSocketDrain: an open stream ends within the time of a shutdown, and no other is begun.
func TestSocketDrain(t *testing.T) {
	r := start(t, nil, nil)
	s := r.socket("/Stream/Echo")
	s.send(`{"id":1}`)
	s.receive()
	shut := make(chan error, 1)
	go func() { shut <- r.srv.Shutdown(context.Background()) }() // it ends with the stream
	s.send(`{"id":2}`, ``)
	if got := s.rest(); got != `{"result":{"id":2}} 1000` {
		t.Errorf("%s", got)
	}
	must(t, <-shut)
}

// narrow has the connections of the client hold few bytes.
func (r *rig) narrow() {
	r.c.Transport.(*nethttp.Transport).DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = errors.Join(c.(*net.TCPConn).SetReadBuffer(64<<10), c.(*net.TCPConn).SetWriteBuffer(64<<10))
		}
		return c, err
	}
}

// stands waits until a count has not grown for a second, since the buffers of both systems are full, and returns it.
func stands(t *testing.T, what string, count *atomic.Int64) int64 {
	t.Helper()
	last, row := int64(0), 0
	polltest.Until(t, patience, what, func() error {
		if now := count.Load(); now != last || now == 0 {
			last, row = now, 0
			return fmt.Errorf("it is %d, and grows", now)
		}
		if row++; row < int(time.Second/polltest.Pause) {
			return fmt.Errorf("it was %d so %d times in a row", last, row)
		}
		return nil
	})
	return last
}

// TestSocketBackpressure: a handler that does not receive holds the client back, and one whose client does not read waits. The messages are
// more than the systems hold between the two, and few enough that a busy machine carries them well within patience.
func TestSocketBackpressure(t *testing.T) {
	const messages, size = 512, 16 << 10
	name := strings.Repeat("x", size)
	r := start(t, nil, func(c *weft.ServerConfig) { c.Limits.StreamWindow, c.Limits.WriteTimeout = 64<<10, patience })
	r.narrow()
	release := make(chan struct{})
	var got, given atomic.Int64
	must(t, errors.Join(
		weft.HandleClientStream(r.srv, "Stream.Late", func(_ context.Context, in *weft.Receiver[User]) (*User, error) {
			<-release
			for u, err := range in.All() {
				if err != nil {
					return nil, err
				}
				got.Add(int64(len(u.Name)))
			}
			return &User{ID: got.Load()}, nil
		}),
		weft.HandleServerStream(r.srv, "Stream.Much", func(_ context.Context, _ *User, out *weft.Sender[User]) error {
			for range messages {
				if err := out.Send(&User{Name: name}); err != nil {
					return err
				}
				given.Add(1)
			}
			return nil
		})))
	s := r.socket("/Stream/Late")
	var sent atomic.Int64
	written := make(chan error, 1)
	go func() { // it ends when all was taken
		var err error
		message := []byte(`{"name":"` + name + `"}`)
		for range messages {
			if err = s.Write(s.ctx, websocket.MessageText, message); err != nil {
				break
			}
			sent.Add(1)
		}
		written <- err
	}()
	if stands(t, "the client is held back", &sent) == messages {
		t.Error("all messages were taken, and none was received")
	}
	close(release)
	must(t, <-written)
	s.send(``)
	if got := s.rest(); got != fmt.Sprintf(`{"result":{"id":%d}} 1000`, messages*size) {
		t.Errorf("%s", got)
	}

	s = r.socket("/Stream/Much")
	s.send(`{}`)
	if stands(t, "the handler waits", &given) == messages {
		t.Error("all messages were sent, and none was read")
	}
	for range messages {
		if m := s.receive(); len(m) != len(`{"result":{"name":""}}`)+size {
			t.Fatalf("%.100s", m)
		}
	}
	if got := s.rest(); got != "1000" {
		t.Errorf("%s", got)
	}
}

// TestSocketMemory: messages that were not received count against the memory of the server, until their call ends.
func TestSocketMemory(t *testing.T) {
	r := start(t, nil, func(c *weft.ServerConfig) { c.MaxMemory, c.Limits.StreamWindow = 1<<20, 8<<20 })
	release := make(chan struct{})
	must(t, weft.HandleClientStream(r.srv, "Stream.Late", func(context.Context, *weft.Receiver[User]) (*User, error) {
		<-release
		return &User{}, nil
	}))
	call := func() string {
		_, body := r.do("POST", "/Users/Get", `{"name":"`+strings.Repeat("x", 600<<10)+`"}`)
		return body
	}
	s := r.socket("/Stream/Late")
	s.send(`{"name":"` + strings.Repeat("x", 700<<10) + `"}`)
	rest := make(chan string, 1)
	go func() { rest <- s.rest() }() // it ends with the call
	must(t, s.Ping(s.ctx))           // it is read behind the message
	if got := call(); !strings.Contains(got, "TOO_MANY_BYTES") {
		t.Errorf("another call: %.200s", got)
	}
	close(release)
	if got := <-rest; got != `{"result":{}} 1000` {
		t.Errorf("%s", got)
	}
	polltest.True(t, patience, "there is room again", func() bool { return !strings.Contains(call(), "TOO_MANY_BYTES") })

	s = r.socket("/Stream/Echo") // more in all than the memory, and each is received
	for range 8 {
		m := `{"name":"` + strings.Repeat("x", 500<<10) + `"}`
		s.send(m)
		if got := s.receive(); got != `{"result":`+m+`}` {
			t.Fatalf("%.200s", got)
		}
	}
}
