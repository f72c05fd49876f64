package zookeeper

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// forge begins sessions as ZooKeeper does, and then answers every request but a sign of
// life with what answer returns for it, after the head.
func forge(t *testing.T, answer func(what op) []byte) string {
	t.Helper()
	return silent(t, func(conn net.Conn) {
		// It ends with the connection, which silent closes.
		go func() {
			if _, err := readRequest(conn); err != nil {
				return
			}
			welcome(conn)
			for {
				message, err := readRequest(conn)
				if err != nil {
					return
				}
				d := decoder{rest: message}
				xid, what := d.int(), op(d.int())
				if what == opClose {
					conn.Close()
					return
				}
				reply := putInt(putLong(putInt(make([]byte, 4), xid), 1), 0)
				if xid > 0 {
					reply = append(reply, answer(what)...)
				}
				if _, err := conn.Write(frame(reply)); err != nil {
					return
				}
			}
		}()
	})
}

// welcome begins a session.
func welcome(conn net.Conn) {
	hello := putLong(putInt(putInt(make([]byte, 4), 0), 10_000), 7)
	conn.Write(frame(putBool(putText(hello, make([]byte, 16)), false)))
}

func readRequest(conn net.Conn) ([]byte, error) {
	size, err := readSize(conn)
	if err != nil {
		return nil, err
	}
	return readMessage(conn, size)
}

// namesOf is the answer to a request for the names below a node.
func namesOf(n int, name func(int) string) []byte {
	b := putInt(nil, int32(n))
	for i := range n {
		b = putText(b, name(i))
	}
	return append(b, make([]byte, 68)...)
}

// TestHostileAnswers: what a server says, or another client writes to it, ends a watch with
// an error and takes little memory.
func TestHostileAnswers(t *testing.T) {
	short := func(int) string { return "x" }
	for _, test := range []struct {
		name     string
		children []byte
		get      []byte
		want     string
	}{
		{"nothing", nil, nil, errStranger.Error()},
		{"more names than there are bytes", putInt(nil, 1<<31-1), nil, errStranger.Error()},
		{"fewer names than none", putInt(nil, -7), nil, errStranger.Error()},
		{"a name of two GiB", putInt(putInt(nil, 1), 1<<31-1), nil, errStranger.Error()},
		{"a name shorter than none", putInt(putInt(nil, 1), -2), nil, errStranger.Error()},
		{"too many instances", namesOf(maxInstances+1, short), nil, "at most 100000"},
		{"names without end", make([]byte, maxNames+1), nil, "at most 16777216"},
		{"a value that is cut short", namesOf(1, short), putInt(nil, 100), errStranger.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			address := forge(t, func(what op) []byte {
				if what == opGet {
					return test.get
				}
				return test.children
			})
			d := connect(t, Config{Servers: []string{address}})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := d.Watch(operation(t), "Hostile", func(list registry.List) { t.Errorf("Watch emits %+v", list) })
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Watch returned %v, want an error with %q", err, test.want)
			}
			sent := 8 * uint64(len(test.children)+1<<20) // both ends are in this process
			if took := after.TotalAlloc - before.TotalAlloc; took > sent {
				t.Errorf("Watch took %d bytes for an answer of %d", took, len(test.children))
			}
		})
	}
}

// TestServersThatHangUp: servers that begin a session and end the connection at once
// are not asked again without a pause.
func TestServersThatHangUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(operation(t))
	defer cancel()
	const sessions = 12
	var greeted atomic.Int32
	hangUp := func(conn net.Conn) {
		if _, err := readRequest(conn); err == nil {
			if greeted.Add(1) == sessions {
				cancel()
			}
			welcome(conn)
		}
		conn.Close()
	}
	d := connect(t, Config{Servers: []string{silent(t, hangUp), silent(t, hangUp)}})
	began := time.Now()
	if err := d.Put(ctx, instance("Up", "a"), time.Minute); err == nil {
		t.Error("Put went well")
	}
	if took, n := time.Since(began), greeted.Load(); n < sessions || took < 2*time.Second {
		t.Errorf("the servers were asked for a session %d times in %v, want %d times in two seconds or more", n, took, sessions)
	}
}

