package jsonrpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"net/rpc"
	stock "net/rpc/jsonrpc"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func garbage() [][]byte {
	return [][]byte{
		[]byte(" \t\r\n"), []byte("{"), []byte(`{"method":"Test.Echo","params":[`), []byte("[[[[[[[["), []byte("{]"), []byte("{}{}x"),
		[]byte(strings.Repeat("[", 1<<20)), []byte(`{"id":` + strings.Repeat("9", 5<<20)), []byte("{\"method\":\"\xff\"}"),
		[]byte(`[` + strings.Repeat(`1,`, 1<<18) + `1]`), []byte(`{"jsonrpc":"2.0","method":"Test.Echo","id":1,"params":` + strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000) + `}`),
	}
}

// one is the client of the standard library.
type one struct{ *rpc.Client }

func (o one) Call(method string, args, reply any) error { return o.Client.Call(method, args, reply) }

func TestDoorOne(t *testing.T) {
	doortest.Run(t, doortest.Kit{
		Scheme:  weft.WireJSONRPC,
		Door:    func() weft.Door { return jsonrpc.Door(nil) },
		Dial:    func(conn net.Conn) (doortest.Client, error) { return one{stock.NewClient(conn)}, nil },
		Garbage: garbage(),
	})
}

// two is a client of JSON-RPC 2.0.
type two struct {
	conn net.Conn
	mu   sync.Mutex
	next int
	open map[int]chan answer
	err  error
	wg   sync.WaitGroup
}

type answer struct {
	ID     int
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    struct{ Code, Message string }
	}
	lost error
}

func dialTwo(conn net.Conn) *two {
	c := &two{conn: conn, open: make(map[int]chan answer)}
	c.wg.Go(c.read)
	return c
}

func (c *two) read() {
	d := json.NewDecoder(c.conn)
	for {
		var a answer
		err := d.Decode(&a)
		c.mu.Lock()
		if err != nil {
			c.err = err
			for _, to := range c.open {
				to <- answer{lost: err}
			}
			c.open = nil
			c.mu.Unlock()
			return
		}
		if to := c.open[a.ID]; to != nil {
			delete(c.open, a.ID)
			to <- a
		}
		c.mu.Unlock()
	}
}

func (c *two) Call(method string, args, reply any) error {
	to := make(chan answer, 1)
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return c.err
	}
	c.next++
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": args, "id": c.next})
	if err != nil {
		c.mu.Unlock()
		return err
	}
	c.open[c.next] = to
	_, err = c.conn.Write(b)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	a := <-to
	switch {
	case a.lost != nil:
		return a.lost
	case a.Error == nil:
		return json.Unmarshal(a.Result, reply)
	}
	for code := weft.Canceled; code <= weft.Unauthenticated; code++ {
		if code.String() == a.Error.Data.Code {
			return weft.Errorf(code, "%s %s", a.Error.Message, a.Error.Data.Message)
		}
	}
	return fmt.Errorf("%d %s", a.Error.Code, a.Error.Message)
}

func (c *two) Close() error {
	err := c.conn.Close()
	return err
}

func TestDoorTwo(t *testing.T) {
	var mu sync.Mutex
	var all []*two
	doortest.Run(t, doortest.Kit{
		Scheme: weft.WireJSONRPC,
		Door:   func() weft.Door { return jsonrpc.Door(nil) },
		Dial: func(conn net.Conn) (doortest.Client, error) {
			c := dialTwo(conn)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, c)
			return c, nil
		},
		Codes:   true,
		Garbage: garbage(),
	})
	for _, c := range all {
		c.wg.Wait()
	}
}

// operands is the request of the specification's subtract.
type operands struct {
	Minuend    int `json:"minuend"`
	Subtrahend int `json:"subtrahend"`
}

// Sum is the request of a method that takes a list.
type Sum []int

// start starts a server with the methods of the specification.
func start(t *testing.T, cfg *jsonrpc.Config) string {
	t.Helper()
	return startLimited(t, cfg, weft.Limits{})
}

func startLimited(t *testing.T, cfg *jsonrpc.Config, limits weft.Limits) string {
	t.Helper()
	_, addr := startServer(t, cfg, limits)
	return addr
}

