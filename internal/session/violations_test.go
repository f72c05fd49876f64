package session

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// hexBytes are bytes that JSON shows as hexadecimal text.
type hexBytes []byte

func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

// loadVectors reads a file of the golden vectors.
func loadVectors(t testing.TB, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "vectors", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// violation is a vector of violations.json: what a client sends, and the one
// thing that must come of it.
type violation struct {
	Name          string   `json:"name"`
	Hex           hexBytes `json:"hex"`
	WrongChecksum bool     `json:"wrong_checksum"`
	Expect        struct {
		GoAway uint16   `json:"goaway"`
		Pong   hexBytes `json:"pong"`
		Close  bool     `json:"close"`
		Error  *struct {
			Slot       uint16 `json:"slot"`
			Generation uint16 `json:"generation"`
			Code       uint16 `json:"code"`
			Refused    bool   `json:"refused"`
		} `json:"error"`
	} `json:"expect"`
}

type violationServer struct {
	Features     wire.Features `json:"features"`
	MaxMessage   int           `json:"max_message"`
	MaxMetadata  int           `json:"max_metadata"`
	MaxCalls     int           `json:"max_calls"`
	MaxBindings  int           `json:"max_bindings"`
	StreamWindow int           `json:"stream_window"`
}

func (v *violationServer) apply(cfg *Config) {
	l := &cfg.Limits
	l.MaxMessage, l.MaxMetadata, l.MaxCalls = v.MaxMessage, v.MaxMetadata, v.MaxCalls
	l.MaxBindings, l.StreamWindow = v.MaxBindings, v.StreamWindow
	cfg.Checksum = v.Features&wire.FeatureChecksum != 0
	cfg.Compressors = []compress.Compressor{gzip.New()}
}

// A server answers every golden violation as it must.
func TestViolations(t *testing.T) {
	var file struct {
		Server  violationServer `json:"server"`
		Vectors []violation     `json:"vectors"`
	}
	loadVectors(t, "violations", &file)
	for i := range file.Vectors {
		v := &file.Vectors[i]
		t.Run(v.Name, func(t *testing.T) {
			stall := streaming("Echo.Stall", func(ctx *Context, _ *Stream) *wire.Status {
				<-ctx.Done()
				return ended(ctx)
			})
			p := newStranger(t, file.Server.apply, echo(), wait(), chat(), stall)
			p.sum = v.WrongChecksum
			p.write(v.Hex)
			v.check(t, p)
		})
	}
}

func (v *violation) check(t *testing.T, p *stranger) {
	e := &v.Expect
	if e.Close {
		p.expectEnd()
		return
	}
	p.await(len(wire.Preface))
	if got := p.buf[:len(wire.Preface)]; !bytes.Equal(got, []byte(wire.Preface)) {
		t.Fatalf("the server began with %x", got)
	}
	p.buf = p.buf[len(wire.Preface):]
	sum := p.sum
	for first := true; ; first = false {
		p.sum = sum && !first
		h, payload, err := p.read()
		if err != nil {
			t.Fatalf("the connection ended (%v), want %+v", err, *e)
		}
		switch {
		case h.Type == wire.TypeGoAway:
			if h.Code != e.GoAway || len(payload) == 0 {
				t.Errorf("goaway has code %d and text %q, want code %d", h.Code, payload, e.GoAway)
			}
			p.expectEnd()
			return
		case e.Error != nil && h.Type == wire.TypeError:
			refused := h.Flags&wire.FlagRefused != 0
			if v.Name == "cancel-running" {
				refused = false // the CANCEL came with the request: the handler may not have begun
			}
			if h.Code != e.Error.Code || refused != e.Error.Refused ||
				h.ID != wire.ID(uint32(e.Error.Slot), e.Error.Generation) {
				t.Errorf("error is %+v %q, want %+v", h, payload, *e.Error)
			}
			return
		case e.Pong != nil && h.Type == wire.TypePing && h.Flags&wire.FlagAck != 0:
			if !bytes.Equal(payload, e.Pong) {
				t.Errorf("pong is %x, want %x", payload, e.Pong)
			}
			return
		}
	}
}

// A connection that does not speak weft is closed without an answer.
func TestGarbage(t *testing.T) {
	for _, b := range []string{"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00", "\xf7", "\xf7wefu", "\x00", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"} {
		p := newStranger(t, nil)
		p.write([]byte(b))
		p.conn.CloseWrite()
		if got, err := io.ReadAll(p.conn); len(got) > 0 || err != nil && !errors.Is(err, io.EOF) {
			t.Errorf("after %q came %q, %v, want nothing", b, got, err)
		}
	}
}

// A peer that breaks the protocol while a write to it is under way gets the reason too,
// behind that write.
func TestReasonBehindWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newStranger(t, nil, echo())
		calls := fillReplies(p)
		p.send(wire.Header{Type: wire.TypeHello}, nil)
		time.Sleep(10 * time.Millisecond)
		for range calls {
			p.expect(wire.TypeReply)
		}
		p.expectGoAway(wire.Internal)
	})
}

// A session does not wait long for a peer that has broken the protocol and does not read.
func TestReasonNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newStranger(t, nil, echo())
		fillReplies(p)
		p.send(wire.Header{Type: wire.TypeHello}, nil)
		select {
		case <-p.ended:
		case <-time.After(5 * time.Second):
			t.Error("the session goes on")
		}
	})
}

// fillReplies makes calls whose replies do not fit into the connection together, and
// waits until a goroutine is held up writing them. It is for bubbles.
func fillReplies(p *stranger) (calls int) {
	p.greet(nil)
	p.bind(0, "Echo.Say")
	const size = 10_000
	for ; calls*size <= mem.DefaultBuffer; calls++ {
		p.request(uint32(calls), 0, 0, strings.Repeat("x", size))
	}
	synctest.Wait()
	w := &p.s.w
	w.Lock()
	defer w.Unlock()
	if !w.WritingLocked() {
		p.t.Error("all replies fit into the connection")
	}
	return calls
}
