package weft_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress"
	weftgzip "github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/compress/lz4"
	"github.com/weftrpc/weft/compress/snappy"
	"github.com/weftrpc/weft/compress/zstd"
)

// prose is text of n bytes that every compressor makes much shorter, though not so
// much that it looks like a bomb.
func prose(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%d bottles of beer on the wall, take one down, pass it around. ", i)
	}
	return b.String()[:n]
}

// Every compressor makes requests, replies and the messages of streams shorter, and
// leaves small bodies alone.
func TestEveryCompressor(t *testing.T) {
	for _, comp := range []compress.Compressor{weftgzip.New(), snappy.New(), zstd.New(), lz4.New(), own{weftgzip.New()}} {
		t.Run(comp.Name(), func(t *testing.T) {
			ctx := t.Context()
			all := []compress.Compressor{comp}
			w := start(t, &weft.ServerConfig{Compressors: all, Compressor: comp}, func(s *weft.Server) error {
				return errors.Join(echo(s), streams(s))
			})
			c := w.dial(&weft.ClientConfig{Compressor: comp})
			long := []byte(prose(100_000))
			up, down := traffic(w, func() {
				var reply []byte
				must(t, c.Call(ctx, "Raw.Echo", long, &reply, weft.WithCodec(raw.New())))
				if !bytes.Equal(reply, long) {
					t.Error("the reply is another")
				}
			})
			if up > 50_000 || down > 50_000 {
				t.Errorf("100,000 bytes went as %d and came back as %d", up, down)
			}
			up, down = traffic(w, func() {
				s, err := weft.OpenStream[string, string](ctx, c, "Stream.Echo")
				must(t, err)
				text := string(long)
				must(t, s.Send(&text))
				must(t, s.CloseSend())
				if last, _ := lastOf(s); last == nil || *last != text {
					t.Error("the stream's message is another")
				}
			})
			if up > 50_000 || down > 50_000 {
				t.Errorf("on a stream 100,000 bytes went as %d and came back as %d", up, down)
			}
			up, down = traffic(w, func() {
				must(t, c.Call(ctx, "Raw.Echo", long[:1000], new([]byte), weft.WithCodec(raw.New())))
			})
			if up < 1000 || down < 1000 {
				t.Errorf("1000 bytes, below the threshold, went as %d and came back as %d", up, down)
			}
			up, down = traffic(w, func() {
				must(t, c.Call(ctx, "Raw.Echo", long, new([]byte), weft.WithCodec(raw.New()), weft.WithCompressor(nil)))
			})
			if up < 100_000 || down > 50_000 {
				t.Errorf("uncompressed by option, 100,000 bytes went as %d and came back as %d", up, down)
			}
		})
	}
}

// own is a compressor that weft does not know.
type own struct{ compress.Compressor }

func (own) Name() string { return "own-1.0" }

// traffic is how many bytes f sent to the server and got from it.
func traffic(w *world, f func()) (up, down int64) {
	conn := w.last.Load()
	up, down = conn.Out().Written(), conn.In().Written()
	f()
	return conn.Out().Written() - up, conn.In().Written() - down
}

// A body travels compressed however short that makes it.
func TestVeryCompressibleBodies(t *testing.T) {
	gz := weftgzip.New()
	w := start(t, &weft.ServerConfig{Compressors: []compress.Compressor{gz}, Compressor: gz}, echo)
	c := w.dial(&weft.ClientConfig{Compressor: gz})
	zeros := make([]byte, weft.DefaultMaxMessage)
	for range 3 {
		var reply []byte
		up, down := traffic(w, func() {
			must(t, c.Call(t.Context(), "Raw.Echo", zeros, &reply, weft.WithCodec(raw.New()), weft.WithTimeout(time.Minute)))
		})
		if up > 10_000 || down > 10_000 || !bytes.Equal(reply, zeros) {
			t.Errorf("%d zeros went as %d and came back as %d, %d bytes", len(zeros), up, down, len(reply))
		}
	}
}

// What cannot be compressed travels as it is; so does everything to a side that cannot
// undo it.
func TestCompressionIsLeftOut(t *testing.T) {
	noise := make([]byte, 50_000)
	rand.Read(noise)
	gz := weftgzip.New()
	able := &weft.ServerConfig{Compressors: []compress.Compressor{gz}, Compressor: gz}
	for _, tt := range []struct {
		name   string
		server *weft.ServerConfig
		client *weft.ClientConfig
		body   []byte
	}{
		{"noise", able, &weft.ClientConfig{Compressor: gz}, noise},
		{"a server without", nil, &weft.ClientConfig{Compressor: gz}, []byte(prose(50_000))},
		{"a server with another", &weft.ServerConfig{Compressors: []compress.Compressor{zstd.New()}}, &weft.ClientConfig{Compressor: gz}, []byte(prose(50_000))},
		{"a client without", able, nil, []byte(prose(50_000))},
		{"a threshold above", able, &weft.ClientConfig{Compressor: gz, Compressors: []compress.Compressor{snappy.New()}, Limits: weft.Limits{CompressAbove: 50_001}}, []byte(prose(50_000))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := start(t, tt.server, echo)
			c := w.dial(tt.client)
			var reply []byte
			up, down := traffic(w, func() {
				must(t, c.Call(t.Context(), "Raw.Echo", tt.body, &reply, weft.WithCodec(raw.New())))
			})
			if n := int64(len(tt.body)); up < n || down < n {
				t.Errorf("%d bytes went as %d and came back as %d", n, up, down)
			}
			if !bytes.Equal(reply, tt.body) {
				t.Error("the reply is another")
			}
		})
	}
}