func startServer(t *testing.T, cfg *jsonrpc.Config, limits weft.Limits) (*weft.Server, string) {
	t.Helper()
	if cfg == nil {
		cfg = &jsonrpc.Config{}
	}
	cfg.Service = "Spec"
	srv := weft.NewServer(&weft.ServerConfig{Logger: slog.New(slog.DiscardHandler), Limits: limits, Doors: []weft.Door{
		jsonrpc.Door(cfg), http.Door(&http.Config{Prefix: "api", Handler: jsonrpc.Handler(cfg)})}})
	nothing := func(context.Context, *Sum) (*struct{}, error) { return &struct{}{}, nil }
	must(t, errors.Join(
		weft.Handle(srv, "Spec.subtract", func(_ context.Context, o *operands) (*int, error) {
			n := o.Minuend - o.Subtrahend
			return &n, nil
		}),
		weft.Handle(srv, "Spec.sum", func(_ context.Context, s *Sum) (*int, error) {
			total := 0
			for _, n := range *s {
				total += n
			}
			return &total, nil
		}),
		weft.Handle(srv, "Spec.get_data", func(context.Context, *struct{}) (*[]any, error) { return &[]any{"hello", 5}, nil }),
		weft.Handle(srv, "Spec.fail", func(context.Context, *struct{}) (*int, error) {
			return nil, weft.Errorf(weft.NotFound, "no such thing").WithReason("NONE").WithDetail("t", []byte("v"))
		}),
		weft.Handle(srv, "Spec.count", func(_ context.Context, s *Sum) (*int, error) {
			n := len(*s)
			return &n, nil
		}),
		weft.Handle(srv, "Spec.text", func(_ context.Context, n *int) (*string, error) {
			text := strings.Repeat("x", *n)
			return &text, nil
		}),
		weft.Handle(srv, "Spec.update", nothing), weft.Handle(srv, "Spec.notify_hello", nothing), weft.Handle(srv, "Spec.notify_sum", nothing),
		weft.Handle(srv, "Spec.wait", func(ctx context.Context, ms *int) (*string, error) {
			select {
			case <-time.After(time.Duration(*ms) * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			text := weft.MetadataFrom(ctx).Get("color")
			return &text, nil
		}),
	))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return srv, l.Addr().String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// vector is one exchange.
type vector struct{ about, send, want string }

func vectors(t *testing.T) []vector {
	t.Helper()
	b, err := os.ReadFile("testdata/specification.txt")
	must(t, err)
	var all []vector
	about := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if text, ok := strings.CutPrefix(line, "# "); ok {
			about = text
		} else if text, ok := strings.CutPrefix(line, "--> "); ok {
			all = append(all, vector{about: about, send: text})
		} else if text, ok := strings.CutPrefix(line, "<--"); ok {
			all[len(all)-1].want = strings.TrimSpace(text)
		}
	}
	if len(all) < 40 {
		t.Fatalf("%d vectors were read", len(all))
	}
	return all
}

// agree compares answers: in a batch in any order; "*" is any text; data only if it is wanted.
func agree(t *testing.T, got, want string) bool {
	t.Helper()
	if got == "" || want == "" {
		return got == want
	}
	var g, w any
	for to, text := range map[*any]string{&g: got, &w: want} {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(to); err != nil {
			return false
		}
	}
	list, batch := w.([]any)
	if !batch {
		return alike(g, w)
	}
	answers, ok := g.([]any)
	if !ok || len(answers) != len(list) {
		return false
	}
	for _, one := range list {
		i := slices.IndexFunc(answers, func(a any) bool { return alike(a, one) })
		if i < 0 {
			return false
		}
		answers = slices.Delete(answers, i, i+1)
	}
	return true
}

func alike(got, want any) bool {
	if want == "*" {
		_, text := got.(string)
		return text
	}
	w, ok := want.(map[string]any)
	if !ok {
		return reflect.DeepEqual(got, want)
	}
	g, ok := got.(map[string]any)
	if !ok {
		return false
	}
	for name := range g {
		if _, wanted := w[name]; !wanted && name != "data" {
			return false
		}
	}
	for name, v := range w {
		if _, there := g[name]; !there || !alike(g[name], v) {
			return false
		}
	}
	return true
}

// TestVectorsTCP sends each vector as a whole and in single bytes, and a question behind it whose answer shows
// that there was no other.
func TestVectorsTCP(t *testing.T) {
	addr := start(t, nil)
	const ping, pong = `{"jsonrpc":"2.0","method":"sum","params":[40,2],"id":"ping"}`, `{"jsonrpc":"2.0","id":"ping","result":42}`
	for _, v := range vectors(t) {
		for _, piece := range []int{1, 1 << 20} {
			conn, err := net.Dial("tcp", addr)
			must(t, err)
			must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
			in := bufio.NewReader(conn)
			broken := strings.Contains(v.want, "-32700")
			for b := []byte(v.send); len(b) > 0; b = b[min(piece, len(b)):] {
				_, err := conn.Write(b[:min(piece, len(b))])
				must(t, err)
			}
			if broken {
				must(t, conn.(*net.TCPConn).CloseWrite())
			}
			got := ""
			if v.want != "" {
				got, err = in.ReadString('\n')
				must(t, err)
			}
			if !agree(t, strings.TrimSpace(got), v.want) {
				t.Errorf("%s: %s\ngot  %s\nwant %s", v.about, v.send, got, v.want)
			}
			if broken {
				if rest, _ := io.ReadAll(in); len(rest) > 0 {
					t.Errorf("%s: more came: %s", v.about, rest)
				}
			} else {
				_, err = io.WriteString(conn, ping)
				must(t, err)
				if line, err := in.ReadString('\n'); strings.TrimSpace(line) != pong {
					t.Errorf("%s: behind it came %s, %v", v.about, line, err)
				}
			}
			conn.Close()
		}
	}
}

// TestHalfClosed: a client that has sent all gets its answers.
func TestHalfClosed(t *testing.T) {
	addr := start(t, nil)
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = io.WriteString(conn, `{"jsonrpc":"2.0","method":"wait","params":[20],"id":1}{"jsonrpc":"2.0","method":"wait","params":[10],"id":2}`)
	must(t, err)
	must(t, conn.(*net.TCPConn).CloseWrite())
	got, err := io.ReadAll(conn)
	if lines := strings.Count(string(got), "\n"); err != nil || lines != 2 {
		t.Errorf("%s, %v", got, err)
	}
}

// TestRefusedWhileSending: a refused client learns why although it has sent much that the server does not read.
func TestRefusedWhileSending(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Logger: slog.New(slog.DiscardHandler), Doors: []weft.Door{jsonrpc.Door(nil)},
		AuthenticateConn: func(context.Context, weft.Credential, *weft.Peer) (any, error) {
			time.Sleep(20 * time.Millisecond) // more than the first bytes has come then
			return nil, weft.Errorf(weft.Unauthenticated, "no strangers")
		}})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	defer func() {
		must(t, srv.Close())
		<-served
	}()
	conn, err := net.Dial("tcp", lis.Addr().String())
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = io.WriteString(conn, strings.Repeat(`{"jsonrpc":"2.0","method":"wait","params":[20],"id":1}`, 1000))
	must(t, err)
	time.Sleep(60 * time.Millisecond)
	got, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(got), "no strangers") {
		t.Errorf("%s, %v", got, err)
	}
}

