// Command server is what the Python client is tested against: several weft
// servers with the same methods in one process.
//
// It prints one line "name host:port" for each server and then "ready". It reads
// commands from its standard input, one a line: "drain" shuts the server called
// drain down and prints "drained" when that has ended. It ends with its standard input.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// named is one server; the Python tests know it by its name.
type named struct {
	name   string
	server *weft.Server
}

func run() error {
	ctx := context.Background()
	servers := []named{
		{"plain", weft.NewServer(plain())},
		{"gzip", weft.NewServer(compressing())},
		{"strict", weft.NewServer(strict())},
		{"auth", weft.NewServer(authenticated())},
		{"drain", weft.NewServer(plain())},
	}
	for _, s := range servers {
		defer s.server.Close()
		if err := register(s.server); err != nil {
			return err
		}
		l, err := s.server.Listen(ctx, "tcp://127.0.0.1:0")
		if err != nil {
			return err
		}
		// It ends with Close or Shutdown of its server.
		go s.server.Serve(l)
		fmt.Println(s.name, l.Addr())
	}
	fmt.Println("ready")
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		if commands.Text() != "drain" {
			return fmt.Errorf("no such command: %q", commands.Text())
		}
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := servers[len(servers)-1].server.Shutdown(ctx)
		cancel()
		if err != nil {
			return err
		}
		fmt.Println("drained")
	}
	return commands.Err()
}

func plain() *weft.ServerConfig {
	return &weft.ServerConfig{
		Compressors: []compress.Compressor{gzip.New()},
		Checksum:    true,
		Logger:      slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
}

// compressing compresses its replies.
func compressing() *weft.ServerConfig {
	cfg := plain()
	cfg.Compressor = gzip.New()
	return cfg
}

// strict has the limits that testdata/vectors/violations.json asks for.
func strict() *weft.ServerConfig {
	cfg := plain()
	cfg.Codecs = []codec.Codec{raw.New()}
	cfg.Logger = nil // what the peer does wrong is what is tested here
	cfg.Limits = weft.Limits{MaxMessage: 4096, MaxMetadata: 1024, MaxCalls: 4, MaxBindings: 4, StreamWindow: 64}
	return cfg
}

// authenticated takes connections that show a token, and calls that show another.
func authenticated() *weft.ServerConfig {
	cfg := plain()
	cfg.AuthenticateConn = func(_ context.Context, cred weft.Credential, _ *weft.Peer) (any, error) {
		if cred.Scheme != "bearer" || cred.Token != "connection" {
			return nil, weft.Errorf(weft.Unauthenticated, "the connection's token is not valid")
		}
		return cred.Scheme, nil
	}
	cfg.Authenticate = func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
		if cred.Scheme != "bearer" || cred.Token != "call" {
			return nil, weft.Errorf(weft.PermissionDenied, "the call's token is not valid")
		}
		return cred.Scheme, nil
	}
	return cfg
}
