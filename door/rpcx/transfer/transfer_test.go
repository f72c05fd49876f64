package transfer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/door/rpcx/transfer"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// box is a server's streams and files.
type box struct {
	files fs.FS

	mu      sync.Mutex
	came    map[string]string // uploads, with their Meta
	began   chan struct{}     // gets one for each upload that begins
	errs    chan error        // of uploads
	streams chan error        // gets how streams have ended
}

func newBox() *box {
	return &box{
		files: fstest.MapFS{"a.txt": {Data: []byte("hello")}, "dir/large": {Data: []byte(strings.Repeat("0123456789", 100_000))}},
		came:  make(map[string]string), began: make(chan struct{}, 100), errs: make(chan error, 100), streams: make(chan error, 100),
	}
}

// stream sends back what comes, behind the value of k.
func (b *box) stream(_ context.Context, s *transfer.Stream) error {
	_, err := io.WriteString(s, s.Meta["k"])
	if err == nil {
		_, err = io.Copy(struct{ io.Writer }{s}, s)
	}
	b.streams <- err
	return err
}

func (b *box) upload(_ context.Context, f *transfer.Upload) error {
	b.began <- struct{}{}
	data, err := io.ReadAll(f)
	if err == nil && f.Meta["refuse"] != "" {
		err = weft.Errorf(weft.PermissionDenied, "refused")
	}
	if err == nil {
		b.mu.Lock()
		b.came[f.Name] = fmt.Sprint(string(data), f.Size, f.Meta)
		b.mu.Unlock()
	}
	b.errs <- err
	return err
}

func (b *box) download(_ context.Context, f *transfer.Download) error {
	src, err := b.files.Open(f.Name)
	if err != nil {
		return err
	}
	defer src.Close()
	if _, err = io.Copy(f, src); err == nil && f.Meta["fail"] != "" {
		err = errors.New("the disk is gone")
	}
	return err
}

// serve starts a server with rpcx's door and this one.
func serve(t testing.TB, b *box, cfg weft.ServerConfig, side *transfer.Config) (*weft.Server, string) {
	t.Helper()
	d := transfer.New(side)
	cfg.Doors = []weft.Door{rpcx.Door(nil), d}
	cfg.Logger = slog.New(slog.DiscardHandler)
	srv := weft.NewServer(&cfg)
	must(t, d.HandleStream(srv, b.stream))
	must(t, d.HandleUpload(srv, b.upload))
	must(t, d.HandleDownload(srv, b.download))
	l, err := srv.Listen(context.Background(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return srv, l.Addr().String()
}

// next is the next value of a channel.
func next[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatal("nothing has come")
	}
	return v
}

// TestGolden does what rpcx's client does, byte for byte.
func TestGolden(t *testing.T) {
	b := newBox()
	_, addr := serve(t, b, weft.ServerConfig{}, nil)

	n, second := token(t, addr, "_filetransfer", "TransferFile", uploadMsgpack)
	if second != addr {
		t.Errorf("the address is %q, want %q", second, addr)
	}
	conn := dialSecond(t, second, n)
	_, err := io.WriteString(conn, "hello")
	must(t, err)
	conn.Close()
	must(t, next(t, b.errs))
	if got := b.came["a.txt"]; got != "hello5 map[k:v]" {
		t.Errorf("a.txt is %q", got)
	}

	payload, failed := exchange(t, addr, request("_filetransfer", "TransferFile", inJSON, nil, []byte(uploadJSON)))
	var reply struct {
		Token []byte `json:"token"`
		Addr  string `json:"addr"`
	}
	if err := json.Unmarshal(payload, &reply); failed || err != nil || len(reply.Token) != 32 || reply.Addr != addr {
		t.Fatalf("the reply is %s, %v, %v", payload, failed, err)
	}
	conn = dialSecond(t, reply.Addr, append(reply.Token, "howdy"...)) // with the token in one write
	conn.Close()
	must(t, next(t, b.errs))
	if got := b.came["a.txt"]; got != "howdy5 map[k:v]" {
		t.Errorf("a.txt is %q", got)
	}

	n, second = token(t, addr, "_filetransfer", "DownloadFile", downloadMsgpack)
	conn = dialSecond(t, second, nil)
	for _, one := range n { // the token in pieces
		_, err := conn.Write([]byte{one})
		must(t, err)
	}
	if data, err := io.ReadAll(conn); err != nil || string(data) != "hello" {
		t.Errorf("a.txt was read as %q, %v", data, err)
	}

	n, second = token(t, addr, "_streamservice", "Stream", streamMsgpack)
	conn = dialSecond(t, second, n)
	_, err = io.WriteString(conn, "there and back")
	must(t, err)
	got := make([]byte, len("vthere and back"))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "vthere and back" {
		t.Errorf("the stream gave %q, %v", got, err)
	}
	must(t, conn.CloseWrite())
	if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
		t.Errorf("the stream ended with %q, %v", rest, err)
	}
	must(t, next(t, b.streams))
}

