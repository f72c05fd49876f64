module github.com/weftrpc/weft/examples/thrift

go 1.26

require (
	github.com/weftrpc/weft v0.0.0
	github.com/weftrpc/weft/door/thrift v0.0.0
)

require (
	github.com/apache/thrift v0.25.0 // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/weftrpc/weft => ../..
	github.com/weftrpc/weft/door/thrift => ../../door/thrift
)
