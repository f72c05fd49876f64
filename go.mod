module github.com/weftrpc/weft

go 1.26

require (
	github.com/coder/websocket v1.8.15
	github.com/klauspost/compress v1.20.3
	github.com/pierrec/lz4/v4 v4.1.33
	github.com/shamaton/msgpack/v3 v3.1.0
	google.golang.org/protobuf v1.36.12
)
