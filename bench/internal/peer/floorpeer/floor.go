// Package floorpeer is the least that an RPC system must do: a frame, the codec, and
// batching, and nothing else.
//
// Callers share a few connections. They encode straight into the connection's
// buffer; the first becomes the writer, yields once so that all that can run add
// theirs, and writes the batch. The server parses a batch in place, answers each
// request on the reading goroutine, and writes all replies at once; one whose handler
// sleeps has a goroutine, and its reply is sent as requests are. There are no method
// names, deadlines, metadata, statistics or limits: this is no RPC system, and only
// Say and Sleep are offered.
package floorpeer

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"runtime"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/internal/listen"
	"github.com/weftrpc/weft/bench/msg"
)

const (
	// A frame is the body's length and the caller's slot, 4 bytes each,
	// little-endian, and the body.
	headerSize = 8

	// bufferSize is that of a read buffer, and the longest frame.
	bufferSize = 64 << 10

	// defaultConns is the number of connections if none is asked for.
	defaultConns = 2
)

// Peer is the floor. The zero value is ready.
type Peer struct{}

// Name is "floor".
func (Peer) Name() string { return "floor" }

// Describe describes the peer.
func (Peer) Describe() contract.Description {
	return contract.Description{
		Language: "Go",
		Version:  runtime.Version(),
		Settings: "no RPC: two connections, a frame, the codec, batching, and nothing else",
	}
}

// Supports the protobuf codecs and raw, and the methods Say and Sleep.
func (Peer) Supports(codec msg.Codec, method msg.Method) error {
	if !msg.Protobuf(codec) {
		return fmt.Errorf("floor has no codec %s", codec)
	}
	if method != msg.Say && method != msg.Sleep {
		return fmt.Errorf("floor has no %s", method.Name())
	}
	return nil
}

// Serve answers batches.
func (Peer) Serve(ctx context.Context, cfg harness.ServeConfig) error {
	respond, err := cfg.Service.Responder(cfg.Codec)
	if err != nil {
		return err
	}
	return listen.Serve(ctx, cfg.Addr, cfg.Ready, func(conn net.Conn) error {
		return answer(conn, respond)
	})
}

// answer reads batches and answers each with one write.
func answer(conn net.Conn, respond msg.Responder) error {
	in := make([]byte, bufferSize)
	out := make([]byte, 0, bufferSize)
	filled := 0
	slow := newWaiting(conn, respond)
	defer slow.end()
	for {
		n, err := conn.Read(in[filled:])
		if err != nil {
			return err
		}
		filled += n
		out = out[:0]
		used, err := eachFrame(in[:filled], func(slot uint32, body []byte) error {
			if slot&waits != 0 {
				slow.begin(slot&^waits, body)
				return nil
			}
			out, err = appendFrame(out, slot, func(out []byte) ([]byte, error) {
				return respond(out, msg.Say, body)
			})
			return err
		})
		if err != nil {
			return err
		}
		if len(out) > 0 {
			if _, err := conn.Write(out); err != nil {
				return err
			}
		}
		filled = copy(in, in[used:filled])
	}
}

// appendFrame appends a frame whose body is what encode appends.
func appendFrame(out []byte, slot uint32, encode func([]byte) ([]byte, error)) ([]byte, error) {
	start := len(out)
	out = append(out, make([]byte, headerSize)...)
	out, err := encode(out)
	if err != nil {
		return out[:start], err
	}
	binary.LittleEndian.PutUint32(out[start:], uint32(len(out)-start-headerSize))
	binary.LittleEndian.PutUint32(out[start+4:], slot)
	return out, nil
}

// eachFrame calls f with every whole frame in b and returns how many bytes they
// took. A frame that no buffer can hold is an error.
func eachFrame(b []byte, f func(slot uint32, body []byte) error) (used int, err error) {
	for len(b)-used >= headerSize {
		length := binary.LittleEndian.Uint32(b[used:])
		if length > bufferSize-headerSize {
			return used, fmt.Errorf("a frame of %d bytes is longer than %d", length, bufferSize-headerSize)
		}
		end := used + headerSize + int(length)
		if end > len(b) {
			break
		}
		slot := binary.LittleEndian.Uint32(b[used+4:])
		if err := f(slot, b[used+headerSize:end]); err != nil {
			return used, err
		}
		used = end
	}
	return used, nil
}
