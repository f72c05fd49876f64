package transfer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/door/rpcx/transfer"
)

// A server that keeps the files of clients of rpcx in a folder, and a client of weft that sends one and gets
// it back.
func ExampleDoor() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "files")
	check(err)
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir) // nothing outside of the folder can be reached
	check(err)
	defer root.Close()

	files := transfer.New(nil)
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{rpcx.Door(nil), files}})
	check(files.HandleUpload(srv, func(_ context.Context, f *transfer.Upload) error {
		if f.Size > 1<<20 {
			return weft.Errorf(weft.ResourceExhausted, "the file has %d bytes, at most %d are taken", f.Size, 1<<20)
		}
		dst, err := root.OpenFile(f.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if _, err = io.Copy(dst, f); err != nil {
			dst.Close()
			return err
		}
		return dst.Close()
	}))
	check(files.HandleDownload(srv, func(_ context.Context, f *transfer.Download) error {
		src, err := root.Open(f.Name)
		if err != nil {
			return err
		}
		defer src.Close()
		_, err = io.Copy(f, src)
		return err
	}))
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	check(err)
	go srv.Serve(l)
	defer srv.Shutdown(ctx)

	c, err := weft.Dial(ctx, "rpcx://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{rpcx.Wire(nil)}})
	check(err)
	defer c.Close()
	client := &transfer.Client{Caller: c}
	check(client.SendFile(ctx, transfer.File{Name: "poem.txt", Size: 16}, strings.NewReader("Weaving, weaving")))
	var back bytes.Buffer
	n, err := client.DownloadFile(ctx, "poem.txt", nil, &back)
	fmt.Println(back.String(), n, err)
	// Output:
	// Weaving, weaving 16 <nil>
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