// forger says that it is gzip, and sends what it was told to.
type forger struct {
	compress.Compressor
	body []byte
}

func (forger) Name() string                                   { return "gzip" }
func (f forger) Compress(dst, _ []byte) ([]byte, error)       { return append(dst, f.body...), nil }
func (forger) Decompress([]byte, []byte, int) ([]byte, error) { panic("a compressor that panics") }

// A bomb costs its call, in time to cost nothing else.
func TestDecompressionBombs(t *testing.T) {
	var bomb bytes.Buffer
	gz := gzip.NewWriter(&bomb)
	gz.Write(make([]byte, weft.DefaultMaxMessage+1))
	gz.Close()
	real := weftgzip.New()
	garbage := bytes.Repeat([]byte("this is no gzip"), 100)
	able := []compress.Compressor{real}
	body := make([]byte, bomb.Len()+1000)

	serving := func(comp compress.Compressor) *world {
		return start(t, &weft.ServerConfig{Compressors: able, Compressor: comp}, func(s *weft.Server) error { return errors.Join(echo(s), streams(s)) })
	}
	call := func(c *weft.Client) error {
		return c.Call(t.Context(), "Raw.Echo", body, new([]byte), weft.WithCodec(raw.New()))
	}
	stream := func(c *weft.Client) error {
		s, err := weft.OpenStream[string, string](t.Context(), c, "Stream.Echo")
		must(t, err)
		text := string(body)
		if err := s.Send(&text); err != nil {
			return err
		}
		must(t, s.CloseSend())
		_, err = lastOf(s)
		return err
	}
	hostile := serving(real).dial(&weft.ClientConfig{Compressor: forger{body: bomb.Bytes()}})
	wantError(t, call(hostile), weft.ResourceExhausted, weft.Refused, "the server takes (its Limits.MaxMessage)")
	wantError(t, stream(hostile), weft.ResourceExhausted, weft.Executed, "its receiver takes (Limits.MaxMessage)")
	must(t, hostile.Call(t.Context(), "Raw.Echo", []byte("small"), nil, weft.WithCodec(raw.New())))

	odd := serving(real).dial(&weft.ClientConfig{Compressor: forger{body: garbage}})
	wantError(t, call(odd), weft.InvalidArgument, weft.Refused, "decompress with gzip")
	wantError(t, stream(odd), weft.InvalidArgument, weft.Executed, "decompress with gzip")

	victim := serving(forger{body: bomb.Bytes()}).dial(&weft.ClientConfig{Compressors: able})
	wantError(t, call(victim), weft.ResourceExhausted, weft.Executed, "this caller takes (its own Limits.MaxMessage)")
	wantError(t, stream(victim), weft.ResourceExhausted, weft.Executed, "its receiver takes (Limits.MaxMessage)")
	must(t, victim.Call(t.Context(), "Raw.Echo", []byte("small"), nil, weft.WithCodec(raw.New())))

	panicking := serving(real).dial(&weft.ClientConfig{Compressor: forger{body: garbage}, Compressors: []compress.Compressor{forger{}}})
	err := panicking.Call(t.Context(), "Raw.Echo", []byte(prose(5000)), new([]byte), weft.WithCodec(raw.New()), weft.WithCompressor(nil))
	wantError(t, err, weft.Internal, weft.Executed, "panic")
}

func TestCompressorConfigErrors(t *testing.T) {
	for _, tt := range []struct {
		all  []compress.Compressor
		want string
	}{
		{[]compress.Compressor{nil}, "compressor 0 of the configuration is nil"},
		{[]compress.Compressor{weftgzip.New(), forger{}}, `two compressors have the name "gzip"`},
		{[]compress.Compressor{misnamed{}}, `compressor "not a name" of type weft_test.misnamed`},
	} {
		wantError(t, weft.NewServer(&weft.ServerConfig{Compressors: tt.all}).Register(Arith{}), weft.InvalidArgument, 0, tt.want)
		_, err := weft.Dial(t.Context(), address, &weft.ClientConfig{Compressors: tt.all, Lazy: true})
		wantError(t, err, weft.InvalidArgument, 0, tt.want)
	}
}

type misnamed struct{ compress.Compressor }

func (misnamed) Name() string { return "not a name" }

// With a checksum, damage on the way ends the connection; nothing of it is used.
func TestChecksum(t *testing.T) {
	for name, both := range map[string]bool{"both ask": true, "one asks": false} {
		t.Run(name, func(t *testing.T) {
			w := start(t, &weft.ServerConfig{Checksum: true}, func(s *weft.Server) error { return errors.Join(s.Register(Arith{}), echo(s)) })
			c := w.dial(&weft.ClientConfig{Checksum: both, Codec: raw.New()})
			multiply(t, c, weft.WithCodec(msgpack.New()))
			body := []byte(prose(100_000))
			var reply []byte
			must(t, c.Call(t.Context(), "Raw.Echo", body, &reply))
			out := w.last.Load().Out()
			out.FlipBit(out.Written()+5000, 3) // inside the next body
			err := c.Call(t.Context(), "Raw.Echo", body, &reply)
			if !both {
				if err != nil || bytes.Equal(reply, body) {
					t.Errorf("the damage was not delivered: %v", err)
				}
				return
			}
			e := wantError(t, err, weft.DataLoss, weft.OutcomeUnknown, "checksum")
			if errors.Is(e, context.Canceled) {
				t.Error(e)
			}
			multiply(t, c, weft.WithCodec(msgpack.New())) // on a new connection
		})
	}
}
