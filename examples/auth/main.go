// Command auth accepts callers by four kinds of credentials: a fixed token, a user
// with a password, a bearer token that expires, and an application key that signs
// every call. Each kind has a file of its own.
//
// Credentials are as safe as the connection: add TLS, as examples/tls does.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/weftrpc/weft"
)

// Empty is the request, Greeting the reply.
type (
	Empty    struct{}
	Greeting struct{ Text string }
)

// account is the caller, as the server's authentication returns it.
type account struct{ Name, How string }

func whoAmI(ctx context.Context, _ *Empty) (*Greeting, error) {
	caller := weft.PrincipalFrom(ctx).(*account)
	return &Greeting{"you are " + caller.Name + ", by " + caller.How}, nil
}

// verifier checks one kind of credentials.
type verifier func(token string, call *weft.CallInfo) (*account, error)

// authenticate chooses the verifier by the scheme of the credential. It runs before
// the body of a call is decoded; an error refuses the call.
func authenticate(by map[string]verifier) func(context.Context, weft.Credential, *weft.CallInfo) (any, error) {
	return func(_ context.Context, cred weft.Credential, call *weft.CallInfo) (any, error) {
		verify := by[cred.Scheme]
		if verify == nil {
			return nil, fmt.Errorf("credentials of the scheme %q are not accepted here", cred.Scheme)
		}
		return verify(cred.Token, call)
	}
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	users, err := newUsers(map[string]string{"ada": "correct horse"})
	if err != nil {
		return err
	}
	issuer := newIssuer()
	keys := appKeys{"shop": []byte("a secret that both sides know")}

	srv := weft.NewServer(&weft.ServerConfig{Authenticate: authenticate(map[string]verifier{
		"Static": staticToken("s3cret", "the night job"),
		"Basic":  users.verify,
		"Bearer": issuer.verify,
		"AppKey": keys.verify,
	})})
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
	attempts := []struct {
		what       string
		credential func(context.Context, string) (weft.Credential, error)
		want       weft.Code // 0: accepted
	}{
		{"the right token", weft.StaticCredential("Static", "s3cret"), 0},
		{"a wrong token", weft.StaticCredential("Static", "guess"), weft.Unauthenticated},
		{"user and password", password("ada", "correct horse"), 0},
		{"a wrong password", password("ada", "battery staple"), weft.Unauthenticated},
		{"a fresh bearer token", issuer.credential("grace", time.Minute), 0},
		{"an expired one", issuer.credential("grace", -time.Second), weft.Unauthenticated},
		{"a signed call", keys.credential("shop", keys["shop"]), 0},
		{"a forged signature", keys.credential("shop", []byte("a guess")), weft.Unauthenticated},
		{"nothing at all", nil, weft.Unauthenticated},
	}
	for _, a := range attempts {
		answer, err := ask(ctx, address, a.credential)
		if weft.CodeOf(err) != a.want {
			return fmt.Errorf("%s: got %v, want the code %v", a.what, err, a.want)
		}
		fmt.Printf("%-21s %s\n", a.what, answer)
	}
	return nil
}

// ask connects with a credential and returns what the server says.
func ask(ctx context.Context, address string, credential func(context.Context, string) (weft.Credential, error)) (string, error) {
	c, err := weft.Dial(ctx, address, &weft.ClientConfig{Credential: credential})
	if err != nil {
		return "", err
	}
	defer c.Close()
	greeting, err := weft.Invoke[Greeting](ctx, c, "Account.WhoAmI", &Empty{})
	if err != nil {
		return err.Error(), err
	}
	return greeting.Text, nil
}
