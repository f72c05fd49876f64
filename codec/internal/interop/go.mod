module github.com/weftrpc/weft/codec/internal/interop

go 1.26

replace github.com/weftrpc/weft => ../../..

require (
	github.com/vmihailenco/msgpack/v5 v5.4.1
	github.com/weftrpc/weft v0.0.0
)

require github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
