package rpcx_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/rpcx"
)

// TestGatewayExit: a handler that ends its goroutine, which is that of the connection, is answered for.
func TestGatewayExit(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{Doors: []weft.Door{http.Door(&http.Config{Handler: rpcx.Handler(nil, nil)})}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Test.Exit", func(context.Context, *struct{}) (*struct{}, error) {
			runtime.Goexit()
			return nil, nil
		})
	})
	a, _ := ask(t, "POST", "http://"+addr+"/Test", "{}", "X-RPCX-ServiceMethod", "Exit", "X-RPCX-SerializeType", "1")
	if a.StatusCode != 500 || a.Header.Get("X-RPCX-MessageStatusType") != "Error" {
		t.Errorf("%d %v", a.StatusCode, a.Header)
	}
}
