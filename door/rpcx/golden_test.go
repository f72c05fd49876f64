package rpcx_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/door/rpcx"
)

// Args and Reply are those of the exchanges that were recorded.
type (
	Args  struct{ A, B int }
	Reply struct{ C int }
)

// arith is the service of the exchanges.
func arith(srv *weft.Server) error {
	for _, err := range []error{
		weft.Handle(srv, "Arith.Mul", func(_ context.Context, a *Args) (*Reply, error) { return &Reply{a.A * a.B}, nil }),
		weft.Handle(srv, "Arith.Div", func(_ context.Context, a *Args) (*Reply, error) {
			return nil, weft.Errorf(weft.InvalidArgument, "divide by zero").WithReason("ZERO").WithDetail("t", []byte("d"))
		}),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	must(t, err)
	return b
}

// golden are exchanges of rpcx's own client and server.
var golden = []struct{ name, request, response string }{
	{"JSON",
		"08 00 00 10 0000000000000000 00000025 00000005 4172697468 00000003 4d756c 00000000 0000000d 7b2241223a372c2242223a387d",
		"08 00 80 10 0000000000000000 00000020 00000005 4172697468 00000003 4d756c 00000000 00000008 7b2243223a35367d"},
	{"MessagePack",
		"08 00 00 30 0000000000000007 00000021 00000005 4172697468 00000003 4d756c 00000000 00000009 82a14107a142cd012c",
		"08 00 80 30 0000000000000007 0000001e 00000005 4172697468 00000003 4d756c 00000000 00000006 81a143cd0834"},
	{"heartbeat",
		"08 00 40 30 0000000000000001 00000019 00000000 00000000 00000000 00000009 d318ea3ca8b25e083d",
		"08 00 c0 30 0000000000000001 00000019 00000000 00000000 00000000 00000009 d318ea3ca8b25e083d"},
}

// TestGolden sends what rpcx's client sends, whole and in pieces of one byte, and gets what its server
// answers.
func TestGolden(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{}, arith)
	for _, test := range golden {
		for _, piece := range []int{1 << 20, 1} {
			conn, err := net.Dial("tcp", addr)
			must(t, err)
			request, want := unhex(t, test.request), unhex(t, test.response)
			for len(request) > 0 {
				n := min(piece, len(request))
				_, err := conn.Write(request[:n])
				must(t, err)
				request = request[n:]
			}
			got := make([]byte, len(want))
			conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: answered % x, %v, want % x", test.name, got, err, want)
			}
			conn.Close()
		}
	}
}

