package doortest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// testName holds the name of the wire to the scheme by which clients reach it.
func testName(t *testing.T, k Kit) {
	if name := k.Door().Name(); name != k.Scheme {
		t.Errorf("the name of the door is %q, want the scheme of its clients' addresses, %q", name, k.Scheme)
	}
	if u, err := url.Parse(k.Scheme + "://host:1"); err != nil || u.Scheme != k.Scheme {
		t.Errorf("%q is not the scheme of an address: %v", k.Scheme, err)
	}
	w := start(t, k, nil)
	c := w.dial()
	echo(t, c, Message{"who", 1})
	for _, p := range w.srv.Peers() {
		if p.Wire() != k.Scheme {
			t.Errorf("Peer.Wire is %q, want %q", p.Wire(), k.Scheme)
		}
	}
}

// testOnePort calls by weft's wire and by the door's at the same time on one port.
func testOnePort(t *testing.T, k Kit) {
	w := start(t, k, nil)
	native, err := weft.Dial(t.Context(), "tcp://"+w.addr, nil)
	must(t, err)
	defer native.Close()
	c := w.dial()
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range 100 {
			back, err := weft.Invoke[Message](t.Context(), native, "Test.Echo", &Message{"native", n})
			if err != nil || back.N != n {
				t.Errorf("%v, %v", back, err)
				return
			}
		}
	})
	for n := range 100 {
		echo(t, c, Message{"door", n})
	}
	wg.Wait()
	wires := map[string]int{}
	for _, p := range w.srv.Peers() {
		wires[p.Wire()]++
	}
	if wires["weft"] != 1 || wires[k.Door().Name()] != 1 {
		t.Errorf("peers by wire: %v", wires)
	}
}

// testTLS does the same over TLS, where the door may be found by ALPN.
func testTLS(t *testing.T, k Kit) {
	own, roots := certificate(t)
	w := start(t, k, &weft.ServerConfig{TLS: &tls.Config{Certificates: []tls.Certificate{own}}})
	var protocols []string
	if k.TLSProtocol != "" {
		protocols = append(protocols, k.TLSProtocol)
	}
	conn, err := tls.Dial("tcp", w.addr, &tls.Config{RootCAs: roots, NextProtos: protocols})
	must(t, err)
	echo(t, w.client(conn), Message{"by the door", 1})
	native, err := weft.Dial(t.Context(), "tcp://"+w.addr, &weft.ClientConfig{TLS: &tls.Config{RootCAs: roots}})
	must(t, err)
	defer native.Close()
	if _, err := weft.Invoke[Message](t.Context(), native, "Test.Echo", &Message{"by weft's wire", 1}); err != nil {
		t.Error(err)
	}
}

// certificate makes a certificate of the loopback address that signs itself.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	root, err := x509.ParseCertificate(der)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(root)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// recorded is a connection that notes what is written to it.
type recorded struct {
	net.Conn
	mu    sync.Mutex
	bytes []byte
}

func (r *recorded) Write(p []byte) (int, error) {
	r.mu.Lock()
	r.bytes = append(r.bytes, p...)
	r.mu.Unlock()
	return r.Conn.Write(p)
}

// record is what a client writes for three calls.
func (w *world) record() []byte {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	must(w.t, err)
	r := &recorded{Conn: conn}
	c := w.client(r)
	echo(w.t, c, Message{"first", 1})
	wantError(w.t, c.Call("Test.Fail", &Message{Text: "second"}, new(Message)), "no second here")
	echo(w.t, c, Message{"third", 3})
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes
}

// testCutBytes ends connections after each byte of a good exchange.
func testCutBytes(t *testing.T, k Kit) {
	w := start(t, k, nil)
	exchange := w.record()
	for n := range exchange {
		w.send(exchange[:n], "a connection that was cut")
	}
	echo(t, w.dial(), Message{"afterwards", 1})
}

// send writes bytes to a new connection, ends its direction, and waits for the server to
// close it.
func (w *world) send(b []byte, what string) {
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer conn.Close()
	_, _ = conn.Write(b) // the server may have closed it
	_ = conn.(*net.TCPConn).CloseWrite()
	closedWithin(w.t, conn, patience, what)
}

// testChangedBytes changes bytes of a good exchange.
func testChangedBytes(t *testing.T, k Kit) {
	exchange := start(t, k, nil).record()
	w := start(t, k, &weft.ServerConfig{Limits: weft.Limits{HandshakeTimeout: 200 * time.Millisecond}})
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			random := mrand.New(mrand.NewPCG(seed, 0))
			for range 60 {
				changed := append([]byte(nil), exchange...)
				for range 1 + random.IntN(4) {
					changed[random.IntN(len(changed))] = byte(random.Uint32())
				}
				w.send(changed, "a connection with changed bytes")
			}
		})
	}
	wg.Wait()
	w.serves()
}

func testGarbage(t *testing.T, k Kit) {
	w := start(t, k, &weft.ServerConfig{Limits: weft.Limits{HandshakeTimeout: 200 * time.Millisecond}})
	for _, g := range k.Garbage {
		w.send(g, "a connection with garbage")
	}
	w.serves()
}

// serves waits for a call that goes well: a busy machine can exceed a short HandshakeTimeout.
func (w *world) serves() {
	w.t.Helper()
	polltest.True(w.t, patience, "a good connection is served", func() bool {
		conn, err := net.Dial("tcp", w.addr)
		if err != nil {
			return false
		}
		defer conn.Close()
		c, err := w.k.Dial(conn)
		if err != nil {
			return false
		}
		defer c.Close()
		m, back := Message{"afterwards", 1}, Message{}
		return c.Call("Test.Echo", &m, &back) == nil && back == m
	})
}

// testSilence sends the first bytes of an exchange one by one, or one and then nothing:
// before its wire is recognized that ends with the time of the handshake.
func testSilence(t *testing.T, k Kit) {
	calm := start(t, k, nil)
	exchange := calm.record()
	w := start(t, k, &weft.ServerConfig{Limits: weft.Limits{HandshakeTimeout: 300 * time.Millisecond}})
	conn, err := net.Dial("tcp", w.addr)
	must(t, err)
	defer conn.Close()
	_, err = conn.Write(exchange[:1])
	must(t, err)
	closedWithin(t, conn, patience, "a connection of one byte")

	accepted := calm.srv.Stats().Accepted
	slow, err := net.Dial("tcp", calm.addr)
	must(t, err)
	defer slow.Close()
	for i := range min(len(exchange), 64) {
		_, err := slow.Write(exchange[i : i+1])
		must(t, err)
	}
	polltest.True(t, patience, "the slow connection is recognized", func() bool { return calm.srv.Stats().Accepted == accepted+1 })
}
