package oneport

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"io"
	"log/slog"
	"math/big"
	mrand "math/rand/v2"
	"net"
	nethttp "net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/http"
	weftjson "github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/door/thrift"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// overTLS is how many connections TestOnePortTLS makes. Each costs two handshakes in this process.
var overTLS = flag.Int("tls", 1000, "connections with TLS, of which one in five speaks a wire and stays")

// patience is how long what must happen may take. A busy machine needs it.
const patience = time.Minute

// limits are the defaults, but for the silence that ends a connection: both ends share the machine with thousands of
// other connections.
func limits() weft.Limits {
	return weft.Limits{HandshakeTimeout: patience, PingTimeout: patience, PingIdle: time.Hour}
}

// start starts a server with every door.
func start(t *testing.T, secure *tls.Config) (*weft.Server, string) {
	t.Helper()
	mux := nethttp.NewServeMux()
	mux.Handle("/thrift", thrift.Handler(nil))
	mux.Handle("/", rpcx.Handler(nil, weftjson.Handler(nil)))
	doors := append(connect.Doors(&connect.Config{HTTP: &http.Config{Handler: mux, IdleTimeout: time.Hour}}),
		rpcx.Door(nil), netrpc.Door(), thrift.Door(nil), weftjson.Door(nil))
	srv := weft.NewServer(&weft.ServerConfig{
		Doors: doors, MaxConns: *overTLS + 2*places, MaxPending: 2 * places,
		TLS: secure, Logger: slog.New(slog.DiscardHandler), Limits: limits(), Timeout: patience,
	})
	if err := weft.Handle(srv, "Test.Echo", func(_ context.Context, m *Message) (*Message, error) { return m, nil }); err != nil {
		t.Fatal(err)
	}
	err := weft.HandleStream(srv, "Test.Talk", func(_ context.Context, s *weft.Stream[Message, Message]) error {
		for m, err := range s.All() {
			if err != nil {
				return err
			}
			if err := s.Send(m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return srv, l.Addr().String()
}

// TestOnePort opens a connection of every wire, then thousands of connections of random wires and of
// none, and calls by the first ones again.
func TestOnePort(t *testing.T) {
	srv, addr := start(t, nil)
	everyWire(t, srv, addr, nil, 10_000)
}

// TestOnePortTLS does the same over TLS, where gRPC, Connect and HTTP are told by ALPN and the others, and the same without ALPN, by their
// first bytes inside. Here the connections that speak a wire stay open and are all called again at the end. Some of those that speak none
// break off below TLS.
func TestOnePortTLS(t *testing.T) {
	own, roots := certificate(t)
	srv, addr := start(t, &tls.Config{Certificates: []tls.Certificate{own}})
	everyWire(t, srv, addr, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}, *overTLS)
}

// places is how many connections are made at a time beside the first ones.
const places = 48

func everyWire(t *testing.T, srv *weft.Server, addr string, secure *tls.Config, connections int) {
	all := wires()
	var kept []client
	defer func() {
		for _, c := range kept {
			c.Close()
		}
	}()
	open := make(map[string]int)
	for _, w := range all {
		c, err := w.dial(addr, secure)
		if err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		kept = append(kept, c)
		if w.h2 && secure != nil {
			open["grpc"]++
		} else {
			open[w.peer]++
		}
		call(t, w.name, c, 0)
	}
	for _, p := range srv.Peers() {
		open[p.Wire()]--
	}
	for name, n := range open {
		if n != 0 {
			t.Errorf("%d connections more than peers have the wire %q", n, name)
		}
	}

	turns := make(chan struct{}, places)
	var wg sync.WaitGroup
	var mu sync.Mutex // of kept and names
	names := make([]string, 0, len(kept))
	for _, w := range all {
		names = append(names, w.name+", opened first")
	}
	for i := range connections {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			random := mrand.New(mrand.NewPCG(uint64(i), 7))
			if i%5 > 0 {
				garbage(t, random, addr, secure)
				return
			}
			w := all[random.IntN(len(all))]
			c, err := w.dial(addr, secure)
			if err != nil {
				t.Errorf("%s: %v", w.name, err)
				return
			}
			for range 1 + random.IntN(4) {
				call(t, w.name, c, random.IntN(20_000))
			}
			if secure == nil {
				c.Close()
				return
			}
			mu.Lock()
			defer mu.Unlock()
			kept, names = append(kept, c), append(names, w.name)
		})
	}
	wg.Wait()
	for i, c := range kept {
		call(t, names[i], c, 100)
	}
}

// call makes a call whose reply is known.
func call(t *testing.T, name string, c client, size int) {
	t.Helper()
	m := &Message{strings.Repeat("x", size), size}
	if back, err := c.Echo(m); err != nil || *back != *m {
		t.Errorf("%s, %d bytes: %v", name, size, err)
	}
}

// garbage opens a connection that speaks no wire, or begins one and breaks off: the server ends it
// when the client has.
func garbage(t *testing.T, random *mrand.Rand, addr string, secure *tls.Config) {
	begins := []string{
		"", "G", "GET ", "POST /Test/Echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", "PRI * HT",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "P", "CONNECT /", "CONNECT /_goRPC_ HTTP/1.0\n\n", "{", "[[", `{"method":"Test.Echo","params":[`, " \r\n", "\r\n\r\n\x00\r\nQUIT\n",
		"\x2e\x7f\x03\x01\x01\x07Request", "\x2e", "\xf7", "\xf7weft", "\x16\x03\x01\x02\x00\x01\x00", "SSH-2.0-x\r\n", "\x80\x01\x00\x01", "\x08\x00", "\x00\x00\x00\x20",
		"\x80\x01\x00\x01\x00\x00\x00\x04Echo\x00\x00\x00\x01", "\x82\x21\x01\x04Echo", "\x00\x00\x00\x20\x82\x21\x01\x04Echo", "\x00\x00\x00\x20\x0f\xff\x00\x00", "\x00\x00\x00\x04Echo\x01",
		"\x08\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x20\x00\x00\x00\x04Test", "CONNECT /_rpcx_ HTTP/1.0\n\n",
		"POST /Test/Echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/connect+json\r\nContent-Length: 9\r\n\r\n\x00\x00\x00\x00\x09",
		"POST /Test/Echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/grpc-web-text\r\nContent-Length: 9\r\n\r\nAAAA",
		"GET /rpc HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
		"GET /Test/Talk HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n\x81",
	}
	b := []byte(begins[random.IntN(len(begins))])
	for range random.IntN(200) {
		b = append(b, byte(random.Uint32()))
	}
	if secure != nil {
		protocols := [][]string{nil, {"http/1.1"}, {"h2"}, {"weft/1"}, {"h2", "http/1.1"}, {"unknown"}, {"below"}}[random.IntN(7)]
		secure = secure.Clone()
		secure.NextProtos = protocols
		if protocols != nil && protocols[0] == "below" {
			secure = nil
		}
	}
	conn, err := underneath(addr, secure)
	if err != nil {
		if secure == nil || !slices.Contains(secure.NextProtos, "unknown") { // which the server refuses
			t.Errorf("connect: %v", err)
		}
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	_, _ = conn.Write(b) // the server may have closed it
	_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection that began with %.40q stays open", b)
	}
}

// certificate makes a certificate of the loopback address that signs itself.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(root)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
