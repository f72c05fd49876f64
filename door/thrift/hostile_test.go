package thrift_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// heap is how many bytes are in use, behind a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestWaitingReplies: calls that have ended and whose replies wait for that of a call before them keep
// nothing of their requests, neither those that were refused nor those whose handlers failed.
func TestWaitingReplies(t *testing.T) {
	const calls, size = 200, 1 << 20
	var failed atomic.Int64
	addr := start(t, &weft.ServerConfig{Timeout: -1, Overload: weft.Overload{Off: true}, Limits: weft.Limits{MaxCallBytes: 8 * size}}, func(srv *weft.Server) error {
		if err := weft.Handle(srv, "Demo.Wait", func(ctx context.Context, _ *Get) (*string, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}); err != nil {
			return err
		}
		return weft.Handle(srv, "Demo.Fail", func(_ context.Context, b *[]byte) (*string, error) {
			failed.Add(1)
			return nil, weft.Errorf(weft.NotFound, "there is nothing")
		})
	})
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(3*patience)))
	_, err = conn.Write([]byte("\x82\x21\x01\x04Wait\x00"))
	must(t, err)
	before := heap()
	message := []byte("\x80\x01\x00\x01\x00\x00\x00\x04Fail\x00\x00\x00\x01\x0b\x00\x01")
	message = binary.BigEndian.AppendUint32(message, size)
	message = append(append(message, make([]byte, size)...), 0)
	for range calls {
		_, err = conn.Write(message)
		must(t, err)
	}
	polltest.Until(t, patience, "what is kept is small", func() error {
		if failed.Load() == 0 {
			return fmt.Errorf("no handler has run")
		}
		if kept := heap() - before; kept > calls*size/4 {
			return fmt.Errorf("%d MiB are kept of %d calls that have ended", kept>>20, calls)
		}
		return nil
	})
}

// TestPartsOfMessages: parts of messages count against the memory of the server, also when the messages never
// become whole.
func TestPartsOfMessages(t *testing.T) {
	addr := start(t, &weft.ServerConfig{MaxMemory: 16 << 20, Limits: weft.Limits{HandshakeTimeout: time.Hour}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Demo.Echo", func(_ context.Context, b *[]byte) (*[]byte, error) { return b, nil })
	})
	message := binary.BigEndian.AppendUint32(nil, 4<<20)
	message = append(append(message, "\x80\x01\x00\x01\x00\x00\x00\x04Echo\x00\x00\x00\x01"...), make([]byte, 3<<20)...)
	closed := make(chan struct{}, 16)
	for range cap(closed) {
		conn, err := net.Dial("tcp", addr)
		must(t, err)
		defer conn.Close()
		_, _ = conn.Write(message) // it fails on a connection that the server has ended
		go func() {                // it ends with the connection
			_, _ = conn.Read(make([]byte, 1))
			closed <- struct{}{}
		}()
	}
	select {
	case <-closed:
	case <-time.After(patience):
		t.Errorf("%d MiB of parts of messages are kept, more than the server may hold", cap(closed)*3)
	}
}
