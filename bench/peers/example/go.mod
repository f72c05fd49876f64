module github.com/weftrpc/weft/bench/peers/example

go 1.26.0

replace (
	github.com/weftrpc/weft => ../../..
	github.com/weftrpc/weft/bench => ../..
	github.com/weftrpc/weft/codec/cbor => ../../../codec/cbor
)

require (
	github.com/weftrpc/weft v0.0.0
	github.com/weftrpc/weft/bench v0.0.0
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/apache/thrift v0.25.0 // indirect
	github.com/planetscale/vtprotobuf v0.6.1-0.20240319094008-0393e58bdf10 // indirect
	golang.org/x/sys v0.48.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
