package transfer_test

import (
	"io"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/rpcx/transfer"
)

// TestShare has clients that ask for second connections and make none: they deny none to other clients.
func TestShare(t *testing.T) {
	srv, addr := serve(t, newBox(), weft.ServerConfig{}, &transfer.Config{MaxWaiting: 32})
	ask := func(c *weft.Client) error {
		_, err := weft.Invoke[transfer.Reply](t.Context(), c, transfer.StreamMethod, &transfer.StreamArgs{})
		return err
	}
	for range 3 * 16 { // more than there is room for, but for the connections that have ended
		c := dial(t, "tcp://"+addr, weft.ClientConfig{})
		must(t, ask(c))
		must(t, ask(c))
		if err := ask(c); weft.CodeOf(err) != weft.ResourceExhausted {
			t.Fatalf("a third call of a connection: %v", err)
		}
		c.Close()
		for end := time.Now().Add(patience); len(srv.Peers()) > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the connection has not ended")
			}
		}
	}
	c := dial(t, "tcp://"+addr, weft.ClientConfig{})
	for range 5 { // a token that was taken has no share
		if n, err := (&transfer.Client{Caller: c}).DownloadFile(t.Context(), "a.txt", nil, io.Discard); err != nil || n != 5 {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	var open []*weft.Client
	for range 15 {
		open = append(open, dial(t, "tcp://"+addr, weft.ClientConfig{}))
		must(t, ask(open[len(open)-1]))
		must(t, ask(open[len(open)-1]))
	}
	must(t, ask(c))
	must(t, ask(c))
	if err := ask(dial(t, "tcp://"+addr, weft.ClientConfig{})); weft.CodeOf(err) != weft.ResourceExhausted {
		t.Errorf("a call where all places are taken by connections that are open: %v", err)
	}
}
