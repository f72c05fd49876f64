// Package weftserver is what the servers of weft have in common that are measured, whatever wire their clients speak.
package weftserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/idl/pb"
	"github.com/weftrpc/weft/bench/idl/vt"
	"github.com/weftrpc/weft/bench/msg"
)

// Serve listens at the address of cfg, and serves until ctx ends.
func Serve(ctx context.Context, server *weft.Server, cfg harness.ServeConfig) error {
	listener, err := server.Listen(ctx, "tcp://"+cfg.Addr)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	cfg.Ready(listener.Addr().String())
	if err := server.Serve(listener); !errors.Is(err, weft.ErrServerClosed) {
		return err
	}
	return nil
}

// Echo registers a method that answers with its request, which answer changes.
func Echo[M any](server *weft.Server, name string, answer func(*M)) error {
	return weft.Handle(server, name, func(_ context.Context, message *M) (*M, error) {
		answer(message)
		return message, nil
	})
}

// Add registers the method that adds two numbers, with the messages of a codec for protobuf.
func Add(server *weft.Server, name string, codec msg.Codec) error {
	switch codec {
	case msg.VT:
		return weft.Handle(server, name, func(_ context.Context, r *vt.AddRequest) (*vt.AddReply, error) {
			return &vt.AddReply{X: r.A + r.B}, nil
		})
	case msg.Google:
		return weft.Handle(server, name, func(_ context.Context, r *pb.AddRequest) (*pb.AddReply, error) {
			return &pb.AddReply{X: r.A + r.B}, nil
		})
	}
	return fmt.Errorf("%s has no messages for the codec %s", name, codec)
}