// TestLargestOverTCP sends params of Limits.MaxMessage bytes, and larger ones.
func TestLargestOverTCP(t *testing.T) {
	const limit = 16 << 10
	addr := startLimited(t, nil, weft.Limits{MaxMessage: limit})
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	in := bufio.NewReader(conn)
	object := func(size int) string { return `{"minuend":` + strings.Repeat(" ", size-13) + `7}` }
	for _, c := range []struct {
		params string
		served bool
	}{
		{object(limit), true}, {object(limit + 1), false}, {object(limit + 3000), false},
		{"[" + object(limit) + "]", true}, {"[" + object(limit+1) + "]", false},
	} {
		_, err := io.WriteString(conn, `{"jsonrpc":"2.0","method":"subtract","params":`+c.params+`,"id":1}`)
		must(t, err)
		line, err := in.ReadString('\n')
		must(t, err)
		if c.served != strings.Contains(line, `"result":7`) || !c.served && !strings.Contains(line, "MESSAGE_TOO_LARGE") {
			t.Errorf("params of %d bytes: %s", len(c.params), line)
		}
	}
	_, err = io.WriteString(conn, `{"jsonrpc":"2.0","method":"subtract","id":1,"params":`+object(limit+6000)+`}`)
	must(t, err)
	got, _ := io.ReadAll(in) // a reset may follow, since the server does not read the rest
	if len(got) > 0 && (!strings.Contains(string(got), `"code":-32008`) || strings.Contains(string(got), "result")) {
		t.Errorf("beyond the limit: %s", got)
	}
}

