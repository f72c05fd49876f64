module github.com/weftrpc/weft/door/thrift

go 1.26

require (
	github.com/apache/thrift v0.25.0
	github.com/weftrpc/weft v0.0.0-00010101000000-000000000000
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/weftrpc/weft => ../..