// TestOneServiceTooLarge: what is wrong with one service does not disturb the watch of
// another, on the same connection.
func TestOneServiceTooLarge(t *testing.T) {
	broken := make(chan struct{})
	address := forge(t, func(what op) []byte {
		select {
		case <-broken:
			return make([]byte, maxNames+1)
		default:
			return namesOf(0, nil)
		}
	})
	d := connect(t, Config{Servers: []string{address}})
	w := registrytest.NewWatch(t, d, "Good")
	w.Until(t, "a list", count(0))
	close(broken)
	err := d.Watch(operation(t), "Large", func(registry.List) { t.Error("Watch emits a list that is too large") })
	if _, ok := errors.AsType[tooLong](err); !ok {
		t.Errorf("Watch returned %v, want that the answer is too long", err)
	}
	select {
	case err := <-w.Ended:
		t.Errorf("the watch of another service has ended: %v", err)
	default:
	}
}

// Large values are invalid entries beside good ones, and no documents.
func testLargeValues(t *testing.T, address string) {
	d := connect(t, Config{Servers: []string{address}})
	put(t, d, instance("Large", "a"))
	s, err := d.writer()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{registry.MaxDocument, 900_000} {
		path := d.servicePath("Large") + fmt.Sprintf("/b%d", size)
		if err := s.create(operation(t), path, make([]byte, size), ephemeral); err != nil {
			t.Fatal(err)
		}
	}
	list := registrytest.NewWatch(t, d, "Large").Until(t, "a list", count(1))[0]
	if len(list.Invalid) != 2 {
		t.Fatalf("the invalid entries are %+v, want two", list.Invalid)
	}
	for _, i := range list.Invalid {
		if !strings.Contains(i.Err.Error(), "at most") {
			t.Errorf("the entry %s is invalid because %v, want that it is too long", i.ID, i.Err)
		}
	}
	for _, size := range []int{registry.MaxDocument + 1, 900_000} {
		name := fmt.Sprintf("large%d", size)
		if err := s.create(operation(t), d.documentPath(name), make([]byte, size), persistent); err != nil {
			t.Fatal(err)
		}
		if doc, err := d.Load(operation(t), name); err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("Load of %d bytes returned %d bytes, %v, want that it is too long", size, len(doc.Value), err)
		}
		err := d.WatchDocument(operation(t), name, func(registry.Document) { t.Error("WatchDocument emits it") })
		if err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("WatchDocument of %d bytes returned %v, want that it is too long", size, err)
		}
	}
}

// FuzzReceive takes anything for what a server sends.
func FuzzReceive(f *testing.F) {
	head := func(xid int32, body []byte) []byte {
		return frame(append(putInt(putLong(putInt(make([]byte, 4), xid), 5), 0), body...))
	}
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 3, 1, 2, 3})
	f.Add(binary.BigEndian.AppendUint32(nil, 1<<32-1))
	f.Add(head(1, namesOf(3, func(i int) string { return strings.Repeat("n", i) })))
	f.Add(head(xidEvent, putText(putInt(putInt(nil, 1), 3), "/weft/instances/Arith")))
	f.Add(append(head(xidPing, nil), head(1, putText(nil, "value"))...))
	f.Fuzz(func(t *testing.T, sent []byte) {
		near, far := net.Pipe()
		defer far.Close()
		answers := make(chan answer, 1)
		c := &conn{net: near, in: bufio.NewReader(bytes.NewReader(sent)), pending: map[int32]request{1: {maxNames, answers}}}
		if err := c.receive(&identity{timeout: time.Minute}, func(string) {}); err == nil {
			t.Error("receive returned nil at the end of what was sent")
		}
		select {
		case a := <-answers:
			for _, read := range []func(*decoder){
				func(d *decoder) { d.texts(); d.stat() },
				func(d *decoder) { d.bytes(); d.stat() },
			} {
				read(&decoder{rest: a.body})
			}
		default:
		}
	})
}

// TestReadMessage: a length alone takes no memory.
func TestReadMessage(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readMessage(strings.NewReader("abc"), maxNames)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("readMessage returned %v, want io.ErrUnexpectedEOF", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<10 {
		t.Errorf("readMessage took %d bytes for three", took)
	}
}

// TestCallEnds: a request whose context has ended waits for nothing, and its answer
// is dropped.
func TestCallEnds(t *testing.T) {
	release := make(chan struct{})
	address := forge(t, func(op) []byte {
		<-release
		return make([]byte, 68)
	})
	d := connect(t, Config{Servers: []string{address}})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := d.Refresh(ctx, instance("Late", "a"), time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Refresh returned %v, want the error of its context", err)
	}
	close(release)
	if err := d.Refresh(operation(t), instance("Late", "a"), time.Minute); !errors.Is(err, registry.ErrLost) {
		t.Errorf("the next Refresh returned %v, want ErrLost", err)
	}
	d.writing.mu.Lock()
	defer d.writing.mu.Unlock()
	if n := len(d.writing.conn.pending); n != 0 {
		t.Errorf("%d requests are still known", n)
	}
}
