module github.com/weftrpc/weft/bench

go 1.26.0

replace github.com/weftrpc/weft => ..

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/bufbuild/protocompile v0.14.1
	github.com/creachadair/jrpc2 v1.3.6
	github.com/planetscale/vtprotobuf v0.6.1-0.20240319094008-0393e58bdf10
	github.com/shamaton/msgpack/v3 v3.1.0
	github.com/weftrpc/weft v0.0.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/creachadair/mds v0.31.0 // indirect
	github.com/fxamacker/cbor/v2 v2.9.6 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/x448/float16 v0.8.4 // indirect
)

require (
	connectrpc.com/connect v1.21.1
	github.com/apache/thrift v0.25.0
	github.com/weftrpc/weft/codec/cbor v0.0.0
	github.com/weftrpc/weft/door/connect v0.0.0
	github.com/weftrpc/weft/door/grpc v0.0.0
	github.com/weftrpc/weft/door/thrift v0.0.0
	github.com/zeebo/errs v1.2.2 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.48.0
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	storj.io/drpc v0.0.34
)

tool (
	github.com/planetscale/vtprotobuf/cmd/protoc-gen-go-vtproto
	google.golang.org/protobuf/cmd/protoc-gen-go
)

replace github.com/weftrpc/weft/codec/cbor => ../codec/cbor

replace github.com/weftrpc/weft/door/grpc => ../door/grpc

replace github.com/weftrpc/weft/door/connect => ../door/connect

replace github.com/weftrpc/weft/door/thrift => ../door/thrift
