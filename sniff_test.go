package weft_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/logger"
)

// stubDoor wants connections that begin with its word.
type stubDoor struct{ word string }

func (d stubDoor) Name() string        { return d.word }
func (d stubDoor) Protocols() []string { return []string{d.word} }
func (d stubDoor) Match(prefix []byte) (yes, more bool) {
	return strings.HasPrefix(string(prefix), d.word), strings.HasPrefix(d.word, string(prefix))
}
func (d stubDoor) Serve(c *weft.DoorConn) error {
	if _, err := c.Admit(weft.Credential{}, nil); err != nil {
		return err
	}
	b := make([]byte, len(d.word))
	if _, err := c.Conn().Read(b); err != nil {
		return err
	}
	_, err := c.Conn().Write([]byte("<" + string(b) + ">"))
	return err
}

// A connection that no door wants is closed, and the log says what it looked like.
func TestStrangers(t *testing.T) {
	for begins, want := range map[string]string{
		"GET / HTTP/1.1\r\n\r\n":                      "HTTP/1",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":            "HTTP/2 or gRPC",
		"\x16\x03\x01\x02\x00\x01":                    "TLS, and this listener is plaintext",
		"\x2e\x7f\x03\x01\x01\x07Request\x01\xff\x80": "gob of net/rpc: the server has no door for it; add door/netrpc to ServerConfig.Doors",
		`{"method":"Arith.Mul"}`:                      "JSON",
		"\x80\x01\x00\x01\x00\x00":                    "Thrift without frames",
		"\x00\x00\x00\x20\x80\x01\x00\x01":            "Thrift with frames",
		"SSH-2.0-OpenSSH\r\n":                         "SSH",
		"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n":          "PROXY protocol",
		"\xda\xbb\x00\x00":                            "Dubbo",
		"hello there":                                 `it began with \"hello there\"`,
	} {
		synctest.Test(t, func(t *testing.T) {
			var logged log
			w := start(t, &weft.ServerConfig{Logger: logged.logger()}, nil)
			for range 5 {
				conn, err := w.net.Dial(t.Context(), "server")
				must(t, err)
				_, err = io.WriteString(conn, begins)
				must(t, err)
				conn.SetReadDeadline(time.Now().Add(20 * time.Second))
				if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%q: %d bytes, %v", begins, n, err)
				}
				conn.Close()
			}
			time.Sleep(logger.Interval)
			synctest.Wait()
			must(t, w.srv.Close())
			wantText(t, logged.String(), "level=WARN", want, "times=4")
			if n := strings.Count(logged.String(), "not served here"); n != 2 {
				t.Errorf("%q: five connections made %d log lines", begins, n)
			}
		})
	}
}

// Doors are asked for more bytes until one wants the connection, and weft's own wire is
// served beside them.
func TestDoors(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{stubDoor{"hello"}, stubDoor{"help"}}})
	must(t, srv.Register(Arith{}))
	addr := serve(t, srv, "tcp://127.0.0.1:0")
	for _, word := range []string{"hello", "help"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(addr, "tcp://"))
		must(t, err)
		for i := range len(word) {
			_, err := conn.Write([]byte{word[i]})
			must(t, err)
			time.Sleep(time.Millisecond) // so that some come alone; the result is the same if not
		}
		got := make([]byte, len(word)+2)
		conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		for have := 0; have < len(got); {
			n, err := conn.Read(got[have:])
			if have += n; err != nil {
				t.Fatalf("%q: %q, %v", word, got[:have], err)
			}
		}
		if string(got) != "<"+word+">" {
			t.Errorf("%q was answered with %q", word, got)
		}
		conn.Close()
	}
	multiply(t, dial(t, addr, nil))
}

func TestWrongDoors(t *testing.T) {
	for want, cfg := range map[string]*weft.ServerConfig{
		"door 0 of the configuration is nil":           {Doors: []weft.Door{nil}},
		`both speak "a" in TLS`:                        {Doors: []weft.Door{stubDoor{"a"}, stubDoor{"a"}}},
		"TLS is configured without a certificate":      {TLS: &tls.Config{}},
		"limit MaxCalls is -1, want 0 (its default)":   {Limits: weft.Limits{MaxCalls: -1}},
		"hook of type int implements none of the hook": {Hooks: []any{1}},
	} {
		srv := weft.NewServer(cfg)
		_, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
		wantError(t, err, weft.InvalidArgument, 0, want)
		wantError(t, srv.Register(Arith{}), weft.InvalidArgument, 0, want)
		wantError(t, weft.Handle(srv, "A.B", Arith{}.Mul), weft.InvalidArgument, 0, want)
		wantError(t, srv.Alias("A.B", "Arith.Mul"), weft.InvalidArgument, 0, want)
		must(t, srv.Close())
	}
}

func TestAddressForms(t *testing.T) {
	for address, want := range map[string]string{
		"tcp@127.0.0.1:8972": `write tcp://127.0.0.1:8972`,
		"grpc://x:1":         `no transport or wire has the scheme "grpc"; there are tcp, unix`,
	} {
		_, err := weft.Dial(t.Context(), address, nil)
		wantError(t, err, weft.InvalidArgument, 0, want)
	}
}
