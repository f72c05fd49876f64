module github.com/weftrpc/weft/test/compat/browser

go 1.26

require (
	github.com/weftrpc/weft v0.0.0
	github.com/weftrpc/weft/door/connect v0.0.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/weftrpc/weft/door/grpc v0.0.0 // indirect
)

replace (
	github.com/weftrpc/weft => ../../..
	github.com/weftrpc/weft/door/connect => ../../../door/connect
	github.com/weftrpc/weft/door/grpc => ../../../door/grpc
)
