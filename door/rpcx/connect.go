package rpcx

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/replay"
)

// path is that of rpcx over HTTP.
const path = "/_rpcx_"

// connect begins the request of a client over HTTP.
const connect = "CONNECT " + path + " "

// connected is the answer to it, whose whole status clients compare.
const connected = "HTTP/1.0 200 Connected to rpcx\n\n"

// maxConnect is how many bytes the request or its answer may have.
const maxConnect = 4 << 10

// behind is a connection behind what was read of it by in, which may have read ahead.
func behind(conn net.Conn, in *bufio.Reader) net.Conn {
	rest, _ := in.Peek(in.Buffered()) // they are there
	return replay.Conn(conn, rest)
}

// tunneled takes the request off a connection that begins with CONNECT, and answers it.
func tunneled(conn net.Conn) (net.Conn, error) {
	first := make([]byte, 1)
	if _, err := io.ReadFull(conn, first); err != nil {
		return nil, err
	}
	conn = replay.Conn(conn, first)
	if first[0] != connect[0] {
		return conn, nil
	}
	in := bufio.NewReaderSize(conn, maxConnect)
	if _, err := headOf(in); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, connected); err != nil {
		return nil, err
	}
	return behind(conn, in), nil
}

// headOf reads lines up to the empty one, and returns the first.
func headOf(in *bufio.Reader) (first string, err error) {
	for left := maxConnect; ; {
		line, err := in.ReadSlice('\n')
		if left -= len(line); err != nil || left < 0 {
			if errors.Is(err, bufio.ErrBufferFull) || left < 0 {
				err = fmt.Errorf("the head of HTTP has more than %d bytes", maxConnect)
			}
			return "", err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			return first, nil
		}
		if first == "" {
			first = text
		}
	}
}

// tunnel makes a connection to a server of rpcx over HTTP.
func tunnel(ctx context.Context, conn net.Conn) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	in := bufio.NewReaderSize(conn, maxConnect)
	_, err := io.WriteString(conn, connect+"HTTP/1.0\n\n")
	var status string
	if err == nil {
		status, err = headOf(in)
	}
	if !stop() {
		err = ctx.Err()
	}
	_, said, _ := strings.Cut(status, " ")
	if err == nil && said != "200 Connected to rpcx" {
		err = weft.Errorf(weft.Unavailable, "the server answered %q to CONNECT %s, want 200 Connected to rpcx", status[:min(len(status), 128)], path)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return behind(conn, in), nil
}
