module github.com/weftrpc/weft/codec/cbor

go 1.26

require (
	github.com/fxamacker/cbor/v2 v2.9.6
	github.com/weftrpc/weft v0.0.0
)

require github.com/x448/float16 v0.8.4 // indirect

replace github.com/weftrpc/weft => ../..
