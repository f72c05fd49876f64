package messages_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weftrpc/weft/door/thrift/internal/messages"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// framed is a reply in a frame.
func framed(seq byte, body string) string {
	n := 13 + len(body)
	return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n), 0x80, 1, 0, 2, 0, 0, 0, 1, 'm', 0, 0, 0, seq}) + body
}

// TestTooLong: replies with more bytes than are allowed are told with their numbers, and those behind them are read.
func TestTooLong(t *testing.T) {
	const limit = 100
	large, larger := strings.Repeat("x", limit+1), strings.Repeat("x", 1<<20)
	all := framed(1, "\x00") + framed(2, large) + framed(3, larger) + framed(4, larger) + framed(5, "\x00")
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(all), "by the byte": iotest.OneByteReader(strings.NewReader(all))} {
		f := messages.NewReader(r, protocol.Framed, limit)
		for seq, long := range []int{0, 0, len(large), len(larger), len(larger), 0} {
			if seq == 0 {
				continue
			}
			p, err := f.Next()
			if err != nil || p.Seq != int32(seq) || p.TooLong != long || len(p.Body) > limit {
				t.Fatalf("%s: reply %d: %d bytes, number %d, too long by %d: %v", name, seq, len(p.Body), p.Seq, p.TooLong, err)
			}
		}
		if _, err := f.Next(); err != io.EOF {
			t.Errorf("%s: behind the last reply: %v", name, err)
		}
	}
	f := messages.NewReader(strings.NewReader(framed(3, larger)[:1000]), protocol.Framed, limit)
	if p, err := f.Next(); err != nil || p.TooLong != len(larger) {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := f.Next(); err != io.ErrUnexpectedEOF {
		t.Errorf("a long reply that ends early: %v", err)
	}
}

// TestNoReply reads what is no reply.
func TestNoReply(t *testing.T) {
	for _, text := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "\x00\x00\x00\x05hello", "\xff\xff\xff\xffhello", "\x00\x00\x00\x00", strings.Replace(framed(1, "\x00"), "\x00\x02", "\x00\x01", 1)} {
		f := messages.NewReader(strings.NewReader(text), protocol.Framed, 1<<10)
		if _, err := f.Next(); !errors.Is(err, messages.ErrReply) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestForms reads requests of all kinds as the replies to them.
func TestForms(t *testing.T) {
	for _, framing := range []protocol.Framing{protocol.Unframed, protocol.Framed, protocol.Headers} {
		for _, form := range []protocol.Form{protocol.Binary, protocol.Old, protocol.Compact, protocol.JSON} {
			if framing == protocol.Headers && (form == protocol.JSON || form == protocol.Old) {
				continue
			}
			q := messages.Request{Dialect: protocol.Dialect{Framing: framing, Form: form}, Name: "m", Body: []byte{0}, Pairs: []string{"k", "v"}}
			b, err := q.Message(protocol.Reply, 7)
			if err != nil {
				t.Fatal(err)
			}
			p, err := messages.NewReader(bytes.NewReader(b), framing, 1<<10).Next()
			if err != nil || p.Seq != 7 || p.Kind != protocol.Reply || !bytes.Equal(p.Body, q.Body) || len(p.Pairs) != map[bool]int{true: 2}[framing == protocol.Headers] {
				t.Errorf("%v %v: %+v, %v", framing, form, p, err)
			}
		}
	}
}
