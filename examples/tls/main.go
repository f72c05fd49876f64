// Command tls makes both sides show certificates (mutual TLS), and changes the
// server's certificate while it serves: new connections get the new one, existing ones
// stay. The certificates are made by certs.go, in a temporary folder.
package main

import (
	"context"
	ctls "crypto/tls"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/transport/tls"
)

// Empty is the request, Greeting the reply.
type (
	Empty    struct{}
	Greeting struct{ Text string }
)

// whoAmI returns the names in the verified certificate of its caller.
func whoAmI(ctx context.Context, _ *Empty) (*Greeting, error) {
	names := tls.PeerIdentity(*weft.PeerFrom(ctx).TLS())
	return &Greeting{strings.Join(names, ", ")}, nil
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "weft-tls-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left lies in the temporary folder
	ca, err := newAuthority(dir)
	if err != nil {
		return err
	}
	server, err1 := ca.issue("server", "localhost")
	client, err2 := ca.issue("client", "billing.example.org")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}

	// The files are read again when they have changed; here at once.
	source, err := tls.Load(server, &tls.Config{CheckEvery: time.Millisecond})
	if err != nil {
		return err
	}
	config, err := source.ServerConfig()
	if err != nil {
		return err
	}
	srv := weft.NewServer(&weft.ServerConfig{TLS: config})
	if err := weft.Handle(srv, "Account.WhoAmI", whoAmI); err != nil {
		return err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	// This goroutine ends with Close.
	go srv.Serve(l)
	defer srv.Close()

	address := l.Addr().String()
	before, err := connect(ctx, address, client)
	if err != nil {
		return err
	}
	defer before.Close()
	if _, err := ca.issue("server", "localhost"); err != nil { // over the old files
		return err
	}
	fmt.Println("the server's certificate was replaced")
	after, err := connect(ctx, address, client)
	if err != nil {
		return err
	}
	defer after.Close()
	if serial(before) == serial(after) {
		return errors.New("the new connection has the old certificate")
	}
	if _, err := weft.Invoke[Greeting](ctx, before, "Account.WhoAmI", &Empty{}); err != nil {
		return err
	}
	fmt.Println("the old connection still works")

	_, err = connect(ctx, address, tls.Files{CA: client.CA})
	if err == nil {
		return errors.New("a client without a certificate was accepted")
	}
	fmt.Println("a client without a certificate is refused:", err)
	return nil
}

// connect makes a client with its own certificate, and a call.
func connect(ctx context.Context, address string, files tls.Files) (*weft.Client, error) {
	source, err := tls.Load(files, nil)
	if err != nil {
		return nil, err
	}
	c, err := weft.Dial(ctx, address, &weft.ClientConfig{
		TLSFunc: func() *ctls.Config { return source.ClientConfig("localhost") },
	})
	if err != nil {
		return nil, err
	}
	greeting, err := weft.Invoke[Greeting](ctx, c, "Account.WhoAmI", &Empty{})
	if err != nil {
		c.Close()
		return nil, err
	}
	fmt.Printf("connected: the server showed certificate %s and knows the client as %s\n", serial(c), greeting.Text)
	return c, nil
}

// serial is the number of the certificate that the server has shown.
func serial(c *weft.Client) string { return c.Peer().TLS().PeerCertificates[0].SerialNumber.String() }
