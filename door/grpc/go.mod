module github.com/weftrpc/weft/door/grpc

go 1.26

require (
	github.com/weftrpc/weft v0.0.0
	google.golang.org/protobuf v1.36.12
)

require github.com/klauspost/compress v1.20.3 // indirect

replace github.com/weftrpc/weft => ../..
