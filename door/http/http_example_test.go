package http_test

import (
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
)

// Item is a message of the example.
type Item struct {
	ID   int    `json:"id"`
	Name string `json:"name,omitempty"`
}

// Any program that speaks HTTP calls the methods of the server, on the port of weft's own wire.
func Example() {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{http.Door(nil)}})
	err := weft.Handle(srv, "Items.Get", func(_ context.Context, i *Item) (*Item, error) {
		if i.ID != 7 {
			return nil, weft.Errorf(weft.NotFound, "there is no item %d", i.ID)
		}
		return &Item{ID: 7, Name: "loom"}, nil
	}, weft.Idempotent(), http.Get("/items/{id}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := srv.Listen(context.Background(), "tcp://127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go srv.Serve(l) // this goroutine ends with the server
	defer srv.Close()

	client := &nethttp.Client{Transport: &nethttp.Transport{DisableKeepAlives: true}}
	show := func(answer *nethttp.Response, err error) {
		if err != nil {
			fmt.Println(err)
			return
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		fmt.Println(answer.StatusCode, string(body))
	}
	url := "http://" + l.Addr().String()
	show(client.Post(url+"/Items/Get", "application/json", strings.NewReader(`{"id":7}`)))
	show(client.Get(url + "/items/7"))
	show(client.Get(url + "/items/8"))
	// Output:
	// 200 {"id":7,"name":"loom"}
	// 200 {"id":7,"name":"loom"}
	// 404 {"type":"about:blank","title":"NotFound","status":404,"detail":"there is no item 8","code":"NotFound","outcome":"Executed"}
}
