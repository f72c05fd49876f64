// Command weft-vet finds mistakes in programs that use weft, as a tool of go vet:
//
//	GOWORK=off go install -C cmd/weft-vet .  # in a clone
//	go vet -vettool=$(which weft-vet) ./...
//
// Its analyzers are in the packages below; other drivers of golang.org/x/tools/go/analysis
// can run them too.
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/weftrpc/weft/cmd/weft-vet/reuse"
)

func main() { unitchecker.Main(reuse.New()) }
