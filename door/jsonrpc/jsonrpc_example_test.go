package jsonrpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/jsonrpc"
)

// Args are the operands of the example.
type Args struct{ A, B int }

// A client of JSON-RPC, and one of weft with the wire, call a server on the port that it has.
func Example() {
	ctx := context.Background()
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{jsonrpc.Door(nil)}})
	err := weft.Handle(srv, "Arith.Mul", func(_ context.Context, a *Args) (*int, error) {
		c := a.A * a.B
		return &c, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go srv.Serve(l) // this goroutine ends with the server
	defer srv.Close()

	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	io.WriteString(conn, `[{"jsonrpc":"2.0","method":"Arith.Mul","params":{"A":7,"B":8},"id":1}]`)
	conn.(*net.TCPConn).CloseWrite()
	answer, err := io.ReadAll(conn)
	conn.Close()
	fmt.Print(string(answer))

	c, err := weft.Dial(ctx, "jsonrpc://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{jsonrpc.Wire()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	product, err := weft.Invoke[int](ctx, c, "Arith.Mul", &Args{7, 8})
	fmt.Println(*product, err)
	// Output:
	// [{"jsonrpc":"2.0","id":1,"result":56}]
	// 56 <nil>
}

// A client calls a server of another kind over HTTP, whose methods have names without a service and whose errors have numbers of its own.
func ExampleWireHTTP() {
	ctx := context.Background()
	node := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		var request struct {
			ID     int
			Method string
			Params []any
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			nethttp.Error(w, err.Error(), nethttp.StatusBadRequest)
			return
		}
		if request.Method == "getblockhash" && request.Params[0] == float64(1) {
			fmt.Fprintf(w, `{"result":"00000000839a8e68","error":null,"id":%d}`, request.ID)
			return
		}
		w.WriteHeader(nethttp.StatusInternalServerError)
		fmt.Fprintf(w, `{"result":null,"error":{"code":-8,"message":"Block height out of range"},"id":%d}`, request.ID)
	}))
	defer node.Close()

	c, err := weft.Dial(ctx, "jsonrpc+http://"+node.Listener.Addr().String()+"/", &weft.ClientConfig{
		Wires: []weft.Wire{jsonrpc.WireHTTP(&jsonrpc.HTTPConfig{Service: "node"})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	hash, err := weft.Invoke[string](ctx, c, "node.getblockhash", &[]any{1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*hash)
	_, err = weft.Invoke[string](ctx, c, "node.getblockhash", &[]any{-1})
	code, _, _ := jsonrpc.Caught(err)
	fmt.Println(weft.CodeOf(err), code)
	// Output:
	// 00000000839a8e68
	// Unknown -8
}
