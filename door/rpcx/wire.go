package rpcx

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/pending"
	"github.com/weftrpc/weft/door/rpcx/internal/frame"
)

// WireConfig says what a client speaks beyond rpcx's own. The zero value, and a nil pointer to one,
// are the defaults.
type WireConfig struct {
	// Codecs are further codecs of calls by their number, 4 to 15, as in Config.
	Codecs map[int]string
	// Compressors are further compressors of the client by their number, 2 to 7, as in Config.
	Compressors map[int]string
	// OnMessage gets the messages that servers send without a call, one after the other. Up to 256 wait on a
	// connection, with four times Limits.MaxMessage bytes together; more are dropped, and the client's logger is told. nil: all are dropped.
	OnMessage func(*Message)
	// NoHeartbeat sends no heartbeats to a connection that is silent, for servers that do not
	// answer them. The heartbeat that has the credential of a connection is sent in any case, in front of
	// a first call with a credential of its own; no answer to it is awaited.
	NoHeartbeat bool
}

// Wire returns a wire to servers of rpcx, for addresses such as "rpcx://127.0.0.1:8972".
func Wire(cfg *WireConfig) weft.Wire { return newWire(cfg, false) }

// WireHTTP returns a wire to servers of rpcx over HTTP, which begins with CONNECT /_rpcx_, for addresses such as
// "rpcx+http://127.0.0.1:8972".
func WireHTTP(cfg *WireConfig) weft.Wire { return newWire(cfg, true) }

func newWire(cfg *WireConfig, http bool) weft.Wire {
	w := &wire{http: http, codecs: ownCodecs(), gzip: gzip.New()}
	if cfg != nil {
		w.cfg = *cfg
	}
	w.names, w.compressors = serialNames(w.cfg.Codecs), compressorNames(w.cfg.Compressors)
	return w
}

// wire implements weft.Wire.
type wire struct {
	cfg         WireConfig
	http        bool
	names       [serials]string
	compressors [compressions]string
	codecs      [serials]codec.Codec
	gzip        compress.Compressor
}

// Scheme implements weft.Wire.
func (w *wire) Scheme() string {
	if w.http {
		return Name + "+http"
	}
	return Name
}

// Protocols implements weft.Wire.
func (*wire) Protocols() []string { return nil }

// Dial implements weft.Wire.
func (w *wire) Dial(ctx context.Context, cfg weft.WireConfig) (weft.WireConn, error) {
	if err := checkNumbers(w.cfg.Codecs, w.cfg.Compressors); err != nil {
		return nil, err
	}
	conn, err := cfg.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if w.http {
		if conn, err = tunnel(ctx, conn); err != nil {
			return nil, err
		}
	}
	whole := func(buf, message []byte) ([]byte, error) { return append(buf, message...), nil }
	c := &clientConn{
		Calls: pending.New[answer](conn, combine.New(conn, cfg.Limits.WriteBuffer, cfg.Limits.WriteTimeout, whole)),
		w:     w, cfg: cfg, cred: strings.TrimSpace(cfg.Credential.Scheme + " " + cfg.Credential.Token),
	}
	if z := cfg.Compressor; z != nil {
		if n := numberOf(w.compressors[:], z.Name()); n > 0 {
			c.deflater = &deflater{Compressor: z, number: byte(n), above: cfg.Limits.CompressAbove}
		}
	}
	c.saw()
	if w.cfg.OnMessage != nil {
		c.messages = make(chan *Message, maxMessages)
		// It ends when the connection does.
		go c.deliver()
	}
	// It ends when the connection does.
	go c.read()
	if !w.cfg.NoHeartbeat {
		// It ends when the connection does.
		go c.keep()
	}
	return c, nil
}

// restored undoes the compression of a payload.
func (c *clientConn) restored(number byte, payload []byte) ([]byte, error) {
	if number == compressNone {
		return payload, nil
	}
	name := c.w.compressors[number]
	var z compress.Compressor
	for _, known := range c.cfg.Compressors {
		if name != "" && known.Name() == name {
			z = known
		}
	}
	switch {
	case z != nil:
	case number == compressGzip:
		z = c.w.gzip
	default:
		return nil, weft.Errorf(weft.Internal, "the server compressed the reply with compressor %d, which this client does not have", number).WithReason(weft.ReasonDecompress)
	}
	return restored(z, payload, c.cfg.Limits.MaxMessage, "the client")
}

// codec is the one of a reply, which its number tells.
func (c *clientConn) codec(number byte, asked codec.Codec) (codec.Codec, error) {
	if name := c.w.names[number]; name != "" && name == asked.Name() {
		return asRpcx(asked), nil
	}
	if own := c.w.codecs[number]; own != nil {
		return own, nil
	}
	return nil, fmt.Errorf("it came with the number %d of a codec, and the call has %s", number, asked.Name())
}

// keep sends a heartbeat to a connection that has been silent, and ends one that does not answer it.
func (c *clientConn) keep() {
	l := &c.cfg.Limits
	timer := time.NewTimer(l.PingInterval)
	defer timer.Stop()
	for {
		select {
		case <-c.Done():
			return
		case <-timer.C:
		}
		bound := l.PingIdle
		if c.open.Load() > 0 {
			bound = l.PingInterval
		}
		if c.silence() >= bound {
			before := c.seen.Load()
			ctx, cancel := context.WithTimeout(context.Background(), l.PingTimeout)
			err := c.Ping(ctx)
			cancel()
			if err != nil && c.seen.Load() == before {
				c.Lost(fmt.Errorf("the server has not answered a heartbeat within %v", l.PingTimeout))
				return
			}
		}
		timer.Reset(min(l.PingInterval, l.PingIdle))
	}
}

// noCall is the number of no call of a client: an answer with it is dropped.
const noCall = 0

// heartbeat is one with a number: its payload is the time as a number of MessagePack, as rpcx has it. It may be the first frame of
// the connection, by whose credential a weft server admits it; rpcx's servers look at no credential of a heartbeat.
func heartbeat(seq uint64, cred string) []byte {
	b, at := frame.Begin(nil, frame.Heartbeat, serialMsgpack, seq, []byte(noNames))
	b, length := frame.Open(b)
	if cred != "" {
		b = frame.AppendPair(b, keyAuth, cred)
	}
	frame.Close(b, length)
	b, length = frame.Open(b)
	b = append(b, 0xd3)
	now := uint64(time.Now().UnixNano())
	for shift := 56; shift >= 0; shift -= 8 {
		b = append(b, byte(now>>shift))
	}
	frame.Close(b, length)
	frame.End(b, at)
	return b
}
