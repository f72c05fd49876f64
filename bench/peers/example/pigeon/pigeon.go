// Package pigeon is a made-up RPC framework, no more than an example of a peer
// needs: frames with a length before them, and one call at a time on each
// connection. It knows nothing of the comparison.
//
// A call is two frames, the method's name and the letter; a reply is one byte,
// 0 or 1 for an error, and a frame with the answer or the text of the error.
package pigeon

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Version is that of the framework.
const Version = "1.2"

// longest is the longest frame, in bytes.
const longest = 16 << 20

// Answer makes the answer to a letter, which it may keep.
type Answer func(letter []byte) ([]byte, error)

// Loft is a server.
type Loft struct {
	listener net.Listener
	birds    sync.WaitGroup // the goroutines of the loft

	mu      sync.Mutex
	answers map[string]Answer
	open    map[net.Conn]bool
	closed  bool
}

// Build makes a loft that listens on addr, and answers at once with errors until
// it has been told the answers.
func Build(addr string) (*Loft, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	l := &Loft{listener: listener, answers: make(map[string]Answer), open: make(map[net.Conn]bool)}
	l.birds.Go(l.accept) // ends with Close
	return l, nil
}

// Addr is where the loft listens.
func (l *Loft) Addr() string { return l.listener.Addr().String() }

// Answer sets what answers calls of a method.
func (l *Loft) Answer(method string, answer Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[method] = answer
}

// Close ends all connections and waits for the calls in progress.
func (l *Loft) Close() error {
	err := l.listener.Close()
	l.mu.Lock()
	l.closed = true
	for conn := range l.open {
		conn.Close()
	}
	l.mu.Unlock()
	l.birds.Wait()
	return err
}

func (l *Loft) accept() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			conn.Close()
			return
		}
		l.open[conn] = true
		l.mu.Unlock()
		l.birds.Go(func() { // ends with the connection
			l.serve(conn)
			conn.Close()
			l.mu.Lock()
			delete(l.open, conn)
			l.mu.Unlock()
		})
	}
}

// find is the answer to calls of a method, an error for one that nobody knows.
func (l *Loft) find(method string) Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if answer, known := l.answers[method]; known {
		return answer
	}
	return func([]byte) ([]byte, error) { return nil, fmt.Errorf("no method %q", method) }
}

func (l *Loft) serve(conn net.Conn) {
	in, out := bufio.NewReader(conn), bufio.NewWriter(conn)
	for {
		name, err := readFrame(in)
		if err != nil {
			return
		}
		letter, err := readFrame(in)
		if err != nil {
			return
		}
		reply, err := l.find(string(name))(letter)
		status := byte(0)
		if err != nil {
			status, reply = 1, []byte(err.Error())
		}
		out.WriteByte(status)
		writeFrame(out, reply)
		if out.Flush() != nil {
			return
		}
	}
}

// Bird carries one letter at a time.
type Bird struct {
	conn net.Conn
	in   *bufio.Reader
	out  *bufio.Writer
}

// Catch connects to a server.
func Catch(ctx context.Context, addr string) (*Bird, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Bird{conn, bufio.NewReader(conn), bufio.NewWriter(conn)}, nil
}

// Fly makes one call.
func (b *Bird) Fly(method string, letter []byte) ([]byte, error) {
	writeFrame(b.out, []byte(method))
	writeFrame(b.out, letter)
	if err := b.out.Flush(); err != nil {
		return nil, err
	}
	status, err := b.in.ReadByte()
	if err != nil {
		return nil, err
	}
	reply, err := readFrame(b.in)
	if err == nil && status != 0 {
		err = errors.New(string(reply))
	}
	return reply, err
}

// Free ends the connection; a call in flight fails.
func (b *Bird) Free() error { return b.conn.Close() }

// writeFrame leaves errors to the flush: a bufio.Writer keeps its first.
func writeFrame(w *bufio.Writer, body []byte) {
	w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(body))))
	w.Write(body)
}

func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > longest {
		return nil, fmt.Errorf("a frame of %d bytes, the longest is %d", size, longest)
	}
	body := make([]byte, size)
	_, err := io.ReadFull(r, body)
	return body, err
}
