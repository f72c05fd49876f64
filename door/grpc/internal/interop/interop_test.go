package interop

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/interop"
	"google.golang.org/grpc/interop/grpc_testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
)

// TestStockClient runs the cases of grpc-go's interoperability client against the door, but for those that need credentials of a cloud or
// reports of load.
// A case that fails ends the test binary, as grpc-go has it.
func TestStockClient(t *testing.T) {
	addr := interopServer(t)
	for _, opts := range [][]grpc.CallOption{nil, {grpc.UseCompressor("gzip")}} {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(opts...))
		if err != nil {
			t.Fatal(err)
		}
		c := grpc_testing.NewTestServiceClient(conn)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for _, run := range []func(context.Context, grpc_testing.TestServiceClient, ...grpc.CallOption){
			interop.DoEmptyUnaryCall, interop.DoLargeUnaryCall, interop.DoClientStreaming, interop.DoServerStreaming, interop.DoPingPong,
			interop.DoEmptyStream, interop.DoTimeoutOnSleepingServer, interop.DoCancelAfterBegin, interop.DoCancelAfterFirstResponse,
			interop.DoCustomMetadata, interop.DoStatusCodeAndMessage, interop.DoSpecialStatusMessage,
		} {
			run(ctx, c)
		}
		interop.DoUnimplementedService(ctx, grpc_testing.NewUnimplementedServiceClient(conn))
		interop.DoUnimplementedMethod(ctx, conn)
		soak := interop.SoakTestConfig{RequestSize: 271828, ResponseSize: 314159, PerIterationMaxAcceptableLatency: time.Minute,
			OverallTimeout: time.Minute, ServerAddr: addr, NumWorkers: 2, Iterations: 20}
		soak.ChannelForTest = func() (*grpc.ClientConn, func()) { return conn, func() {} }
		interop.DoSoakTest(ctx, soak)
		soak.ChannelForTest = func() (*grpc.ClientConn, func()) { // a connection for each call
			conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(opts...))
			if err != nil {
				panic(err) // on a goroutine of the case
			}
			return conn, func() { _ = conn.Close() }
		}
		interop.DoSoakTest(ctx, soak)
		cancel()
		conn.Close()
	}
}

// TestStockServer makes the same calls by the wire to grpc-go's interoperability server.
func TestStockServer(t *testing.T) {
	l := listen(t)
	s := grpc.NewServer()
	grpc_testing.RegisterTestServiceServer(s, interop.NewTestServer())
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		s.Stop()
		wg.Wait()
	})
	plain := interopClient(t, l.Addr().String(), nil)
	zipped := interopClient(t, l.Addr().String(), func(cfg *weft.ClientConfig) {
		cfg.Compressors, cfg.Compressor = []compress.Compressor{gzip.New()}, gzip.New()
	})
	for name, run := range cases() {
		t.Run(name, func(t *testing.T) {
			for _, c := range []*weft.Client{plain, zipped} {
				if err := run(t.Context(), c); err != nil {
					t.Errorf(fatalPattern, err)
				}
			}
		})
	}
}

// TestOwn makes the calls from the wire to the door.
func TestOwn(t *testing.T) {
	c := interopClient(t, interopServer(t), nil)
	for name, run := range cases() {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), c); err != nil {
				t.Errorf(fatalPattern, err)
			}
		})
	}
}
