// Command metadata shows what travels beside a call: metadata both ways, the
// deadline, which a nested call inherits, and the cancellation, which reaches the
// innermost handler.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/weftrpc/weft"
)

// Page is what the front asks the back for, Text is the answer.
type (
	Page struct{ Path string }
	Text struct{ Body string }
)

// front passes every call on to the service Back. Its context carries the
// deadline and the cancellation; metadata is passed on explicitly.
func front(back *weft.Client) func(context.Context, *Page) (*Text, error) {
	return func(ctx context.Context, p *Page) (*Text, error) {
		trace := weft.MetadataFrom(ctx).Get("trace-id")
		ctx = weft.WithMetadata(ctx, "trace-id", trace+"/front")
		return weft.Invoke[Text](ctx, back, "Back.Get", p)
	}
}

// backend sends to the channel how long its calls had, and how they ended.
func backend(seen chan<- string) func(context.Context, *Page) (*Text, error) {
	return func(ctx context.Context, p *Page) (*Text, error) {
		if p.Path == "/slow" {
			<-ctx.Done() // a handler that blocks must watch its context
			seen <- "the back's context ended: " + ctx.Err().Error()
			return nil, ctx.Err()
		}
		deadline, _ := ctx.Deadline()
		seen <- fmt.Sprintf("the back has %v left", time.Until(deadline).Round(100*time.Millisecond))
		return &Text{"trace " + weft.MetadataFrom(ctx).Get("trace-id")}, weft.SetReplyMetadata(ctx, "cache", "miss")
	}
}

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	seen := make(chan string, 1)
	srv := weft.NewServer(nil)
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	// This goroutine ends with Close.
	go srv.Serve(l)
	defer srv.Close()
	c, err := weft.Dial(ctx, l.Addr().String(), nil)
	if err != nil {
		return err
	}
	defer c.Close()
	// Methods can be registered while the server serves.
	err = errors.Join(
		weft.Handle(srv, "Back.Get", backend(seen)),
		weft.Handle(srv, "Front.Get", front(c)))
	if err != nil {
		return err
	}
	return errors.Join(metadata(ctx, c, seen), deadline(ctx, c, seen), cancelled(ctx, c, seen))
}

// metadata sends metadata and reads that of the reply.
func metadata(ctx context.Context, c *weft.Client, seen <-chan string) error {
	var reply weft.Metadata
	ctx = weft.WithMetadata(ctx, "trace-id", "4711")
	text, err := weft.Invoke[Text](ctx, c, "Front.Get", &Page{"/"}, weft.WithTimeout(3*time.Second))
	if err != nil {
		return err
	}
	fmt.Println("metadata:", text.Body, "arrived at the back")
	fmt.Println("deadline: the front was called with 3s,", <-seen)
	if _, err := weft.Invoke[Text](ctx, c, "Back.Get", &Page{"/"}, weft.WithReplyMetadata(&reply)); err != nil {
		return err
	}
	fmt.Println("default: a call without a deadline has 10s,", <-seen)
	fmt.Println("reply metadata:", reply)
	return nil
}

// deadline lets a call run out of time, two servers deep.
func deadline(ctx context.Context, c *weft.Client, seen <-chan string) error {
	began := time.Now()
	_, err := weft.Invoke[Text](ctx, c, "Front.Get", &Page{"/slow"}, weft.WithTimeout(500*time.Millisecond))
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the slow call returned %v, want a deadline exceeded", err)
	}
	fmt.Printf("timeout: %v after %v; %s\n", weft.CodeOf(err), time.Since(began).Round(50*time.Millisecond), <-seen)
	return nil
}

// cancelled cancels a call.
func cancelled(ctx context.Context, c *weft.Client, seen <-chan string) error {
	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(500*time.Millisecond, cancel)
	_, err := weft.Invoke[Text](ctx, c, "Front.Get", &Page{"/slow"})
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the cancelled call returned %v", err)
	}
	fmt.Printf("cancel: %v; %s\n", weft.CodeOf(err), <-seen)
	return nil
}
