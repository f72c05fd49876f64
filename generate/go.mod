module github.com/weftrpc/weft/generate

go 1.26.0

replace github.com/weftrpc/weft => ..

require (
	github.com/bufbuild/protocompile v0.14.1
	github.com/weftrpc/weft v0.0.0
	golang.org/x/mod v0.42.0
	golang.org/x/tools v0.52.0
	google.golang.org/protobuf v1.36.12
)

require golang.org/x/sync v0.24.0 // indirect
