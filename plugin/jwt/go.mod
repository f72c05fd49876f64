module github.com/weftrpc/weft/plugin/jwt

go 1.26

require (
	github.com/go-jose/go-jose/v4 v4.1.8
	github.com/weftrpc/weft v0.0.0
	github.com/weftrpc/weft/door/grpc v0.0.0
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/weftrpc/weft => ../..
	github.com/weftrpc/weft/door/grpc => ../../door/grpc
)
