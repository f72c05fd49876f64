// Package pigeon is a made-up RPC framework, no more than an example of a peer
// needs: frames with a length before them, and one call at a time on each
// connection. It does not import the comparison.
//
// A call is two frames, the method's name and the request; a reply is one byte,
// 0 or 1 for an error, and a frame with the reply or the text of the error.
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

// Handler answers a request, which it may keep.
type Handler func(request []byte) ([]byte, error)

// Server is a server.
type Server struct {
	listener net.Listener
	running  sync.WaitGroup // the goroutines of the server

	mu       sync.Mutex
	handlers map[string]Handler
	open     map[net.Conn]bool
	closed   bool
}

// Listen makes a server that listens on addr; calls fail until their methods are
// handled.
func Listen(addr string) (*Server, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &Server{listener: listener, handlers: make(map[string]Handler), open: make(map[net.Conn]bool)}
	s.running.Go(s.accept) // ends with Close
	return s, nil
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Handle sets the handler of a method.
func (s *Server) Handle(method string, handler Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[method] = handler
}

// Close ends all connections and waits for the calls in progress.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.mu.Lock()
	s.closed = true
	for conn := range s.open {
		conn.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
	return err
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			conn.Close()
			return
		}
		s.open[conn] = true
		s.mu.Unlock()
		s.running.Go(func() { // ends with the connection
			s.serve(conn)
			conn.Close()
			s.mu.Lock()
			delete(s.open, conn)
			s.mu.Unlock()
		})
	}
}

// find is the handler of a method, one that fails if the method has none.
func (s *Server) find(method string) Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	if handler, known := s.handlers[method]; known {
		return handler
	}
	return func([]byte) ([]byte, error) { return nil, fmt.Errorf("no method %q", method) }
}

func (s *Server) serve(conn net.Conn) {
	in, out := bufio.NewReader(conn), bufio.NewWriter(conn)
	for {
		name, err := readFrame(in)
		if err != nil {
			return
		}
		request, err := readFrame(in)
		if err != nil {
			return
		}
		reply, err := s.find(string(name))(request)
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

// Conn carries one call at a time.
type Conn struct {
	conn net.Conn
	in   *bufio.Reader
	out  *bufio.Writer
}

// Dial connects to a server.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Conn{conn, bufio.NewReader(conn), bufio.NewWriter(conn)}, nil
}

// Call makes one call.
func (c *Conn) Call(method string, request []byte) ([]byte, error) {
	writeFrame(c.out, []byte(method))
	writeFrame(c.out, request)
	if err := c.out.Flush(); err != nil {
		return nil, err
	}
	status, err := c.in.ReadByte()
	if err != nil {
		return nil, err
	}
	reply, err := readFrame(c.in)
	if err == nil && status != 0 {
		err = errors.New(string(reply))
	}
	return reply, err
}

// Close ends the connection; a call in flight fails.
func (c *Conn) Close() error { return c.conn.Close() }

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