// ended waits for the end of a connection, which must be a reset without a byte before it: a client takes another end for that of an
// empty file.
func ended(t testing.TB, conn net.Conn) {
	t.Helper()
	if b, err := io.ReadAll(conn); len(b) > 0 || err == nil || isTimeout(err) {
		t.Errorf("the connection gave %q, %v, want a reset", b, err)
	}
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// TestTokens has tokens that are used twice, that are not known, that are cut, and that never come.
func TestTokens(t *testing.T) {
	t.Parallel() // it waits for the end of a handshake
	b := newBox()
	srv, addr := serve(t, b, weft.ServerConfig{}, nil)
	n, second := token(t, addr, "_filetransfer", "DownloadFile", downloadMsgpack)
	for i := 8; i < len(n); i++ { // none of these takes the token; the door knows its connections by 8 bytes
		conn := dialSecond(t, second, n[:i])
		_ = conn.CloseWrite() // the server may have given it up
		ended(t, conn)
	}
	wrong := append([]byte(nil), n...)
	wrong[31] ^= 1
	ended(t, dialSecond(t, second, wrong))
	silent := dialSecond(t, second, n[:20]) // it holds up no other
	if data, err := io.ReadAll(dialSecond(t, second, n)); err != nil || string(data) != "hello" {
		t.Fatalf("a.txt was read as %q, %v", data, err)
	}
	ended(t, dialSecond(t, second, n))
	ended(t, silent)
	for _, m := range srv.Stats().Methods {
		if m.Method == transfer.DownloadMethod+"Conn" && m.Calls != 1 {
			t.Errorf("there were %d downloads", m.Calls)
		}
	}
}

// TestSizes sends fewer bytes than announced, more, and none.
func TestSizes(t *testing.T) {
	b := newBox()
	_, addr := serve(t, b, weft.ServerConfig{}, nil)
	for content, want := range map[string]weft.Code{"": weft.DataLoss, "hell": weft.DataLoss, "hello": 0, "hello!": weft.InvalidArgument} {
		n, second := token(t, addr, "_filetransfer", "TransferFile", uploadMsgpack)
		conn := dialSecond(t, second, append(n, content...))
		_ = conn.CloseWrite() // the server may have reset it
		data, err := io.ReadAll(conn)
		if len(data) > 0 || (err == nil) != (want == 0) {
			t.Errorf("%q: the connection ended with %q, %v", content, data, err)
		}
		err = next(t, b.errs)
		if want == 0 && err != nil || want != 0 && weft.CodeOf(err) != want || (want == weft.DataLoss) != errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v, want %v", content, err, want)
		}
	}
}