// post sends a body over HTTP.
func post(t *testing.T, addr, body string, headers ...string) (*nethttp.Response, string) {
	t.Helper()
	req, err := nethttp.NewRequestWithContext(t.Context(), "POST", "http://"+addr+"/rpc", strings.NewReader(body))
	must(t, err)
	req.Close = true
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	got, err := nethttp.DefaultTransport.RoundTrip(req)
	must(t, err)
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	must(t, err)
	return got, string(text)
}

func TestVectorsHTTP(t *testing.T) {
	addr := start(t, nil)
	for _, v := range vectors(t) {
		got, text := post(t, addr, v.send, "Content-Type", "application/json")
		status := 200
		if v.want == "" {
			status = 204
		}
		if got.StatusCode != status || !agree(t, text, v.want) {
			t.Errorf("%s: %s\ngot  %s %s\nwant %s", v.about, v.send, got.Status, text, v.want)
		}
	}
}

// TestHTTP: what is particular to that carrier.
func TestHTTP(t *testing.T) {
	addr := start(t, nil)
	const call = `{"jsonrpc":"2.0","method":"Spec.wait","params":1,"id":1}`
	for _, c := range []struct {
		kind   string
		status int
	}{{"application/json; charset=utf-8", 200}, {"application/json-rpc", 200}, {"text/plain", 415}, {"application/x-www-form-urlencoded", 415}, {"bad;;", 415}} {
		if got, text := post(t, addr, call, "Content-Type", c.kind); got.StatusCode != c.status {
			t.Errorf("%s: %s %s", c.kind, got.Status, text)
		}
	}
	wait := `{"jsonrpc":"2.0","method":"Spec.wait","params":[MS],"id":1}`
	if _, text := post(t, addr, strings.Replace(wait, "MS", "1", 1), "Weft-Meta-Color", "red"); !strings.Contains(text, `"result":"red"`) {
		t.Errorf("metadata: %s", text)
	}
	if _, text := post(t, addr, strings.Replace(wait, "MS", "60000", 1), "Weft-Timeout", "20"); !strings.Contains(text, `-32004`) {
		t.Errorf("timeout: %s", text)
	}
	if got, _ := post(t, addr, call, "Origin", "https://evil.example"); got.StatusCode != 403 {
		t.Errorf("another origin: %s", got.Status)
	}
	if got, text := post(t, addr, `{"x":"`+strings.Repeat("x", 5<<20)+`"}`); got.StatusCode != 413 {
		t.Errorf("too large: %s %s", got.Status, text)
	}
	got, err := nethttp.DefaultTransport.RoundTrip(&nethttp.Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: addr, Path: "/rpc"}, Header: nethttp.Header{}, Close: true})
	must(t, err)
	got.Body.Close()
	if got.StatusCode != 405 || got.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %s %v", got.Status, got.Header)
	}
}

// TestBatches: the calls of a batch run at once, and their number is bounded.
func TestBatches(t *testing.T) {
	addr := start(t, &jsonrpc.Config{MaxBatch: 3})
	call := func(id, ms int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"Spec.wait","params":[%d],"id":%d}`, ms, id)
	}
	_, text := post(t, addr, "["+call(1, 200)+","+call(2, 100)+","+call(3, 0)+"]")
	if !agree(t, text, `[{"jsonrpc":"2.0","id":3,"result":""},{"jsonrpc":"2.0","id":2,"result":""},{"jsonrpc":"2.0","id":1,"result":""}]`) ||
		strings.Index(text, `"id":3`) > strings.Index(text, `"id":1`) {
		t.Errorf("they did not run at once: %s", text)
	}
	if _, text := post(t, addr, "["+call(1, 0)+","+call(2, 0)+","+call(3, 0)+","+call(4, 0)+"]"); !strings.Contains(text, "more than 3 requests") {
		t.Errorf("four of three: %s", text)
	}
}
