package doorpeer

import (
	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/internal/peer/connectpeer"
	"github.com/weftrpc/weft/bench/internal/peer/grpcpeer"
	"github.com/weftrpc/weft/bench/internal/peer/httppeer"
	"github.com/weftrpc/weft/bench/internal/peer/jrpcpeer"
	"github.com/weftrpc/weft/bench/internal/peer/netrpcpeer"
	"github.com/weftrpc/weft/bench/internal/peer/thriftpeer"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/door/thrift"
)

// The package that the names of the services of the published .proto have.
const protoPackage = "main."

// All lists a peer for each wire.
func All() []Peer {
	weftModule := harness.Version("github.com/weftrpc/weft")
	version := func(module string) string { return harness.Version("github.com/weftrpc/weft/door/" + module) }
	return []Peer{
		{grpcpeer.Peer{}, func() []weft.Door { return []weft.Door{grpc.Door(nil)} }, version("grpc"), protoPackage},
		{connectpeer.Peer{}, func() []weft.Door { return connect.Doors(nil) }, version("connect"), protoPackage},
		{connectpeer.Peer{HTTP1: true}, func() []weft.Door { return connect.Doors(nil) }, version("connect"), protoPackage},
		{httppeer.Peer{}, func() []weft.Door { return []weft.Door{http.Door(nil)} }, weftModule, ""},
		{thriftpeer.Peer{}, func() []weft.Door { return []weft.Door{thrift.Door(nil)} }, version("thrift"), ""},
		{netrpcpeer.Peer{}, netrpcDoors, weftModule, ""},
		{jrpcpeer.Peer{}, func() []weft.Door { return []weft.Door{jsonrpc.Door(nil)} }, weftModule, ""},
	}
}

// netrpcDoors are those for either form of net/rpc.
func netrpcDoors() []weft.Door { return []weft.Door{netrpc.Door(), jsonrpc.Door(nil)} }
