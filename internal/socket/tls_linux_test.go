package socket

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"
)

// TestTLS has both ends of TLS read and write sockets themselves, in both directions at a time; deadlines pass, and closing ends a read.
func TestTLS(t *testing.T) {
	stock := httptest.NewTLSServer(nil)
	certificates := stock.TLS.Certificates
	stock.Close()
	one, other := ends(t, "tcp")
	pulse := new(Pulse)
	client := tls.Client(WithPulse(one, pulse), &tls.Config{InsecureSkipVerify: true})
	server := tls.Server(WithPulse(other, pulse), &tls.Config{Certificates: certificates})
	if under, ok := client.NetConn().(interface{ NetConn() net.Conn }); available && (!ok || under.NetConn() != one) {
		t.Error("the socket is not found below TLS")
	}
	const rounds = 400
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<10)
	var all sync.WaitGroup
	for _, c := range []net.Conn{client, server} {
		all.Go(func() {
			for range rounds {
				if _, err := c.Write(sent); err != nil {
					t.Error(err)
					return
				}
			}
		})
		all.Go(func() {
			got := make([]byte, len(sent))
			for range rounds {
				if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
					t.Errorf("something else was read: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	if err := client.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := client.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read returned %d, %v", n, err)
	}
	all.Go(func() {
		if n, err := server.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("Read returned %d, %v", n, err)
		}
	})
	_ = server.Close()
	all.Wait()
}
