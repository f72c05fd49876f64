package thrift_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/thrift"
	"github.com/weftrpc/weft/door/thrift/testdata/stock"
	"github.com/weftrpc/weft/door/wiretest"
)

// dialect makes the stock protocol of a dialect on a transport.
type dialect struct {
	name string
	make func(t apache.TTransport) apache.TProtocol
	wire thrift.WireConfig
}

func config(strict bool, id apache.THeaderProtocolID) *apache.TConfiguration {
	return &apache.TConfiguration{MaxMessageSize: 100 << 20, MaxFrameSize: 64 << 20, TBinaryStrictRead: apache.BoolPtr(strict), TBinaryStrictWrite: apache.BoolPtr(strict),
		THeaderProtocolID: &id}
}

func dialects() []dialect {
	binary := config(true, apache.THeaderProtocolBinary)
	old := config(false, apache.THeaderProtocolBinary)
	compact := config(true, apache.THeaderProtocolCompact)
	return []dialect{
		{"framed binary", func(t apache.TTransport) apache.TProtocol {
			return apache.NewTBinaryProtocolConf(apache.NewTFramedTransportConf(t, binary), binary)
		}, thrift.WireConfig{}},
		{"buffered binary", func(t apache.TTransport) apache.TProtocol {
			return apache.NewTBinaryProtocolConf(apache.NewTBufferedTransport(t, 4096), binary)
		}, thrift.WireConfig{Framing: thrift.Unframed}},
		{"framed old binary", func(t apache.TTransport) apache.TProtocol {
			return apache.NewTBinaryProtocolConf(apache.NewTFramedTransportConf(t, old), old)
		}, thrift.WireConfig{Protocol: thrift.BinaryOld}},
		{"buffered old binary", func(t apache.TTransport) apache.TProtocol {
			return apache.NewTBinaryProtocolConf(apache.NewTBufferedTransport(t, 4096), old)
		}, thrift.WireConfig{Framing: thrift.Unframed, Protocol: thrift.BinaryOld}},
		{"framed compact", func(t apache.TTransport) apache.TProtocol {
			return apache.NewTCompactProtocolConf(apache.NewTFramedTransportConf(t, compact), compact)
		}, thrift.WireConfig{Protocol: thrift.Compact}},
		{"buffered compact", func(t apache.TTransport) apache.TProtocol {
			return apache.NewTCompactProtocolConf(apache.NewTBufferedTransport(t, 4096), compact)
		}, thrift.WireConfig{Framing: thrift.Unframed, Protocol: thrift.Compact}},
		{"headers binary", func(t apache.TTransport) apache.TProtocol {
			return apache.NewTHeaderProtocolConf(t, binary)
		}, thrift.WireConfig{Framing: thrift.THeader}},
		{"headers compact", func(t apache.TTransport) apache.TProtocol {
			return apache.NewTHeaderProtocolConf(t, compact)
		}, thrift.WireConfig{Framing: thrift.THeader, Protocol: thrift.Compact}},
		{"framed JSON", func(t apache.TTransport) apache.TProtocol {
			return apache.NewTJSONProtocol(apache.NewTFramedTransportConf(t, binary))
		}, thrift.WireConfig{Protocol: thrift.JSON}},
		{"buffered JSON", func(t apache.TTransport) apache.TProtocol {
			return apache.NewTJSONProtocol(apache.NewTBufferedTransport(t, 4096))
		}, thrift.WireConfig{Framing: thrift.Unframed, Protocol: thrift.JSON}},
	}
}

// stockClient is a client of the stock library, which has one call at a time.
type stockClient struct {
	conn  net.Conn
	mu    sync.Mutex
	proto apache.TProtocol
}

func (c *stockClient) Call(method string, args, reply any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	service, name, _ := strings.Cut(method, ".")
	in, out := args.(*doortest.Message), reply.(*doortest.Message)
	var result stock.TestEchoResult
	client := apache.NewTStandardClient(c.proto, apache.NewTMultiplexedProtocol(c.proto, service))
	_, err := client.Call(context.Background(), name, &stock.TestEchoArgs{Text: in.Text, N: int64(in.N)}, &result)
	if err != nil {
		if len(err.Error()) > 1<<10 { // it repeats the name
			return errors.New("a long error")
		}
		return err
	}
	if result.Success == nil {
		return errors.New("there is no result")
	}
	*out = doortest.Message{Text: result.Success.Text, N: int(result.Success.N)}
	return nil
}

func (c *stockClient) Close() error { return c.conn.Close() }

func TestLargeRequestsTakeTurns(t *testing.T) {
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			doortest.RunTurns(t, doortest.Kit{Door: func() weft.Door { return thrift.Door(nil) }, Dial: func(conn net.Conn) (doortest.Client, error) {
				return &stockClient{conn: conn, proto: d.make(apache.NewTSocketFromConnConf(conn, config(true, 0)))}, nil
			}})
		})
	}
}

// TestDoorStock tries the door by stock clients.
func TestDoorStock(t *testing.T) {
	for _, d := range dialects() {
		// What remains of the others is tried by TestStockService.
		if d.name != "framed binary" && d.name != "buffered compact" && d.name != "framed JSON" {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			doortest.Run(t, doortest.Kit{
				Scheme: weft.WireThrift,
				Door:   func() weft.Door { return thrift.Door(nil) }, OneCall: true,
				Dial: func(conn net.Conn) (doortest.Client, error) {
					return &stockClient{conn: conn, proto: d.make(apache.NewTSocketFromConnConf(conn, config(true, 0)))}, nil
				},
				Garbage: garbage(),
			})
		})
	}
}

