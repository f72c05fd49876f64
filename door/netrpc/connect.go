package netrpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"strings"
	"time"

	"github.com/weftrpc/weft"
)

// connect begins the request of rpc.DialHTTP. A proxy's CONNECT names a host in place of a path.
const connect = "CONNECT /"

// defaultPath is the path of rpc.DialHTTP.
const defaultPath = rpc.DefaultRPCPath

// connected is the answer of net/rpc to it.
const connected = "HTTP/1.0 200 Connected to Go RPC\n\n"

// maxConnect is how many bytes the request or its answer may have.
const maxConnect = 4 << 10

// buffered is a connection of which some bytes were read ahead. One goroutine reads.
type buffered struct {
	net.Conn
	in *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) {
	if b.in.Buffered() > 0 {
		return b.in.Read(p)
	}
	return b.Conn.Read(p)
}

// WritesTo is the connection underneath, which gets what is written as it is.
func (b *buffered) WritesTo() net.Conn { return b.Conn }

// CloseWrite closes the sending direction, if the connection can do that.
func (b *buffered) CloseWrite() error {
	if c, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

// accepted answers the request of rpc.DialHTTP, whatever its path is, if the connection begins with
// one, and returns the connection behind it.
func accepted(c *weft.DoorConn) (net.Conn, error) {
	conn := c.Conn()
	b := &buffered{conn, bufio.NewReaderSize(conn, maxConnect)}
	conn.SetReadDeadline(time.Now().Add(c.Limits().HandshakeTimeout))
	first, err := b.in.Peek(len(connect))
	switch {
	case err != nil && len(first) == 0:
		return nil, ended(err)
	case string(first) == connect:
		if _, err = head(b.in); err == nil {
			_, err = conn.Write([]byte(connected))
		}
		if err != nil {
			return nil, fmt.Errorf("the CONNECT of net/rpc: %w", err)
		}
	}
	conn.SetReadDeadline(time.Time{})
	return b, nil
}

// tunnel sends the request of rpc.DialHTTP and returns the connection behind its answer.
func tunnel(ctx context.Context, conn net.Conn, path string) (_ net.Conn, err error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() && err == nil {
			err = ctx.Err()
		}
		if err != nil {
			conn.Close()
		}
	}()
	if strings.ContainsAny(path, " \r\n") || !strings.HasPrefix(path, "/") {
		return nil, weft.Errorf(weft.InvalidArgument, "the path %q of net/rpc over HTTP must begin with a slash and have no white space", path)
	}
	if _, err := conn.Write([]byte("CONNECT " + path + " HTTP/1.0\n\n")); err != nil {
		return nil, err
	}
	b := &buffered{conn, bufio.NewReaderSize(conn, maxConnect)}
	status, err := head(b.in)
	if err != nil {
		return nil, fmt.Errorf("the answer to CONNECT %s: %w", path, err)
	}
	if _, code, _ := strings.Cut(status, " "); !strings.HasPrefix(code, "200") {
		return nil, fmt.Errorf("the server answered CONNECT %s with %q: there is no net/rpc over HTTP", path, status)
	}
	if b.in.Buffered() == 0 { // a server sends nothing unasked
		return conn, nil
	}
	return b, nil
}

// head reads lines up to an empty one and returns the first.
func head(in *bufio.Reader) (first string, err error) {
	for size := 0; ; {
		line, err := in.ReadSlice('\n')
		size += len(line)
		switch {
		case err == nil && size <= maxConnect:
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
			return "", fmt.Errorf("it has more than %d bytes", maxConnect)
		default:
			return "", err
		}
		line = bytes.TrimRight(line, "\r\n")
		if first == "" {
			if len(line) == 0 {
				return "", errors.New("it begins with an empty line")
			}
			first = string(line)
		} else if len(line) == 0 {
			return first, nil
		}
	}
}
