package main

import (
	"context"
	"errors"
	"os"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/record"
	"github.com/weftrpc/weft/plugin/tee"
)

// nowhere is a target that takes no calls.
type nowhere struct{}

// Call implements weft.Caller.
func (nowhere) Call(context.Context, string, any, any, ...weft.CallOption) error {
	return weft.Errorf(weft.Unavailable, "nowhere")
}

// trials are the plugins that copy calls, of which they choose none here.
func trials() ([]setup, error) {
	copies, err := tee.New(&tee.Config{Target: nowhere{}, Percent: 100, Methods: []string{"Other.*"}})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "weft-cost")
	if err != nil {
		return nil, err
	}
	calls, err := record.New(&record.Config{Dir: dir, Methods: []string{"Other.*"}})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return []setup{
		{name: "tee, of another method", server: []weft.Plugin{copies.Plugin()}, end: copies.Close},
		{name: "record, of another method", server: []weft.Plugin{calls.Plugin()}, end: func() {
			calls.Close()
			_ = os.RemoveAll(dir) // what is left lies in the temporary folder
		}},
	}, nil
}
