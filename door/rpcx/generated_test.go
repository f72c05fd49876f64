package rpcx_test

import (
	"context"
	"encoding/json"
	"net"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftrpc/weft"
	codecjson "github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/rpcx"
)

// doubled answers with twice the seconds.
func doubled(srv *weft.Server) error {
	return weft.Handle(srv, "Time.Twice", func(_ context.Context, d *durationpb.Duration) (*durationpb.Duration, error) {
		return &durationpb.Duration{Seconds: 2 * d.Seconds, Nanos: d.Nanos}, nil
	})
}

// TestGeneratedAsJSON: generated messages as JSON are as encoding/json has them, with which rpcx's own programs encode and decode.
func TestGeneratedAsJSON(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{}, doubled)
	request, err := json.Marshal(&durationpb.Duration{Seconds: 5, Nanos: 7})
	must(t, err)
	p, err := plain(t, addr).do(&packet{third: 0x10, path: "Time", method: "Twice", payload: request})
	must(t, err)
	var got durationpb.Duration
	if err := json.Unmarshal(p.payload, &got); err != nil || got.Seconds != 10 || got.Nanos != 7 {
		t.Errorf("the door has answered %s, %q: %v", p.payload, p.meta, err)
	}
}

// TestGeneratedAsJSONByWire: the same of a client.
func TestGeneratedAsJSONByWire(t *testing.T) {
	came := make(chan string, 1)
	addr := listen(t, func(conn net.Conn) {
		for {
			p, err := readPacket(conn)
			if err != nil {
				return
			}
			came <- string(p.payload)
			p.second, p.payload = 0x80, []byte(`{"seconds":11}`)
			_, _ = conn.Write(p.bytes()) // an error is that of the connection
		}
	})
	c := dial(t, addr, rpcx.Wire(&rpcx.WireConfig{NoHeartbeat: true}), func(cfg *weft.ClientConfig) { cfg.Codec = codecjson.New() })
	got, err := weft.Invoke[durationpb.Duration](t.Context(), c, "Time.Twice", &durationpb.Duration{Seconds: 5, Nanos: 7})
	must(t, err)
	if body := <-came; body != `{"seconds":5,"nanos":7}` || got.Seconds != 11 {
		t.Errorf("%s was sent, and %v received", body, got.Seconds)
	}
	must(t, c.Close())
}

// TestGeneratedAsJSONByGateway: the same of the gateway.
func TestGeneratedAsJSONByGateway(t *testing.T) {
	_, addr := serve(t, weft.ServerConfig{Doors: []weft.Door{http.Door(&http.Config{Handler: rpcx.Handler(nil, nil)})}}, doubled)
	a, body := ask(t, "POST", "http://"+addr+"/", `{"seconds":5}`, "X-RPCX-ServicePath", "Time", "X-RPCX-ServiceMethod", "Twice", "X-RPCX-SerializeType", "1")
	if a.StatusCode != 200 || body != `{"seconds":10}` {
		t.Errorf("%d %s", a.StatusCode, body)
	}
}
