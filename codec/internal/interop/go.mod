module github.com/weftrpc/weft/codec/internal/interop

go 1.26

replace github.com/weftrpc/weft => ../../..

require (
	github.com/bufbuild/protocompile v0.14.1
	github.com/shamaton/msgpack/v3 v3.1.0
	github.com/vmihailenco/msgpack/v5 v5.4.1
	github.com/weftrpc/weft v0.0.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	golang.org/x/sync v0.8.0 // indirect
)

tool google.golang.org/protobuf/cmd/protoc-gen-go
