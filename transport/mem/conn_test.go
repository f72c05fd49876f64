package mem_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/transport/mem"
)

func TestCloseSemantics(t *testing.T) {
	client, server := mem.Pipe(nil)
	client.Write([]byte("last words"))
	client.Close()
	client.Close()

	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("own Read after Close: %v", err)
	}
	if _, err := client.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("own Write after Close: %v", err)
	}
	if err := client.SetDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("own SetDeadline after Close: %v", err)
	}
	if b, err := io.ReadAll(server); string(b) != "last words" || err != nil {
		t.Errorf("the peer read %q, %v", b, err)
	}
	if _, err := server.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the peer's Write: %v, want broken pipe", err)
	}
}

func TestCloseWriteLeavesTheOtherDirection(t *testing.T) {
	client, server := mem.Pipe(nil)
	client.Write([]byte("question"))
	client.CloseWrite()
	if b, err := io.ReadAll(server); string(b) != "question" || err != nil {
		t.Errorf("the peer read %q, %v", b, err)
	}
	server.Write([]byte("answer"))
	server.Close()
	if b, err := io.ReadAll(client); string(b) != "answer" || err != nil {
		t.Errorf("the answer read as %q, %v", b, err)
	}
	if _, err := client.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write after CloseWrite: %v", err)
	}
}

// Every blocked operation is durably blocked, and each of these events ends it.
func TestWakeups(t *testing.T) {
	const buffer = 16
	read := func(c *mem.Conn) error { _, err := c.Read(make([]byte, 1)); return err }
	write := func(c *mem.Conn) error { _, err := c.Write(make([]byte, buffer+1)); return err }
	for _, test := range []struct {
		name  string
		block func(*mem.Conn) error
		event func(own, peer *mem.Conn)
		want  error
	}{
		{"read, data", read, func(_, peer *mem.Conn) { peer.Write([]byte("x")) }, nil},
		{"read, own close", read, func(own, _ *mem.Conn) { own.Close() }, net.ErrClosed},
		{"read, peer close", read, func(_, peer *mem.Conn) { peer.Close() }, io.EOF},
		{"read, deadline now", read, func(own, _ *mem.Conn) { own.SetReadDeadline(time.Now()) }, os.ErrDeadlineExceeded},
		{"read, deadline later", read, func(own, _ *mem.Conn) { own.SetDeadline(time.Now().Add(time.Hour)) }, os.ErrDeadlineExceeded},
		{"read, cut of its direction", read, func(own, _ *mem.Conn) { own.In().CutAfter(0) }, syscall.ECONNRESET},
		{"read, cut of the other", read, func(own, _ *mem.Conn) { own.Out().CutAfter(0) }, syscall.ECONNRESET},
		{"write, room", write, func(_, peer *mem.Conn) { peer.Read(make([]byte, 1)) }, nil},
		{"write, own close", write, func(own, _ *mem.Conn) { own.Close() }, net.ErrClosed},
		{"write, peer close", write, func(_, peer *mem.Conn) { peer.Close() }, syscall.EPIPE},
		{"write, deadline now", write, func(own, _ *mem.Conn) { own.SetWriteDeadline(time.Now()) }, os.ErrDeadlineExceeded},
		{"write, deadline later", write, func(own, _ *mem.Conn) { own.SetWriteDeadline(time.Now().Add(time.Hour)) }, os.ErrDeadlineExceeded},
		{"write, cut of its direction", write, func(own, _ *mem.Conn) { own.Out().CutAfter(0) }, syscall.ECONNRESET},
		{"write, cut of the other", write, func(own, _ *mem.Conn) { own.In().CutAfter(0) }, syscall.ECONNRESET},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				own, peer := mem.Pipe(&mem.PipeConfig{Buffer: buffer})
				done := make(chan error, 1)
				go func() { done <- test.block(own) }()
				synctest.Wait()
				select {
				case err := <-done:
					t.Fatalf("it did not block, error %v", err)
				default:
				}
				test.event(own, peer)
				if err := <-done; !errors.Is(err, test.want) {
					t.Errorf("error %v, want %v", err, test.want)
				}
			})
		})
	}
}

func TestDeadlineMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := mem.Pipe(nil)
		start := time.Now()
		client.SetReadDeadline(start.Add(time.Second))
		for at := range 5 {
			// Each step moves the deadline before it passes.
			time.Sleep(900 * time.Millisecond)
			client.SetReadDeadline(start.Add(time.Duration(at+2) * time.Second))
		}
		_, err := client.Read(make([]byte, 1))
		if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took != 6*time.Second {
			t.Errorf("Read ended after %v with %v, want 6s and its deadline", took, err)
		}
		// Data does not help against a deadline that passed; a later one does.
		server.Write([]byte("x"))
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read past its deadline: %v", err)
		}
		client.SetReadDeadline(time.Time{})
		time.Sleep(time.Hour)
		if n, err := client.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("Read without a deadline = %d, %v", n, err)
		}
	})
}

func TestPartialWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := mem.Pipe(&mem.PipeConfig{Buffer: 10})
		client.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
		if n, err := client.Write(make([]byte, 25)); n != 10 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write = %d, %v, want the 10 bytes of the buffer and its deadline", n, err)
		}
	})
}

// Random sizes of buffer, writes and reads keep every byte in its place.
func TestBytesStayInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	want := make([]byte, 60_000)
	for i := range want {
		want[i] = byte(random.Uint32())
	}
	for _, buffer := range []int{1, 7, 4096, 5000, 64 << 10} {
		client, server := mem.Pipe(&mem.PipeConfig{Buffer: buffer})
		sizes := rand.New(rand.NewPCG(uint64(buffer), 3))
		go func() {
			for rest := want; len(rest) > 0; {
				n := min(1+random.IntN(20_000), len(rest))
				client.Write(rest[:n])
				rest = rest[n:]
			}
			client.Close()
		}()
		var got []byte
		for {
			b := make([]byte, 1+sizes.IntN(20_000))
			n, err := server.Read(b)
			got = append(got, b[:n]...)
			if err != nil {
				break
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("buffer %d: the bytes changed on the way", buffer)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	client, server := mem.Pipe(nil)
	message, b := make([]byte, 600), make([]byte, 4096)
	exchange := func() {
		client.Write(message)
		server.Read(b)
		server.Write(message)
		client.Read(b)
	}
	exchange() // the buffers come with the first bytes
	if n := testing.AllocsPerRun(100, exchange); n != 0 {
		t.Errorf("%v allocations per round trip, want 0", n)
	}
	far := time.Now().Add(time.Hour)
	client.SetDeadline(far) // and the timers with the first deadline
	if n := testing.AllocsPerRun(100, func() { client.SetDeadline(far); exchange() }); n != 0 {
		t.Errorf("%v allocations per round trip with a deadline, want 0", n)
	}
	client.Close()
}

func BenchmarkRoundTrip(b *testing.B) {
	client, server := mem.Pipe(nil)
	go func() {
		io.Copy(struct{ io.Writer }{server}, struct{ io.Reader }{server})
	}()
	defer client.Close()
	message := make([]byte, 600)
	b.SetBytes(int64(len(message)))
	b.ReportAllocs()
	for b.Loop() {
		client.Write(message)
		io.ReadFull(client, message)
	}
}

func BenchmarkStream(b *testing.B) {
	client, server := mem.Pipe(nil)
	go func() {
		chunk := make([]byte, 16<<10)
		for {
			if _, err := client.Write(chunk); err != nil {
				return
			}
		}
	}()
	defer server.Close()
	chunk := make([]byte, 16<<10)
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		io.ReadFull(server, chunk)
	}
}
