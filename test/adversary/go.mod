module github.com/weftrpc/weft/test/adversary

go 1.26.0

require (
	github.com/weftrpc/weft v0.0.0
	github.com/weftrpc/weft/codec/cbor v0.0.0-00010101000000-000000000000
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/fxamacker/cbor/v2 v2.9.6 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
	github.com/x448/float16 v0.8.4 // indirect
)

replace (
	github.com/weftrpc/weft => ../..
	github.com/weftrpc/weft/codec/cbor => ../../codec/cbor
)
