package transporttest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// big is more than any socket buffers by default.
const big = 8 << 20

func checkCloseRead(t *testing.T, open Open) {
	client, server := pair(t, open)
	for _, c := range []net.Conn{client, server} {
		waiting := make(chan error, 1)
		// Ends with the connection, closed below.
		go func() {
			_, err := c.Read(make([]byte, 1))
			waiting <- err
		}()
		time.Sleep(10 * time.Millisecond)
		// The first turn closes the client; its server then reads EOF or an error.
		c.Close()
		err := soon(t, "Read", func() error { return <-waiting })
		if err == nil {
			t.Error("Read returned no error after Close")
		}
		if c == client {
			wantError(t, "Read", err, net.ErrClosed)
		}
		_, err = c.Read(make([]byte, 1))
		if err == nil {
			t.Error("Read after Close returned no error")
		}
	}
}

func checkCloseWrite(t *testing.T, open Open) {
	client, _ := pair(t, open)
	waiting := make(chan error, 1)
	// Ends with the connection, closed below or in cleanup.
	go func() {
		_, err := client.Write(make([]byte, 4*big)) // the server does not read
		waiting <- err
	}()
	time.Sleep(50 * time.Millisecond)
	select {
	case err := <-waiting:
		t.Fatalf("Write of %d bytes that are not read ended early, error %v: its buffer has no bound", 4*big, err)
	default:
	}
	client.Close()
	wantError(t, "Write", soon(t, "Write", func() error { return <-waiting }), net.ErrClosed)
	_, err := client.Write([]byte("weft"))
	wantError(t, "Write after Close", err, net.ErrClosed)
}

func checkEOF(t *testing.T, open Open) {
	client, server := pair(t, open)
	want := noise(1, 10_000)
	if _, err := client.Write(want); err != nil {
		t.Fatal(err)
	}
	client.Close()
	var got []byte
	err := soon(t, "reading to the end", func() (err error) {
		got, err = io.ReadAll(server)
		return err
	})
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("read %d of %d bytes, error %v, want all of them and EOF", len(got), len(want), err)
	}
}

func checkWriteToClosed(t *testing.T, open Open) {
	client, server := pair(t, open)
	client.Close()
	err := soon(t, "writing to a closed peer", func() error {
		for {
			if _, err := server.Write([]byte("weft")); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	})
	if err == io.EOF {
		t.Error("Write returned io.EOF, want an error of writing")
	}
}

func checkBigTransfer(t *testing.T, open Open) {
	client, server := pair(t, open)
	var sides sync.WaitGroup
	defer sides.Wait()
	failed := make(chan error, 4)
	send := func(c net.Conn, b []byte) {
		n, err := c.Write(b)
		if err == nil && n != len(b) {
			err = fmt.Errorf("a write returned %d of %d bytes and no error", n, len(b))
		}
		failed <- err
	}
	receive := func(c net.Conn, want []byte) {
		got := make([]byte, len(want))
		_, err := io.ReadFull(c, got)
		if err == nil && !bytes.Equal(got, want) {
			err = fmt.Errorf("%d bytes arrived changed", len(want))
		}
		failed <- err
	}
	up, down := noise(2, big), noise(3, big)
	deadline := time.Now().Add(2 * patience)
	client.SetDeadline(deadline)
	server.SetDeadline(deadline)
	sides.Go(func() { send(client, up) })
	sides.Go(func() { send(server, down) })
	sides.Go(func() { receive(server, up) })
	sides.Go(func() { receive(client, down) })
	for range 4 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

func checkConcurrentWrites(t *testing.T, open Open) {
	const writers, length = 8, 100_000
	client, server := pair(t, open)
	client.SetDeadline(time.Now().Add(patience))
	server.SetDeadline(time.Now().Add(patience))
	var writing sync.WaitGroup
	defer func() {
		client.Close()
		writing.Wait()
	}()
	for i := range writers {
		writing.Go(func() { _, _ = client.Write(bytes.Repeat([]byte{byte('a' + i)}, length)) }) // the reader sees what is missing
	}
	seen := make(map[byte]bool)
	for range writers {
		got := make([]byte, length)
		if _, err := io.ReadFull(server, got); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(got, got[:1]); n != length {
			t.Fatalf("a write of %d bytes was interrupted by another", length)
		}
		seen[got[0]] = true
	}
	if len(seen) != writers {
		t.Errorf("%d of %d writes arrived", len(seen), writers)
	}
}

func checkReadDeadline(t *testing.T, open Open) {
	client, server := pair(t, open)
	read := func() error {
		return soon(t, "Read", func() error {
			_, err := client.Read(make([]byte, 1))
			return err
		})
	}
	client.SetReadDeadline(time.Now().Add(-time.Second))
	wantError(t, "Read after its deadline", read(), os.ErrDeadlineExceeded)

	const wait = 30 * time.Millisecond
	start := time.Now()
	client.SetReadDeadline(start.Add(wait))
	err := read()
	wantError(t, "Read", err, os.ErrDeadlineExceeded)
	if e, ok := err.(net.Error); !ok || !e.Timeout() {
		t.Errorf("error %v does not say Timeout", err)
	}
	if took := time.Since(start); took < wait {
		t.Errorf("Read gave up after %v, before its deadline of %v", took, wait)
	}

	// A deadline set while Read waits reaches it.
	client.SetReadDeadline(time.Time{})
	poke := time.AfterFunc(wait, func() { client.SetReadDeadline(time.Now()) })
	defer poke.Stop()
	wantError(t, "Read", read(), os.ErrDeadlineExceeded)

	// A missed deadline does no harm to the connection.
	client.SetReadDeadline(time.Time{})
	exchange(t, server, client, "weft")
	exchange(t, client, server, "warp")
}

func checkWriteDeadline(t *testing.T, open Open) {
	client, server := pair(t, open)
	exchange(t, client, server, "weft")
	client.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	err := soon(t, "Write", func() error {
		for {
			if _, err := client.Write(make([]byte, 1<<20)); err != nil { // the server does not read
				return err
			}
		}
	})
	wantError(t, "Write", err, os.ErrDeadlineExceeded)
	// The other direction does not share the deadline.
	exchange(t, server, client, "warp")
}

// noise returns n bytes that depend on seed alone.
func noise(seed byte, n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}