// TestPipeline looks for second connections in what a server does around calls: authentication, interceptors, statistics.
func TestPipeline(t *testing.T) {
	b := newBox()
	var mu sync.Mutex
	var seen []string
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf(format, args...))
	}
	srv, addr := serve(t, b, weft.ServerConfig{
		Authenticate: func(_ context.Context, c weft.Credential, info *weft.CallInfo) (any, error) {
			if c.Scheme != "Bearer" || c.Token != "good" {
				return nil, errors.New("no")
			}
			note("authenticated %s", info.Method)
			return c.Token, nil
		},
		AuthenticateConn: func(_ context.Context, c weft.Credential, _ *weft.Peer) (any, error) {
			if c.Token != "good" {
				return nil, errors.New("no")
			}
			return c.Token, nil
		},
		StreamInterceptors: []weft.StreamInterceptor{func(ctx context.Context, info *weft.CallInfo, s weft.RawStream, next weft.StreamFunc) error {
			note("began %s of %v by %s with %q", info.Method, weft.PrincipalFrom(ctx), info.Peer.Wire(), weft.MetadataFrom(ctx).Get("color"))
			return next(ctx, info, s)
		}},
	}, nil)
	args := unhex(t, downloadMsgpack)
	for _, auth := range []string{"", "Bearer bad"} {
		if _, failed := exchange(t, addr, request("_filetransfer", "DownloadFile", inMsgpack, map[string]string{"__AUTH": auth}, args)); !failed {
			t.Errorf("the credential %q got a token", auth)
		}
	}
	payload, failed := exchange(t, addr, request("_filetransfer", "DownloadFile", inMsgpack, map[string]string{"__AUTH": "Bearer good", "color": "red"}, args))
	if failed {
		t.Fatalf("the call failed: %q", payload)
	}
	n, second := msgpackReply(t, payload)
	if data, err := io.ReadAll(dialSecond(t, second, n)); err != nil || string(data) != "hello" {
		t.Fatalf("a.txt was read as %q, %v", data, err)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"authenticated _filetransfer.DownloadFile", "authenticated _filetransfer.DownloadFileConn",
		`began _filetransfer.DownloadFileConn of good by rpcx with "red"`,
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("seen: %q, want %q", seen, want)
	}
	var of *weft.MethodStats
	for end := time.Now().Add(patience); of == nil || of.Calls != 1; time.Sleep(time.Millisecond) {
		for _, m := range srv.Stats().Methods {
			if m.Method == "_filetransfer.DownloadFileConn" {
				of = &m
			}
		}
		if time.Now().After(end) {
			t.Fatalf("the statistics are %+v", of)
		}
	}
	if of.ReplyBytes != 5 || len(of.Codes) != 0 {
		t.Errorf("the statistics are %+v", of)
	}
}

// TestConnectionAuthentication refuses a second connection whose credential is not good any more.
func TestConnectionAuthentication(t *testing.T) {
	var mu sync.Mutex
	revoked := false
	_, addr := serve(t, newBox(), weft.ServerConfig{AuthenticateConn: func(context.Context, weft.Credential, *weft.Peer) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		if revoked {
			return nil, errors.New("revoked")
		}
		return nil, nil
	}}, nil)
	n, second := token(t, addr, "_filetransfer", "DownloadFile", downloadMsgpack)
	mu.Lock()
	revoked = true
	mu.Unlock()
	ended(t, dialSecond(t, second, n))
}

// TestDrain lets a stream end within the time of a shutdown, and cuts another one off.
func TestDrain(t *testing.T) {
	b := newBox()
	srv, addr := serve(t, b, weft.ServerConfig{}, nil)
	open := func() *net.TCPConn {
		n, second := token(t, addr, "_streamservice", "Stream", streamMsgpack)
		conn := dialSecond(t, second, n)
		got := make([]byte, 1)
		_, err := io.ReadFull(conn, got)
		must(t, err)
		return conn
	}
	ending, staying := open(), open()
	ctx, cut := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- srv.Shutdown(ctx) }() // it ends with ctx
	<-srv.Draining()
	_, err := io.WriteString(ending, "still there")
	must(t, err)
	must(t, ending.CloseWrite())
	if rest, err := io.ReadAll(ending); err != nil || string(rest) != "still there" {
		t.Errorf("a stream ended with %q, %v", rest, err)
	}
	must(t, next(t, b.streams))
	cut()
	if rest, err := io.ReadAll(staying); err == nil || isTimeout(err) {
		t.Errorf("a stream was cut off with %q, %v, want a reset", rest, err)
	}
	if err := next(t, b.streams); !errors.Is(err, context.Canceled) {
		t.Errorf("the handler got %v", err)
	}
	next(t, done)
}

