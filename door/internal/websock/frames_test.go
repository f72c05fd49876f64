package websock

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// piped returns a connection and the end of its server, which has accepted it.
func piped(t *testing.T, cfg Config) (*Conn, net.Conn, *bufio.Reader) {
	t.Helper()
	near, far := net.Pipe()
	in := bufio.NewReader(far)
	accepted := make(chan error, 1)
	go func() { // it ends with the answer
		r, err := http.ReadRequest(in)
		if err == nil {
			sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
			_, err = fmt.Fprintf(far, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n",
				base64.StdEncoding.EncodeToString(sum[:]))
		}
		accepted <- err
	}()
	c, err := Dial(t.Context(), near, "server", "/", nil, nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	return c, far, in
}

// slow is a peer that reads a piece a second.
type slow struct{ r io.Reader }

func (s slow) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	return io.ReadFull(s.r, p[:min(len(p), piece)])
}

// frame reads one frame of a client.
func frame(r io.Reader) (head byte, payload []byte, err error) {
	var b [8]byte
	if _, err = io.ReadFull(r, b[:2]); err != nil {
		return 0, nil, err
	}
	head = b[0]
	n := uint64(b[1] &^ 0x80)
	switch n {
	case 126:
		_, err = io.ReadFull(r, b[6:])
		n = uint64(binary.BigEndian.Uint16(b[6:]))
	case 127:
		_, err = io.ReadFull(r, b[:])
		n = binary.BigEndian.Uint64(b[:])
	}
	var key [4]byte
	if err == nil {
		_, err = io.ReadFull(r, key[:])
	}
	payload = make([]byte, n)
	for part := payload; len(part) > 0 && err == nil; {
		var read int
		read, err = r.Read(part)
		part = part[read:]
	}
	for i := range payload {
		payload[i] ^= key[i%4]
	}
	return head, payload, err
}

// TestPongAmidMessage: a ping is answered while a large message is written to a peer that reads slowly.
func TestPongAmidMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := limits()
		cfg.Idle = time.Hour
		c, far, in := piped(t, cfg)
		message := strings.Repeat("0123456789abcdef", 1<<16)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer far.Close()
		defer c.Cut()
		wg.Go(func() {
			for { // it answers pings
				if _, err := c.Next(); err != nil {
					return
				}
			}
		})
		wg.Go(func() {
			if err := c.Send([]byte(message)); err != nil {
				t.Errorf("Send: %v", err)
			}
			if err := c.Send([]byte("behind it")); err != nil {
				t.Errorf("Send: %v", err)
			}
		})
		if _, err := in.Peek(1); err != nil { // the message has begun
			t.Fatal(err)
		}
		if _, err := io.WriteString(far, "\x89\x01p"); err != nil {
			t.Fatal(err)
		}
		var got []byte
		ponged := false
		for last := false; !last; {
			head, payload, err := frame(slow{in})
			switch {
			case err != nil:
				t.Fatalf("after %d bytes: %v", len(got), err)
			case head == 0x8a && string(payload) == "p":
				ponged = true
				continue
			case head&0xf != 1 && len(got) == 0 || head&0xf != 0 && len(got) > 0:
				t.Fatalf("a frame begins with %#x", head)
			}
			got, last = append(got, payload...), head&0x80 != 0
		}
		if string(got) != message || !ponged {
			t.Errorf("%d bytes came, want %d; pong: %v", len(got), len(message), ponged)
		}
		if head, payload, err := frame(in); err != nil || head != 0x81 || string(payload) != "behind it" {
			t.Errorf("%#x %q, %v", head, payload, err)
		}
	})
}
