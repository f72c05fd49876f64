package transfer_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/door/rpcx/transfer"
)

// dial makes a client by a scheme.
func dial(t testing.TB, address string, cfg weft.ClientConfig) *weft.Client {
	t.Helper()
	cfg.Logger, cfg.Wires = slog.New(slog.DiscardHandler), []weft.Wire{rpcx.Wire(nil)}
	c, err := weft.Dial(t.Context(), address, &cfg)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestClient calls by both wires.
func TestClient(t *testing.T) {
	b := newBox()
	_, addr := serve(t, b, weft.ServerConfig{}, nil)
	for _, scheme := range []string{"tcp://", "rpcx://"} {
		c := &transfer.Client{Caller: dial(t, scheme+addr, weft.ClientConfig{})}
		tryAll(t, b, c)
	}
}

// tryAll transfers files in both directions and opens a stream.
func tryAll(t *testing.T, b *box, c *transfer.Client) {
	t.Helper()
	ctx := t.Context()
	large := strings.Repeat("0123456789", 100_000)
	must(t, c.SendFile(ctx, transfer.File{Name: "large", Size: 1_000_000, Meta: map[string]string{"a": "b"}}, strings.NewReader(large+"more than is sent")))
	must(t, next(t, b.errs))
	b.mu.Lock()
	if b.came["large"] != large+"1000000 map[a:b]" {
		t.Errorf("the file came with %d bytes", len(b.came["large"]))
	}
	b.mu.Unlock()
	must(t, c.SendFile(ctx, transfer.File{Name: "empty"}, strings.NewReader("")))
	must(t, next(t, b.errs))

	var got bytes.Buffer
	n, err := c.DownloadFile(ctx, "dir/large", nil, &got)
	if err != nil || n != 1_000_000 || got.String() != large {
		t.Errorf("%d bytes were downloaded, %v", n, err)
	}

	conn, err := c.OpenStream(ctx, map[string]string{"k": "value "})
	must(t, err)
	defer conn.Close()
	sent := make(chan error, 1)
	go func() { // it ends with the stream
		_, err := io.WriteString(conn, large)
		if err == nil {
			err = conn.(interface{ CloseWrite() error }).CloseWrite()
		}
		sent <- err
	}()
	back, err := io.ReadAll(conn)
	if err != nil || string(back) != "value "+large {
		t.Errorf("%d bytes came back, %v", len(back), err)
	}
	must(t, next(t, sent))
	must(t, next(t, b.streams))
}

// TestFailures has transfers that end with an error for the client.
func TestFailures(t *testing.T) {
	b := newBox()
	_, addr := serve(t, b, weft.ServerConfig{}, nil)
	c := &transfer.Client{Caller: dial(t, "rpcx://"+addr, weft.ClientConfig{})}
	ctx := t.Context()
	wants := func(what string, err error, code weft.Code, outcome weft.Outcome) {
		t.Helper()
		e, ok := errors.AsType[*weft.Error](err)
		if !ok || e.Code != code || e.Outcome != outcome {
			t.Errorf("%s: %v, want %v and %v", what, err, code, outcome)
		}
	}
	wants("a name with a folder", c.SendFile(ctx, transfer.File{Name: "a/b"}, strings.NewReader("")), weft.InvalidArgument, weft.Executed)
	wants("a size below zero", c.SendFile(ctx, transfer.File{Name: "a", Size: -1}, strings.NewReader("")), weft.InvalidArgument, weft.NotSent)

	// The clients break off when the handler runs: what comes before might never be seen.
	err := c.SendFile(ctx, transfer.File{Name: "a", Size: 5}, io.MultiReader(strings.NewReader("hell"), waiting{b.began}))
	wants("a short file", err, weft.InvalidArgument, weft.OutcomeUnknown)
	if err := next(t, b.errs); err == nil {
		t.Error("the server took a short file")
	}
	broken := errors.New("the disk is gone")
	err = c.SendFile(ctx, transfer.File{Name: "a", Size: 5}, io.MultiReader(strings.NewReader("he"), waiting{b.began}, iotest.ErrReader(broken)))
	wants("a file that cannot be read", err, weft.InvalidArgument, weft.OutcomeUnknown)
	if !errors.Is(err, broken) || next(t, b.errs) == nil {
		t.Errorf("the error is %v, or the server took the file", err)
	}
	err = c.SendFile(ctx, transfer.File{Name: "a", Size: 1, Meta: map[string]string{"refuse": "yes"}}, strings.NewReader("a"))
	wants("a file that the handler refuses", err, weft.Unknown, weft.OutcomeUnknown)
	next(t, b.began)
	next(t, b.errs)

	_, err = c.DownloadFile(ctx, "missing", nil, io.Discard)
	wants("a file that is missing", err, weft.DataLoss, weft.OutcomeUnknown)
	_, err = c.DownloadFile(ctx, "dir/large", map[string]string{"fail": "yes"}, io.Discard)
	wants("a file that is cut off", err, weft.DataLoss, weft.OutcomeUnknown)
	_, err = c.DownloadFile(ctx, "a.txt", nil, struct{ io.Writer }{failing{broken}})
	wants("a disk that is full", err, weft.Internal, weft.OutcomeUnknown)

	canceled, cancel := context.WithCancel(ctx)
	src, feed := io.Pipe()
	go func() { // it ends with the pipe
		feed.Write([]byte("he"))
		<-b.began
		cancel()
		for err := error(nil); err == nil; {
			_, err = feed.Write([]byte("llo"))
		}
	}()
	wants("a context that ends", c.SendFile(canceled, transfer.File{Name: "a", Size: 1 << 40}, src), weft.Canceled, weft.OutcomeUnknown)
	src.Close()
	if next(t, b.errs) == nil {
		t.Error("the server took a part of a file")
	}
}

// waiting has no bytes, and ends when it got a value.
type waiting struct{ c <-chan struct{} }

func (w waiting) Read([]byte) (int, error) {
	<-w.c
	return 0, io.EOF
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestTLS makes second connections with TLS to a server that has it, and gives no token to a client of rpcx, which would
// send its file in vain.
func TestTLS(t *testing.T) {
	b := newBox()
	cert, pool := certificate(t)
	_, addr := serve(t, b, weft.ServerConfig{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}}, nil)
	secured := &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
	caller := dial(t, "rpcx://"+addr, weft.ClientConfig{TLS: secured})
	tryAll(t, b, &transfer.Client{Caller: caller, TLS: secured})
	_, err := (&transfer.Client{Caller: caller}).OpenStream(t.Context(), nil)
	if weft.CodeOf(err) != weft.FailedPrecondition {
		t.Errorf("a client without TLS: %v", err)
	}
	if _, err := (&transfer.Client{Caller: caller, TLS: secured}).DownloadFile(t.Context(), "missing", nil, io.Discard); err == nil {
		t.Error("a file that is missing has an end")
	}
}

// TestAddresses has what servers of rpcx may tell.
func TestAddresses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{rpcx.Door(nil)}, Logger: slog.New(slog.DiscardHandler)})
	reply := make(chan transfer.Reply, 1)
	must(t, weft.Handle(srv, transfer.StreamMethod, func(context.Context, *transfer.StreamArgs) (*transfer.Reply, error) {
		r := <-reply
		return &r, nil
	}))
	main, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(main) }() // it ends with the server
	defer func() {
		srv.Close()
		<-served
	}()
	c := &transfer.Client{Caller: dial(t, "rpcx://"+main.Addr().String(), weft.ClientConfig{})}
	token := bytes.Repeat([]byte{7}, 32)
	for _, told := range []string{"127.0.0.1:" + port, ":" + port, "0.0.0.0:" + port, "[::]:" + port} {
		reply <- transfer.Reply{Token: token, Addr: told}
		conn, err := c.OpenStream(t.Context(), nil)
		must(t, err)
		in, err := l.Accept()
		must(t, err)
		got := make([]byte, 32)
		if _, err := io.ReadFull(in, got); err != nil || !bytes.Equal(got, token) {
			t.Errorf("%s: the token came as % x, %v", told, got, err)
		}
		in.Close()
		conn.Close()
	}
	var asked []string
	c.Dial = func(_ context.Context, network, address string) (net.Conn, error) {
		asked = append(asked, network+" "+address)
		return nil, errors.New("not there")
	}
	for _, r := range []transfer.Reply{
		{Token: token, Addr: "10.1.2.3:" + port}, {Token: token[:31], Addr: "127.0.0.1:" + port}, {Token: token, Addr: "127.0.0.1"}, {},
	} {
		reply <- r
		_, err := c.OpenStream(t.Context(), nil)
		if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.Unavailable || e.Outcome != weft.NotSent {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if len(asked) != 1 || asked[0] != "tcp 10.1.2.3:"+port {
		t.Errorf("connections were made to %q", asked)
	}
}

// certificate is one of 127.0.0.1, and a pool with it.
func certificate(t testing.TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}
