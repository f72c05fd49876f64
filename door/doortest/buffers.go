package doortest

import (
	"context"
	"io"
	"log/slog"
	nethttp "net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/buffer"
)

// RunLargeReplies checks that memory which has grown with a large reply by HTTP/1.1, and which the next reply would not use, is not
// kept. The doors answer a POST of JSON to /Texts/Get.
func RunLargeReplies(t *testing.T, doors []weft.Door) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: doors, Logger: slog.New(slog.DiscardHandler)})
	big := strings.Repeat("x", 4*buffer.Small)
	if err := weft.Handle(srv, "Texts.Get", func(context.Context, *struct{}) (*string, error) { return &big, nil }); err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	transport := &nethttp.Transport{DisableCompression: true}
	// Large requests of earlier tests may have left large buffers. Two collections empty a sync.Pool; another one would hide what is kept.
	runtime.GC()
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer func() {
		transport.CloseIdleConnections()
		srv.Close()
		<-served
	}()
	c := &nethttp.Client{Transport: transport}
	for range 20 { // with the race detector a sync.Pool forgets some
		res, err := c.Post("http://"+l.Addr().String()+"/Texts/Get", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != nethttp.StatusOK || len(body) < len(big) {
			t.Fatalf("%s with %d bytes, %v", res.Status, len(body), err)
		}
	}
	for range 20 {
		if b := buffer.TakeLarge(buffer.Small + 1); cap(b.B) > 2*buffer.Small {
			t.Fatalf("a buffer of %d bytes was kept", cap(b.B))
		}
	}
}
