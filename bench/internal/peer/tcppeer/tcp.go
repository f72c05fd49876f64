// Package tcppeer is TCP without any RPC: frames of a length and the published
// bytes go back and forth, one connection and two goroutines for each caller.
// It shows what one connection per caller costs, whatever is built on it; and, in
// the workload math-new, what connecting, one exchange and closing cost.
package tcppeer

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/internal/conns"
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

// Describe describes the peer.
func (Peer) Describe() contract.Description {
	return contract.Description{
		Language: "Go",
		Version:  runtime.Version(),
		Settings: "no RPC: a length and the bytes, a connection and two goroutines for each caller",
	}
}

// Supports only the raw codec: with the others this would measure the codec. The
// numbers of Add are eight bytes, their sum is four.
func (Peer) Supports(codec msg.Codec, method msg.Method) error {
	if codec != msg.Raw {
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
		if method == msg.Add {
			out, err = appendSum(out[:0], body)
		} else {
			out = appendFrame(out[:0], method, service.AnswerRaw(method, body))
		}
		if err != nil {
			return err
		}
		if _, err := conn.Write(out); err != nil {
			return err
		}
	}
}

// Dial opens one connection for each caller.
func (Peer) Dial(ctx context.Context, cfg harness.DialConfig) (harness.Client, error) {
	open, err := conns.Dial(ctx, cfg.Addr, cfg.Callers, func(c net.Conn) net.Conn { return c })
	if err != nil {
		return nil, err
	}
	return &client{open, sync.OnceValues(msg.NewRaw)}, nil
}

type client struct {
	conns.Open[net.Conn]
	request func() ([]byte, error) // made at the first use: sums have none
}

func (c *client) Caller(i int) (harness.Caller, error) {
	conn := c.Open[i]
	return &caller{
		conn:    conn,
		request: c.request,
		in:      frames{conn: conn, buf: make([]byte, startBuffer)},
	}, nil
}

type caller struct {
	conn    net.Conn
	request func() ([]byte, error)
	numbers msg.Numbers
	out     []byte
	in      frames
}

func (c *caller) Call(m msg.Method) error {
	if m == msg.Add {
		return c.add()
	}
	request, err := c.request()
	if err != nil {
		return err
	}
	reply, err := c.exchange(m, request)
	if err != nil {
		return err
	}
	return msg.CheckRaw(m, request, reply)
}

// add sends two numbers and checks their sum.
func (c *caller) add() error {
	a, b := c.numbers.Next()
	var numbers [2 * numberSize]byte
	binary.LittleEndian.PutUint32(numbers[:], uint32(a))
	binary.LittleEndian.PutUint32(numbers[numberSize:], uint32(b))
	reply, err := c.exchange(msg.Add, numbers[:])
	if err != nil {
		return err
	}
	if len(reply) != numberSize {
		return fmt.Errorf("a sum of %d bytes, want %d", len(reply), numberSize)
	}
	return msg.CheckSum(a, b, int32(binary.LittleEndian.Uint32(reply)))
}

// exchange sends a frame and waits for the next, which is valid until the next call.
func (c *caller) exchange(m msg.Method, request []byte) ([]byte, error) {
	c.out = appendFrame(c.out[:0], m, request)
	if _, err := c.conn.Write(c.out); err != nil {
		return nil, err
	}
	_, reply, err := c.in.next()
	return reply, err
}

// numberSize is that of a number of Add, and of their sum, in bytes.
const numberSize = 4

// appendSum appends the frame with the sum of the numbers of a request.
func appendSum(out, numbers []byte) ([]byte, error) {
	if len(numbers) != 2*numberSize {
		return out, fmt.Errorf("numbers of %d bytes, want %d", len(numbers), 2*numberSize)
	}
	var sum [numberSize]byte
	binary.LittleEndian.PutUint32(sum[:], binary.LittleEndian.Uint32(numbers)+binary.LittleEndian.Uint32(numbers[numberSize:]))
	return appendFrame(out, msg.Add, sum[:]), nil
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
		return 0, nil, fmt.Errorf("%d bytes follow a frame, where none was asked for", filled-end)
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
