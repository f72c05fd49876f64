// Package tcppeer is TCP without any RPC: frames of a length and the published
// bytes go back and forth, one connection and two goroutines for each caller.
// It shows what one connection per caller costs, whatever is built on it.
package tcppeer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/internal/listen"
	"github.com/weftrpc/weft/bench/msg"
)

// A frame is a 4-byte header, little-endian, and a body. The method is the
// header's top byte, the body's length the rest, enough for the large reply.
const (
	headerSize  = 4
	methodShift = 24
	lengthMask  = 1<<methodShift - 1
	maxBody     = msg.LargeSize

	// startBuffer holds a usual frame; buffers grow when a frame is larger.
	startBuffer = 1 << 10
)

// Peer is plain TCP. The zero value is ready.
type Peer struct{}

// Name is "tcp".
func (Peer) Name() string { return "tcp" }

// Describe says what the peer is.
func (Peer) Describe() contract.Description {
	return contract.Description{
		Language: "Go",
		Version:  runtime.Version(),
		Settings: "no RPC: a length and the bytes, a connection and two goroutines for each caller",
	}
}

// Supports only the raw codec: with the others this would measure the codec.
func (Peer) Supports(codec msg.Codec, method msg.Method) error {
	if codec != msg.Raw || method == msg.Add {
		return fmt.Errorf("tcp has no codec %s for %s", codec, method.Name())
	}
	return nil
}

// Serve echoes frames.
func (Peer) Serve(ctx context.Context, cfg harness.ServeConfig) error {
	return listen.Serve(ctx, cfg.Addr, cfg.Ready, func(conn net.Conn) error {
		return echo(conn, cfg.Service)
	})
}

// echo answers one frame after the other, each with a single write.
func echo(conn net.Conn, service *msg.Service) error {
	in := frames{conn: conn, buf: make([]byte, startBuffer)}
	out := make([]byte, 0, startBuffer)
	for {
		method, body, err := in.next()
		if err != nil {
			return err
		}
		reply := service.AnswerRaw(method, body)
		out = appendFrame(out[:0], method, reply)
		if _, err := conn.Write(out); err != nil {
			return err
		}
	}
}

// Dial opens one connection for each caller.
func (Peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
	request, err := msg.NewRaw()
	if err != nil {
		return nil, err
	}
	c := &client{request: request}
	var dialer net.Dialer
	for range cfg.Callers {
		conn, err := dialer.DialContext(ctx, "tcp", cfg.Addr)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

type client struct {
	request []byte
	conns   []net.Conn
}

func (c *client) Caller(i int) (harness.Caller, error) {
	conn := c.conns[i]
	return &caller{
		conn:    conn,
		request: c.request,
		in:      frames{conn: conn, buf: make([]byte, startBuffer)},
	}, nil
}

func (c *client) Conns() int { return len(c.conns) }

func (c *client) Close() error {
	var errs []error
	for _, conn := range c.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

type caller struct {
	conn    net.Conn
	request []byte
	out     []byte
	in      frames
}

func (c *caller) Call(m msg.Method) error {
	c.out = appendFrame(c.out[:0], m, c.request)
	if _, err := c.conn.Write(c.out); err != nil {
		return err
	}
	_, reply, err := c.in.next()
	if err != nil {
		return err
	}
	return msg.CheckRaw(m, c.request, reply)
}

func appendFrame(out []byte, m msg.Method, body []byte) []byte {
	out = binary.LittleEndian.AppendUint32(out, uint32(m)<<methodShift|uint32(len(body)))
	return append(out, body...)
}

// frames reads frames, of which never more than one is on its way.
type frames struct {
	conn net.Conn
	buf  []byte
}

// next reads one frame, usually with a single read. The body is valid until the
// next call.
func (f *frames) next() (msg.Method, []byte, error) {
	filled, err := io.ReadAtLeast(f.conn, f.buf, headerSize)
	if err != nil {
		return 0, nil, err
	}
	header := binary.LittleEndian.Uint32(f.buf)
	length := int(header & lengthMask)
	if length > maxBody {
		return 0, nil, fmt.Errorf("a frame of %d bytes is longer than %d", length, maxBody)
	}
	end := headerSize + length
	if filled > end {
		return 0, nil, fmt.Errorf("%d bytes follow a frame that nobody asked to follow", filled-end)
	}
	if end > len(f.buf) {
		grown := make([]byte, end)
		copy(grown, f.buf[:filled])
		f.buf = grown
	}
	if _, err := io.ReadFull(f.conn, f.buf[filled:end]); err != nil {
		return 0, nil, err
	}
	return msg.Method(header >> methodShift), f.buf[headerSize:end], nil
}
