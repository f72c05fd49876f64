module github.com/weftrpc/weft/door/grpc

go 1.26

require (
	github.com/weftrpc/weft v0.0.0
	google.golang.org/protobuf v1.36.12
)

replace github.com/weftrpc/weft => ../..
