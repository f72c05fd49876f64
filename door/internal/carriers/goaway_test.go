package carriers_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/carriers"
)

// TestGoAway: when a server of HTTP/2 says that it takes no more calls, the connection is at its end for new ones, while a
// call that is under way goes on, until Close.
func TestGoAway(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, cut := range []bool{false, true} {
			name := map[bool]string{false: "plain", true: "TLS"}[secure] + map[bool]string{false: "", true: ", Close"}[cut]
			t.Run(name, func(t *testing.T) { goAway(t, secure, cut) })
		}
	}
}

func goAway(t *testing.T, secure, cut bool) {
	srv := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.ProtoMajor != 2 || (r.TLS != nil) != secure {
			t.Errorf("a request of %s, TLS: %v", r.Proto, r.TLS != nil)
		}
		w.WriteHeader(nethttp.StatusOK)
		nethttp.NewResponseController(w).Flush()
		io.CopyN(w, r.Body, 10)
		nethttp.NewResponseController(w).Flush()
		io.Copy(w, r.Body)
	}))
	if secure {
		srv.EnableHTTP2 = true
		srv.StartTLS()
	} else {
		srv.Config.Protocols = new(nethttp.Protocols)
		srv.Config.Protocols.SetUnencryptedHTTP2(true)
		srv.Start()
	}
	defer srv.Close()
	addr := srv.Listener.Addr().String()
	c, err := carriers.Dial(t.Context(), weft.WireConfig{Address: addr, Limits: weft.Limits{MaxMessage: 1 << 20},
		Dial: func(ctx context.Context) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			if err != nil || !secure {
				return nc, err
			}
			roots := x509.NewCertPool()
			roots.AddCert(srv.Certificate())
			tc := tls.Client(nc, &tls.Config{RootCAs: roots, ServerName: "example.com", NextProtos: carriers.Protocols()})
			return tc, tc.HandshakeContext(ctx)
		},
	}, carriers.Options{MaxConns: 2, HTTP2: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Post(t.Context(), "/", nethttp.Header{})
	if err != nil {
		t.Fatal(err)
	}
	in, out := io.Pipe()
	defer out.Close()
	r.Body, r.ContentLength = in, -1
	res, err := c.Do(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	stop, give := context.WithTimeout(t.Context(), time.Minute)
	defer give()
	down := make(chan error, 1)
	go func() { down <- srv.Config.Shutdown(stop) }()
	select {
	case <-c.Done():
	case <-stop.Done():
		t.Fatal("the connection has not ended")
	}
	if err := call(stop, c); weft.CodeOf(err) != weft.Unavailable {
		t.Errorf("a call after that: %v", err)
	}
	if _, err := out.Write([]byte("still here")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	if _, err := io.ReadFull(res.Body, b); err != nil || string(b) != "still here" {
		t.Errorf("the call that was under way got %q, %v", b, err)
	}
	if cut {
		c.Close()
		if _, err := res.Body.Read(b); err == nil || err == io.EOF {
			t.Errorf("the call that was under way when the connection was closed got %v", err)
		} else if e := c.Lost(t.Context(), err); e.Reason != weft.ReasonClosed {
			t.Errorf("its error is %v", e)
		}
	}
	out.Close()
	if !cut {
		if _, err := res.Body.Read(b); err != io.EOF {
			t.Errorf("the call that was under way ended with %v", err)
		}
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

// TestGoAwayOneway: a one-way call that the server runs when it says that it takes no more calls is not cut off by the Close that
// follows; it is by the next one.
func TestGoAwayOneway(t *testing.T) {
	for _, again := range []bool{false, true} {
		begun, release, cut := make(chan struct{}), make(chan struct{}), make(chan bool, 1)
		srv := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) {
			close(begun)
			select {
			case <-r.Context().Done():
				cut <- true
			case <-release:
				cut <- false
			}
		}))
		srv.Config.Protocols = new(nethttp.Protocols)
		srv.Config.Protocols.SetUnencryptedHTTP2(true)
		srv.Start()
		addr := srv.Listener.Addr().String()
		c, err := carriers.Dial(t.Context(), weft.WireConfig{Address: addr, Limits: weft.Limits{MaxMessage: 1 << 20},
			Dial: func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", addr) },
		}, carriers.Options{MaxConns: 2, HTTP2: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Post(t.Context(), "/", nethttp.Header{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Oneway(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		<-begun
		down := make(chan error, 1)
		go func() { down <- srv.Config.Shutdown(context.Background()) }() // it ends with the call
		<-c.Done()
		c.Close()
		if again {
			c.Close()
		} else {
			time.Sleep(100 * time.Millisecond) // for the end that must not come
			close(release)
		}
		if got := <-cut; got != again {
			t.Errorf("Close was called again: %v, the call was cut off: %v", again, got)
		}
		if err := <-down; err != nil {
			t.Error(err)
		}
		srv.Close()
		c.Close()
	}
}
