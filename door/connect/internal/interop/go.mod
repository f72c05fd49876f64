module github.com/weftrpc/weft/door/connect/internal/interop

go 1.26.0

require (
	connectrpc.com/connect v1.21.1
	github.com/weftrpc/weft v0.0.0
	github.com/weftrpc/weft/door/connect v0.0.0
	github.com/weftrpc/weft/door/grpc v0.0.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
)

replace (
	github.com/weftrpc/weft => ../../../..
	github.com/weftrpc/weft/door/connect => ../..
	github.com/weftrpc/weft/door/grpc => ../../../grpc
)