// TestGoldenClient answers a client as rpcx's server does, and looks at what it sends.
func TestGoldenClient(t *testing.T) {
	sent := make(chan *packet, 4)
	addr := listen(t, func(conn net.Conn) {
		r := bufio.NewReader(conn)
		for {
			p, err := readPacket(r)
			if err != nil {
				return
			}
			sent <- p
			reply := unhex(t, golden[0].response)
			copy(reply[4:], p.bytes()[4:12])
			if text := map[string]string{"Div": "divide by zero", "Late": "context deadline exceeded", "Gone": "context canceled"}[p.method]; text != "" {
				reply = (&packet{second: 0x81, third: 0x10, seq: p.seq, path: p.path, method: p.method,
					meta: map[string]string{"__rpcx_error__": text}, payload: []byte(`{"C":0}`)}).bytes()
			}
			if _, err := conn.Write(reply); err != nil {
				return
			}
		}
	})
	c := dial(t, addr, rpcx.Wire(nil), func(cfg *weft.ClientConfig) {
		cfg.Codec, cfg.Timeout = json.New(), -1
		cfg.Credential = weft.StaticCredential("Bearer", "secret")
	})
	var reply Reply
	must(t, c.Call(t.Context(), "Arith.Mul", &Args{7, 8}, &reply))
	if reply.C != 56 {
		t.Errorf("the reply is %+v", reply)
	}
	p := <-sent
	meta := p.meta
	p.meta, p.seq = nil, 0
	if want := unhex(t, golden[0].request); !bytes.Equal(p.bytes(), want) {
		t.Errorf("sent % x, want % x", p.bytes(), want)
	}
	if len(meta) != 2 || meta["__AUTH"] != "Bearer secret" || meta["weft-wire"] != "1" {
		t.Errorf("the metadata is %q", meta)
	}
	err := c.Call(t.Context(), "Arith.Div", &Args{7, 0}, &reply)
	if e, ok := err.(*weft.Error); !ok || e.Code != weft.Unknown || e.Outcome != weft.Executed || e.Message != "divide by zero" {
		t.Errorf("the error is %v", err)
	}
	if p := <-sent; len(p.meta) != 1 {
		t.Errorf("the second request has the metadata %q", p.meta)
	}
	for method, code := range map[string]weft.Code{"Late": weft.DeadlineExceeded, "Gone": weft.Canceled} {
		err := c.Call(t.Context(), "Arith."+method, &Args{7, 0}, &reply)
		if e, ok := err.(*weft.Error); !ok || e.Code != code || e.Outcome != weft.Executed {
			t.Errorf("%s: the error is %v", method, err)
		}
		<-sent
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, c.Call(weft.WithMetadata(ctx, "tenant", "a\x00b"), "Arith.Mul", &Args{7, 8}, &reply))
	if p := <-sent; p.meta["tenant"] != "a\x00b" || len(p.meta["__ServerTimeout"]) != 5 {
		t.Errorf("the third request has the metadata %q", p.meta)
	}
}

// TestError looks at all that an error says, for clients of both kinds.
func TestError(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{}, arith)
	c := plain(t, addr)
	p, err := c.do(&packet{third: 0x10, path: "Arith", method: "Div", payload: []byte(`{}`)})
	must(t, err)
	want := map[string]string{"__rpcx_error__": "divide by zero", "weft-code": "InvalidArgument", "weft-reason": "ZERO", "weft-detail-0": "t\x00d"}
	if p.second != 0x81 || len(p.meta) != len(want) {
		t.Errorf("the third byte is %#x, the metadata %q, want %q", p.second, p.meta, want)
	}
	for k, v := range want {
		if p.meta[k] != v {
			t.Errorf("the metadata has %q under %q, want %q", p.meta[k], k, v)
		}
	}
	for _, test := range []struct{ path, method, text string }{
		{"Arith", "Sub", "rpcx: can't find method Sub"},
		{"Arith", "Sub.Two", "rpcx: can't find method Sub.Two"},
		{"Nothing", "Mul", "rpcx: can't find service Nothing"},
		{"", "", "rpcx: can't find service "},
	} {
		p, err := c.do(&packet{third: 0x10, path: test.path, method: test.method, payload: []byte(`{}`)})
		must(t, err)
		if p.meta["__rpcx_error__"] != test.text || p.meta["weft-outcome"] != "Refused" || p.path != test.path || p.method != test.method {
			t.Errorf("%s.%s: %q", test.path, test.method, p.meta)
		}
	}
	p, err = c.do(&packet{third: 0xf0, path: "Arith", method: "Mul", payload: []byte(`{}`)})
	must(t, err)
	if p.meta["__rpcx_error__"] != "can not find codec for 15" || p.third != 0xf0 {
		t.Errorf("an unknown codec: %q", p.meta)
	}
	w := dial(t, addr, rpcx.Wire(nil), nil)
	e, ok := w.Call(t.Context(), "Arith.Div", &Args{}, nil).(*weft.Error)
	if !ok || e.Code != weft.InvalidArgument || e.Reason != "ZERO" || e.Outcome != weft.Executed || len(e.Details) != 1 || string(e.Details[0].Value) != "d" {
		t.Errorf("a client of weft gets %v", e)
	}
}

// listen serves connections by a function.
func listen(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ended := make(chan struct{})
	go func() { // it ends with the listener
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return l.Addr().String()
}
