package session

import (
	"context"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// However much of what a client says was read before the session gets the connection,
// its calls are answered.
func TestAcceptWithPrefix(t *testing.T) {
	leak.Check(t)
	said := []byte(wire.Preface)
	said = wire.AppendFrame(said, wire.Header{Type: wire.TypeHello}, wire.AppendHello(nil, strangerHello()))
	said = wire.AppendFrame(said, wire.Header{Type: wire.TypeBind}, wire.AppendBind(nil, "raw", "Echo.Say"))
	for range 600 { // more than a reader's first buffer
		said = wire.AppendFrame(said, wire.Header{Type: wire.TypePing}, []byte("12345678"))
	}
	said = wire.AppendFrame(said, wire.Header{Type: wire.TypeRequest}, []byte("hello"))
	cuts := []int{len(said)}
	for n := range 200 {
		cuts = append(cuts, n)
	}
	for _, n := range cuts {
		client, server := mem.Pipe(nil)
		cfg := newConfig(NewExecutor(), []*Method{echo()})
		p := &stranger{t: t, conn: client, cfg: cfg}
		prefix := append([]byte(nil), said[:n]...)
		accepted := make(chan struct{})
		go func() {
			defer close(accepted)
			if p.s, _ = Accept(context.Background(), server, cfg, prefix); p.s != nil {
				clear(prefix)
				go p.s.Run(nil, nil)
			}
		}()
		p.write(said[n:])
		p.await(len(wire.Preface))
		p.buf = p.buf[len(wire.Preface):]
		if _, body := p.expect(wire.TypeReply); string(body) != "hello" {
			t.Errorf("with %d bytes read before: the reply is %q", n, body)
		}
		client.Close()
		<-accepted
		if p.s != nil {
			<-p.s.Done()
		}
		cfg.Exec.Close()
	}
}

// What was read before and cannot begin weft is found out without another read.
func TestAcceptWithWrongPrefix(t *testing.T) {
	leak.Check(t)
	for prefix, code := range map[string]wire.Code{"GET / HTTP/1.1\r\n": wire.Unavailable, "\xf7weft\r\n\x02": wire.Unimplemented} {
		client, server := mem.Pipe(nil)
		cfg := newConfig(NewExecutor(), nil)
		go drainConn(client)
		if _, st := Accept(context.Background(), server, cfg, []byte(prefix)); st == nil || st.Code != code {
			t.Errorf("the prefix %q gave %+v, want code %d", prefix, st, code)
		}
		client.Close()
		cfg.Exec.Close()
	}
}
