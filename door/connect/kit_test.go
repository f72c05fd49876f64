package connect_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/doortest"
)

// foreign is a client that makes unary calls of Connect with requests of net/http on one connection.
type foreign struct {
	conn net.Conn

	mu      sync.Mutex
	replies *bufio.Reader
}

// Call implements doortest.Client.
func (f *foreign) Call(method string, args, reply any) error {
	body, err := json.Marshal(args)
	if err != nil {
		return err
	}
	dot := strings.LastIndexByte(method, '.')
	request, err := nethttp.NewRequest("POST", "http://server/"+method[:dot]+"/"+method[dot+1:], bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Connect-Protocol-Version", "1")
	f.mu.Lock()
	defer f.mu.Unlock()
	wrote := request.Write(f.conn)
	answer, err := nethttp.ReadResponse(f.replies, request) // there may be one to a request that was not taken whole
	if err != nil {
		return errors.Join(err, wrote)
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(answer.Body); err != nil {
		return err
	}
	if answer.StatusCode == nethttp.StatusOK {
		return json.Unmarshal(body, reply)
	}
	var p struct{ Code, Message string }
	if err := json.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("status %s without an error of Connect: %w", answer.Status, err)
	}
	for code := weft.Canceled; code <= weft.Unauthenticated; code++ {
		if strings.EqualFold(code.String(), strings.ReplaceAll(p.Code, "_", "")) {
			return weft.Errorf(code, "%s", p.Message)
		}
	}
	return fmt.Errorf("status %s with the code %q", answer.Status, p.Code)
}

func (f *foreign) Close() error { return f.conn.Close() }

// TestDoor tries the door for HTTP/1.1; that for HTTP/2 is the one of package grpc, which TestWire and the
// tests of module interop try.
func TestDoor(t *testing.T) {
	doortest.Run(t, doortest.Kit{
		Scheme: weft.WireHTTP,
		Door:   func() weft.Door { return connect.Doors(nil)[1] },
		Dial: func(conn net.Conn) (doortest.Client, error) {
			return &foreign{conn: conn, replies: bufio.NewReader(conn)}, nil
		},
		Codes: true, OneCall: true, TLSProtocol: "http/1.1",
		Garbage: [][]byte{
			[]byte("POST /Test/Echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/connect+json\r\nContent-Length: 5\r\n\r\n\x00\xff\xff\xff\xff"),
			[]byte("POST /Test/Echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/grpc-web-text\r\nContent-Length: 6\r\n\r\n=====\x00"),
			[]byte("GET /Test/Echo?encoding=json&message=%ff&connect=v2 HTTP/1.1\r\nHost: x\r\n\r\n"),
			append([]byte("GET / HTTP/1.1\r\n"), bytes.Repeat([]byte("x: y\r\n"), 1<<16)...),
		},
	})
}

func TestStreamTurns(t *testing.T) {
	gz := gzip.New()
	for name, cfg := range map[string]*weft.ClientConfig{
		"plain":      {},
		"compressed": {Compressor: gz, Compressors: []compress.Compressor{gz}},
	} {
		cfg.Wires = []weft.Wire{connect.Wire(&connect.WireConfig{HTTP2: true})}
		t.Run(name, func(t *testing.T) {
			doortest.RunStreamTurns(t, doortest.Kit{Scheme: "connect+http", Door: func() weft.Door { return connect.Doors(nil)[0] }}, cfg)
		})
	}
}