// garbage begins as Thrift does.
func garbage() [][]byte {
	return [][]byte{
		[]byte("\x80\x01\x00\x01\x7f\xff\xff\xffgarbage"), []byte("\x80\x01\x00\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		[]byte("\x82\x21\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), []byte("\x82\x21\x01\x01x\x19\xfc\xff\xff\xff\xff\x07"),
		[]byte("\x00\x00\x00\x08\x80\x01\x00\x01\x00\x00\x00\x00"), []byte("\x00\x00\x00\x0c\x80\x01\x00\x01\x00\x00\x00\x09xx\x00\x00"),
		[]byte("\x00\x00\x00\x0e\x0f\xff\x00\x00\x00\x00\x00\x00\xff\xffgarb"), []byte("\x00\x00\x00\x12\x0f\xff\x00\x00\x00\x00\x00\x00\x00\x01\x09\x00\x00\x00gar!"),
		[]byte("\x80\x01\x00\x02\x00\x00\x00\x01x\x00\x00\x00\x01\x00"),
		[]byte("[1,\"x\",1,0,{\"1\":{\"lst\":[\"i32\",2147483647,1]}}]"), []byte("[1,\"x\",1,0,}"), []byte("[1,\"x\",5,0,{}]"),
		[]byte("\x00\x00\x00\x0c[1,\"x\",1,0,{garbage"),
	}
}

// limits are the default ones, for what a client usually fills in.
func limits() weft.Limits {
	return weft.Limits{MaxMessage: 64 << 20, MaxMetadata: weft.DefaultMaxMetadata, WriteBuffer: weft.DefaultWriteBuffer, WriteTimeout: weft.DefaultWriteTimeout}
}

// ownClient is the wire of this package, for doortest.
type ownClient struct {
	w    weft.WireConn
	conn net.Conn
}

func (c *ownClient) Call(method string, args, reply any) error {
	return c.w.Call(context.Background(), &weft.WireCall{Method: method, Codec: msgpack.New(), Args: args, Reply: reply})
}

func (c *ownClient) Close() error {
	c.w.Close()
	c.conn.Close() // which the wire may have done
	return nil
}

// TestDoorOwn tries the door by the wire of this package, which has many calls on a connection.
func TestDoorOwn(t *testing.T) {
	for _, cfg := range []thrift.WireConfig{{Framing: thrift.THeader, Multiplexed: true}, {Framing: thrift.Unframed, Protocol: thrift.Compact, Multiplexed: true}} {
		doortest.Run(t, doortest.Kit{
			Scheme: weft.WireThrift,
			Door:   func() weft.Door { return thrift.Door(&thrift.Config{Unordered: true}) }, Codes: true,
			Dial: func(conn net.Conn) (doortest.Client, error) {
				first := true
				w, err := thrift.Wire(&cfg).Dial(context.Background(), weft.WireConfig{Limits: limits(), Logger: slog.New(slog.DiscardHandler), Address: "test",
					Dial: func(context.Context) (net.Conn, error) {
						if !first {
							return nil, errors.New("there is one connection")
						}
						first = false
						return conn, nil
					}})
				return &ownClient{w, conn}, err
			},
			Garbage: garbage(),
		})
	}
}

// handlers are those of wiretest as a generated server has them.
type handlers struct{ h *wiretest.Handlers }

func (h handlers) run(f func(m, reply *wiretest.Message) error, text string, n int64) (*stock.Message, error) {
	var back wiretest.Message
	if err := f(&wiretest.Message{Text: text, N: int(n)}, &back); err != nil {
		return nil, err
	}
	return &stock.Message{Text: back.Text, N: int64(back.N)}, nil
}

func (h handlers) Echo(_ context.Context, text string, n int64) (*stock.Message, error) {
	return h.run(h.h.Echo, text, n)
}

func (h handlers) Wait(_ context.Context, text string, n int64) (*stock.Message, error) {
	return h.run(h.h.Wait, text, n)
}

func (h handlers) Fail(_ context.Context, text string, _ int64) (*stock.Message, error) {
	return nil, errors.New("no " + text + " here")
}

// TestWireStock calls stock servers.
func TestWireStock(t *testing.T) {
	for _, d := range dialects() {
		// What remains of the others is tried by TestWireService.
		if d.name != "framed compact" && d.name != "buffered old binary" {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			wiretest.Run(t, wiretest.Kit{
				Wire: func() weft.Wire { return thrift.Wire(&d.wire) },
				Serve: func(conn net.Conn, h *wiretest.Handlers) {
					processor := stock.NewTestProcessor(handlers{h})
					proto := d.make(apache.NewTSocketFromConnConf(conn, config(true, 0)))
					for {
						if ok, err := processor.Process(context.Background(), proto, proto); err != nil && !ok {
							if e, is := errors.AsType[apache.TApplicationException](err); !is || e.TypeId() != apache.UNKNOWN_METHOD {
								return
							}
						}
					}
				},
			})
		})
	}
}

// TestWireOwn calls a server with the door.
func TestWireOwn(t *testing.T) {
	for _, d := range dialects() {
		if d.name != "headers binary" {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			wiretest.Run(t, wiretest.Kit{Wire: func() weft.Wire { return thrift.Wire(&d.wire) }, Codes: true, Metadata: d.wire.Framing == thrift.THeader, Serve: serveOne})
		})
	}
}

func serveOne(conn net.Conn, h *wiretest.Handlers) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{thrift.Door(nil)}, Logger: slog.New(slog.DiscardHandler), Timeout: -1,
		Limits: weft.Limits{MaxMessage: 64 << 20, HandshakeTimeout: time.Minute}})
	if err := srv.RegisterName("Test", h); err != nil {
		panic(err)
	}
	defer srv.Close()
	wiretest.ServeOne(conn, srv.Serve)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const patience = 20 * time.Second
