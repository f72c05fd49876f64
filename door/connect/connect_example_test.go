package connect_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
)

type Name struct {
	Text string `json:"text" weft:"1"`
}

type Greeting struct {
	Text string `json:"text" weft:"1"`
}

// A method is called by a stock client of Connect, here with a POST of JSON, and by a weft client.
func Example() {
	ctx := context.Background()
	srv := weft.NewServer(&weft.ServerConfig{Doors: connect.Doors(&connect.Config{Origins: []string{"https://app.example.com"}})})
	err := weft.Handle(srv, "greeter.Greeter.Hello", func(_ context.Context, n *Name) (*Greeting, error) {
		return &Greeting{Text: "Hello, " + n.Text + "!"}, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go srv.Serve(l)
	defer srv.Close()

	r, err := http.NewRequest("POST", "http://"+l.Addr().String()+"/greeter.Greeter/Hello", strings.NewReader(`{"text":"Ada"}`))
	if err != nil {
		log.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Connect-Protocol-Version", "1")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		log.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		log.Fatal(err)
	}
	res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	fmt.Println(res.StatusCode, string(body))

	c, err := weft.Dial(ctx, "connect+http://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{connect.Wire(nil)}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	g, err := weft.Invoke[Greeting](ctx, c, "greeter.Greeter.Hello", &Name{"Bob"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Text)
	// Output:
	// 200 {"text":"Hello, Ada!"}
	// Hello, Bob!
}
