module github.com/weftrpc/weft/test/oneport

go 1.26

require (
	github.com/coder/websocket v1.8.15
	github.com/weftrpc/weft v0.0.0
	github.com/weftrpc/weft/door/connect v0.0.0
	github.com/weftrpc/weft/door/grpc v0.0.0
	github.com/weftrpc/weft/door/thrift v0.0.0
)

require (
	github.com/apache/thrift v0.25.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/weftrpc/weft => ../..
	github.com/weftrpc/weft/door/connect => ../../door/connect
	github.com/weftrpc/weft/door/grpc => ../../door/grpc
	github.com/weftrpc/weft/door/thrift => ../../door/thrift
)
