package rpcx_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/door/wiretest"
)

// What follows is rpcx's wire as its description has it, apart from package frame: a client
// and a server on plain sockets.

// packet is a frame.
type packet struct {
	second, third byte // the bytes behind magic and version
	seq           uint64
	path, method  string
	meta          map[string]string
	payload       []byte
}

func number(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// bytes is the packet as it stands on the wire.
func (p *packet) bytes() []byte {
	var meta []byte
	for k, v := range p.meta {
		meta = append(meta, number(len(k))...)
		meta = append(meta, k...)
		meta = append(meta, number(len(v))...)
		meta = append(meta, v...)
	}
	var body []byte
	for _, part := range [][]byte{[]byte(p.path), []byte(p.method), meta, p.payload} {
		body = append(body, number(len(part))...)
		body = append(body, part...)
	}
	b := []byte{8, 0, p.second, p.third}
	b = binary.BigEndian.AppendUint64(b, p.seq)
	b = append(b, number(len(body))...)
	return append(b, body...)
}

// readPacket reads one.
func readPacket(r io.Reader) (*packet, error) {
	var head [16]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	if head[0] != 8 || head[1] != 0 {
		return nil, fmt.Errorf("a frame begins with % x", head[:2])
	}
	total := binary.BigEndian.Uint32(head[12:])
	if total > 32<<20 {
		return nil, fmt.Errorf("a frame has %d bytes", total)
	}
	body := make([]byte, total)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	p := &packet{second: head[2], third: head[3], seq: binary.BigEndian.Uint64(head[4:])}
	var parts [4][]byte
	for i := range parts {
		if len(body) < 4 {
			return nil, errors.New("a frame ends early")
		}
		n := int(binary.BigEndian.Uint32(body))
		if body = body[4:]; n > len(body) {
			return nil, errors.New("a part is too long")
		}
		parts[i], body = body[:n], body[n:]
	}
	if len(body) > 0 {
		return nil, errors.New("bytes are left behind the payload")
	}
	p.path, p.method, p.payload = string(parts[0]), string(parts[1]), parts[3]
	var err error
	if p.meta, err = readPairs(parts[2]); err != nil && p.second&0x40 == 0 { // a heartbeat brings back what came
		return nil, err
	}
	return p, nil
}

// readPairs reads the metadata of a packet.
func readPairs(meta []byte) (pairs map[string]string, err error) {
	for len(meta) > 0 {
		var pair [2]string
		for i := range pair {
			if len(meta) < 4 {
				return pairs, errors.New("the metadata end early")
			}
			n := binary.BigEndian.Uint32(meta)
			if meta = meta[4:]; uint64(n) > uint64(len(meta)) {
				return pairs, errors.New("a part of the metadata is too long")
			}
			pair[i], meta = string(meta[:n]), meta[n:]
		}
		if pairs == nil {
			pairs = make(map[string]string)
		}
		pairs[pair[0]] = pair[1]
	}
	return pairs, nil
}

// client is a client of rpcx on a plain socket.
type client struct {
	conn net.Conn
	push chan *packet // gets what the server sends without a call

	mu   sync.Mutex
	seq  uint64
	open map[uint64]chan *packet
	err  error
	wg   sync.WaitGroup
}

func newClient(conn net.Conn) *client {
	c := &client{conn: conn, open: make(map[uint64]chan *packet), push: make(chan *packet, 16)}
	c.wg.Go(c.read)
	return c
}

func (c *client) read() {
	r := bufio.NewReader(c.conn)
	for {
		p, err := readPacket(r)
		c.mu.Lock()
		if err != nil {
			c.err = err
			for _, done := range c.open {
				close(done)
			}
			c.open = nil
			c.mu.Unlock()
			return
		}
		if p.second&0x80 == 0 {
			c.mu.Unlock()
			c.push <- p
			continue
		}
		done := c.open[p.seq]
		delete(c.open, p.seq)
		c.mu.Unlock()
		if done != nil {
			done <- p
		}
	}
}

// send sends a packet under the next number. done gets the reply.
func (c *client) send(p *packet) (done chan *packet, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	p.seq = c.seq
	c.seq++
	if p.second&0x20 == 0 {
		done = make(chan *packet, 1)
		c.open[p.seq] = done
	}
	_, err = c.conn.Write(p.bytes())
	return done, err
}

// do sends a packet and waits for the reply.
func (c *client) do(p *packet) (*packet, error) {
	done, err := c.send(p)
	if err != nil {
		return nil, err
	}
	reply, ok := <-done
	if !ok {
		return nil, errors.New("the connection has ended")
	}
	return reply, nil
}

// Call implements doortest.Client.
func (c *client) Call(method string, args, reply any) error {
	body, err := msgpack.New().Append(nil, args)
	if err != nil {
		return err
	}
	path, name, _ := strings.Cut(method, ".")
	p, err := c.do(&packet{third: 0x30, path: path, method: name, payload: body})
	if err != nil {
		return err
	}
	if p.second&3 == 1 && len(p.meta) > 0 {
		return errors.New(p.meta["__rpcx_error__"])
	}
	return msgpack.New().Decode(p.payload, reply)
}

// Close implements doortest.Client.
func (c *client) Close() error {
	err := c.conn.Close()
	c.wg.Wait()
	return err
}

// serveRaw is a server of rpcx on a plain socket, with the methods of a kit.
func serveRaw(conn net.Conn, h *wiretest.Handlers) {
	var wg sync.WaitGroup
	defer wg.Wait()
	var mu sync.Mutex
	r := bufio.NewReader(conn)
	for {
		p, err := readPacket(r)
		if err != nil {
			return
		}
		answer := func() {
			if p.second&0x20 != 0 {
				return
			}
			p.second = p.second&^0x1c | 0x80
			mu.Lock()
			defer mu.Unlock()
			_, _ = conn.Write(p.bytes()) // an error is that of the connection
		}
		if p.second&0x40 != 0 {
			answer()
			continue
		}
		wg.Go(func() {
			payload, err := run(h, p)
			p.meta, p.payload = nil, payload
			if err != nil {
				p.second |= 1
				p.meta = map[string]string{"__rpcx_error__": err.Error()}
			}
			answer()
		})
	}
}

// run runs one call.
func run(h *wiretest.Handlers, p *packet) ([]byte, error) {
	var m, reply wiretest.Message
	if err := msgpack.New().Decode(p.payload, &m); err != nil {
		return nil, err
	}
	err := errors.New("rpcx: can't find service " + p.path)
	if p.path == "Test" {
		switch p.method {
		case "Echo":
			err = h.Echo(&m, &reply)
		case "Wait":
			err = h.Wait(&m, &reply)
		case "Fail":
			err = errors.New("no " + m.Text + " here")
		default:
			err = errors.New("rpcx: can't find method " + p.method)
		}
	}
	if err != nil {
		return nil, err
	}
	return msgpack.New().Append(nil, &reply)
}
