// Conformance is what Connect's conformance suite runs: as "conformance server" a weft server with the
// doors of package connect, as "conformance client" a weft client with its wire and that of package grpc. Both take what they are to do from standard input.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	run := map[string]func(context.Context) error{"server": server, "client": client}
	if len(os.Args) != 2 || run[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: conformance server|client")
		os.Exit(2)
	}
	if err := run[os.Args[1]](context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
