package mem_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/transport/mem"
)

// Cutting after n bytes delivers exactly n, whatever the sizes of the writes, and
// leaves both ends with a reset connection.
func TestCutAtEveryByte(t *testing.T) {
	message := []byte("the quick brown fox")
	for n := range len(message) + 1 {
		for _, step := range []int{1, 4, len(message)} {
			client, server := mem.Pipe(nil)
			server.Write([]byte("early")) // sent before the cut, arrives
			client.Out().CutAfter(int64(n))

			sent := 0
			for sent < len(message) {
				k, err := client.Write(message[sent:min(sent+step, len(message))])
				sent += k
				if err != nil {
					if !errors.Is(err, syscall.ECONNRESET) {
						t.Fatalf("cut after %d: Write: %v", n, err)
					}
					break
				}
			}
			got, err := io.ReadAll(server)
			if sent != n || !bytes.Equal(got, message[:n]) || !errors.Is(err, syscall.ECONNRESET) {
				t.Fatalf("cut after %d, writes of %d: sent %d, received %q, %v", n, step, sent, got, err)
			}
			got, err = io.ReadAll(client)
			if string(got) != "early" || !errors.Is(err, syscall.ECONNRESET) {
				t.Fatalf("cut after %d: the other direction read %q, %v", n, got, err)
			}
			if _, err := server.Write([]byte("late")); !errors.Is(err, syscall.ECONNRESET) {
				t.Fatalf("cut after %d: the other direction's Write: %v", n, err)
			}
			if w := client.Out().Written(); w != int64(n) {
				t.Fatalf("Written() = %d after a cut at %d", w, n)
			}
		}
	}
}

// A cut that comes too late cuts at once; what was written stays readable.
func TestCutInThePast(t *testing.T) {
	client, server := mem.Pipe(nil)
	client.Write([]byte("hello"))
	client.Out().CutAfter(2)
	got, err := io.ReadAll(server)
	if string(got) != "hello" || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestStallAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := mem.Pipe(&mem.PipeConfig{Buffer: 8})
		client.Out().StallAfter(3)
		client.Write([]byte("hello"))
		b := make([]byte, 8)
		if n, err := server.Read(b); string(b[:n]) != "hel" || err != nil {
			t.Fatalf("before the stall: %q, %v", b[:n], err)
		}
		server.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := server.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("during the stall: %v", err)
		}
		// The end does not get through either, and the writer meets a full buffer.
		client.SetWriteDeadline(time.Now().Add(time.Minute))
		if n, err := client.Write([]byte(" world")); n != 6 || err != nil {
			t.Fatalf("Write into the buffer = %d, %v", n, err)
		}
		if n, err := client.Write([]byte("!")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("Write into a full buffer = %d, %v", n, err)
		}
		client.Close()
		server.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := server.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("the end during the stall: %v", err)
		}
		server.SetReadDeadline(time.Time{})
		time.AfterFunc(time.Hour, client.Out().Resume)
		if got, err := io.ReadAll(server); string(got) != "lo world" || err != nil {
			t.Errorf("after the stall: %q, %v", got, err)
		}
	})
}

// A stall and then a cut lose bytes whose Write succeeded.
func TestStallThenCut(t *testing.T) {
	client, server := mem.Pipe(nil)
	client.Out().StallAfter(2)
	if n, err := client.Write([]byte("hello")); n != 5 || err != nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
	client.Out().CutAfter(0)
	if got, err := io.ReadAll(server); string(got) != "he" || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestStallNowAndMoveIt(t *testing.T) {
	client, server := mem.Pipe(nil)
	client.Out().Stall()
	client.Write([]byte("hello"))
	client.Out().StallAfter(1)
	client.Out().FlipBit(9, 0)
	b := make([]byte, 8)
	if n, err := server.Read(b); n != 1 || err != nil {
		t.Errorf("Read = %d, %v, want the byte that was let through", n, err)
	}
}

func TestMaxRead(t *testing.T) {
	client, server := mem.Pipe(nil)
	client.Write([]byte("hello"))
	b := make([]byte, 8)
	for _, step := range []struct {
		limit int
		want  string
	}{{1, "h"}, {3, "ell"}, {0, "o"}} {
		server.In().MaxRead(step.limit)
		if n, err := server.Read(b); string(b[:n]) != step.want || err != nil {
			t.Errorf("MaxRead(%d): %q, %v, want %q", step.limit, b[:n], err, step.want)
		}
	}
}

func TestFlipEveryBit(t *testing.T) {
	message := []byte{0x00, 0xff, 0x55}
	for offset := range message {
		for bit := range 8 {
			client, server := mem.Pipe(nil)
			client.Out().FlipBit(int64(offset), bit)
			client.Write(message)
			client.Close()
			server.In().MaxRead(1 + bit%3) // the place must not depend on the reads
			got, err := io.ReadAll(server)
			want := bytes.Clone(message)
			want[offset] ^= 1 << bit
			if !bytes.Equal(got, want) || err != nil {
				t.Errorf("FlipBit(%d, %d): %x, %v, want %x", offset, bit, got, err, want)
			}
		}
	}
}
