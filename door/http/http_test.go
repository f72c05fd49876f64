package http_test

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
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// foreign is a client that makes its calls with requests of net/http on one connection.
// nethttp.Transport gives a connection up that its own goroutines are slow to use, as they are
// on a busy machine.
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
	var p struct{ Code, Detail string }
	if err := json.Unmarshal(body, &p); err != nil {
		return fmt.Errorf("status %s without a problem: %w", answer.Status, err)
	}
	for code := weft.Canceled; code <= weft.Unauthenticated; code++ {
		if code.String() == p.Code {
			return weft.Errorf(code, "%s", p.Detail)
		}
	}
	return fmt.Errorf("status %s with the code %q", answer.Status, p.Code)
}

func (f *foreign) Close() error {
	return f.conn.Close()
}

func TestDoor(t *testing.T) {
	doortest.Run(t, doortest.Kit{
		Scheme: weft.WireHTTP,
		Door:   func() weft.Door { return http.Door(nil) },
		Dial: func(conn net.Conn) (doortest.Client, error) {
			return &foreign{conn: conn, replies: bufio.NewReader(conn)}, nil
		},
		Codes:       true,
		OneCall:     true,
		TLSProtocol: "http/1.1",
		Garbage: [][]byte{
			[]byte("GET "),
			[]byte("POST / HTTP/1.1\r\n\r\n"),
			[]byte("POST /Test/Echo HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551616\r\n\r\n"),
			[]byte("POST /Test/Echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET"),
			[]byte("POST /Test/Echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
			append([]byte("GET / HTTP/1.1\r\n"), bytes.Repeat([]byte("x: y\r\n"), 1<<16)...),
			append([]byte("GET /"), bytes.Repeat([]byte("x"), 1<<20)...),
		},
	})
}

func TestStreamTurns(t *testing.T) {
	doortest.RunStreamTurns(t, doortest.Kit{Scheme: weft.WireHTTP, Door: func() weft.Door { return http.Door(nil) }},
		&weft.ClientConfig{Wires: []weft.Wire{http.Wire(nil)}})
}
