module github.com/weftrpc/weft/cmd/weft-vet

go 1.26.0

replace github.com/weftrpc/weft => ../..

require (
	github.com/weftrpc/weft v0.0.0
	golang.org/x/tools v0.52.0
)

require (
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)
