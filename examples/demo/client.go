package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/weftrpc/weft"
)

// runClient is the process of a client.
func runClient(args []string) error {
	flags := flag.NewFlagSet("client", flag.ExitOnError)
	do := flags.String("do", "", "what to do: calls, restarts or load")
	address := flags.String("address", "", "of the server")
	callers := flags.Int("callers", 1, "how many callers call at the same time")
	quick := flags.Bool("quick", false, "be quick about it")
	flags.Parse(args)
	asked := leash()
	ctx := context.Background()

	c, err := weft.Dial(ctx, "tcp://"+*address, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	switch *do {
	case "calls":
		return showCalls(ctx, c, *quick)
	case "restarts":
		return book(ctx, c, *callers, asked)
	case "load":
		return load(ctx, c, *callers, *quick)
	}
	return fmt.Errorf("client: unknown task %q", *do)
}