// TestStuck closes the connection under a handler that does not heed its context.
func TestStuck(t *testing.T) {
	t.Parallel() // it waits
	d := transfer.New(nil)
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{rpcx.Door(nil), d}, Logger: slog.New(slog.DiscardHandler)})
	free := make(chan struct{})
	must(t, d.HandleStream(srv, func(context.Context, *transfer.Stream) error {
		<-free
		return nil
	}, weft.MethodTimeout(50*time.Millisecond)))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	n, second := token(t, l.Addr().String(), "_streamservice", "Stream", streamMsgpack)
	conn := dialSecond(t, second, n)
	if _, err := io.ReadAll(conn); err == nil || isTimeout(err) {
		t.Errorf("the connection ended with %v, want a reset", err)
	}
	close(free)
	srv.Close()
	next(t, served)
}

// TestRefused has calls that get no token.
func TestRefused(t *testing.T) {
	b := newBox()
	_, addr := serve(t, b, weft.ServerConfig{}, &transfer.Config{MaxWaiting: 1, Address: "files.example.org:8973"})
	c, err := weft.Dial(t.Context(), "tcp://"+addr, &weft.ClientConfig{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer c.Close()
	for _, test := range []struct {
		method string
		args   any
		want   weft.Code
	}{
		{transfer.UploadMethod, &transfer.UploadArgs{FileName: "../a"}, weft.InvalidArgument},
		{transfer.DownloadMethod, &transfer.DownloadArgs{FileName: "/etc/passwd"}, weft.InvalidArgument},
		{transfer.StreamMethod, &transfer.StreamArgs{Meta: map[string]string{"k": strings.Repeat("v", 16<<10)}}, weft.ResourceExhausted},
		{transfer.StreamMethod, &transfer.StreamArgs{}, 0},
		{transfer.StreamMethod, &transfer.StreamArgs{}, weft.ResourceExhausted},
	} {
		var r transfer.Reply
		err := c.Call(t.Context(), test.method, test.args, &r)
		if test.want != 0 && weft.CodeOf(err) != test.want || test.want == 0 && (err != nil || r.Addr != "files.example.org:8973" || len(r.Token) != 32) {
			t.Errorf("%s of %+v: %v, %+v", test.method, test.args, err, r)
		}
	}
	s, err := weft.OpenStream[[]byte, []byte](t.Context(), c, transfer.StreamMethod+"Conn")
	if err == nil {
		_, err = s.Recv()
	}
	if weft.CodeOf(err) != weft.FailedPrecondition {
		t.Errorf("a call of the method of second connections: %v", err)
	}
	d := transfer.New(nil)
	if d.HandleStream(weft.NewServices(), nil) == nil || d.HandleUpload(weft.NewServices(), nil) == nil || d.HandleDownload(weft.NewServices(), nil) == nil {
		t.Error("a handler may be nil")
	}
	var none transfer.Reply
	services := weft.NewServices()
	must(t, d.HandleStream(services, b.stream))
	if err := d.HandleStream(services, b.stream); weft.CodeOf(err) != weft.AlreadyExists {
		t.Errorf("a second handler: %v, %v", err, none)
	}
}

// TestNoPlace has servers to which no second connection can be made: a client of rpcx would lose its file without an error, so it
// gets no token.
func TestNoPlace(t *testing.T) {
	for _, test := range []struct {
		listen, scheme string
		attached       bool
		text           string
	}{
		{"tcp://127.0.0.1:0", "rpcx://", false, "ServerConfig.Doors"},
		{"unix://" + t.TempDir() + "/s", "rpcx+unix://", true, "Config.Address"},
	} {
		d := transfer.New(nil)
		cfg := &weft.ServerConfig{Doors: []weft.Door{rpcx.Door(nil)}, Logger: slog.New(slog.DiscardHandler)}
		if test.attached {
			cfg.Doors = append(cfg.Doors, d)
		}
		srv := weft.NewServer(cfg)
		must(t, d.HandleStream(srv, newBox().stream))
		l, err := srv.Listen(t.Context(), test.listen)
		must(t, err)
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }() // it ends with the server
		c := dial(t, test.scheme+l.Addr().String(), weft.ClientConfig{})
		_, err = (&transfer.Client{Caller: c}).OpenStream(t.Context(), nil)
		if weft.CodeOf(err) != weft.FailedPrecondition || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, want one with %q", test.listen, err, test.text)
		}
		srv.Close()
		<-served
	}
}
