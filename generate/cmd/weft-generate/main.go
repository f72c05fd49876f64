// Command weft-generate is "weft generate" alone, without what the other commands of weft
// need, for lines such as
//
//	//go:generate go run github.com/weftrpc/weft/generate/cmd/weft-generate
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/weftrpc/weft/generate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := generate.Command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp), errors.Is(err, generate.ErrFlags):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "weft-generate:", err)
		os.Exit(1)
	}
}
