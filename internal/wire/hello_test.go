package wire_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/wire"
)

func fullHello() *wire.Hello {
	return &wire.Hello{
		Features: wire.FeatureChecksum, MaxMessage: 1, MaxMetadata: 2, MaxCalls: 3, MaxBindings: 4, StreamWindow: 5,
		Codecs: []string{"json", "raw"}, Compressors: []string{"zstd", "gzip"},
		Credential: "bearer t0ken", Software: "weft-test/1",
	}
}

func TestHelloRoundTrip(t *testing.T) {
	for _, h := range []*wire.Hello{{}, fullHello(), {Features: 1<<64 - 1, MaxMessage: 1<<32 - 1, MaxCalls: wire.MaxSlots}} {
		got, err := wire.ParseHello(wire.AppendHello([]byte("before"), h)[len("before"):])
		if err != nil || !reflect.DeepEqual(got, h) {
			t.Errorf("%+v came back as %+v, %v", h, got, err)
		}
	}
}

// TestHelloFits: whatever passes Check fits one frame.
func TestHelloFits(t *testing.T) {
	names := slices.Repeat([]string{strings.Repeat("n", wire.MaxCodecName)}, wire.MaxNames)
	h := &wire.Hello{
		Codecs: names, Compressors: names,
		Credential: strings.Repeat("c", wire.MaxCredential), Software: strings.Repeat("s", wire.MaxSoftware),
	}
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
	b := wire.AppendHello(nil, h)
	if len(b) > wire.MaxPayload {
		t.Errorf("the longest hello has %d bytes, a frame has room for %d", len(b), wire.MaxPayload)
	}
	if got, err := wire.ParseHello(b); err != nil || !reflect.DeepEqual(got, h) {
		t.Errorf("it came back as %+v, %v", got, err)
	}
}

// TestHelloTruncated: a hello cut between two fields is a shorter hello, cut
// anywhere else it is refused.
func TestHelloTruncated(t *testing.T) {
	h := fullHello()
	b := wire.AppendHello(nil, h)
	ends := map[int]bool{0: true}
	for at := 0; at < len(b); {
		at += 4 + int(b[at+2]) + int(b[at+3])<<8
		ends[at] = true
	}
	for n := range b {
		if _, err := wire.ParseHello(b[:n:n]); (err == nil) != ends[n] {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

func TestHelloCheck(t *testing.T) {
	tooMany := make([]string, wire.MaxNames+1)
	for i := range tooMany {
		tooMany[i] = fmt.Sprint("c", i)
	}
	for what, h := range map[string]*wire.Hello{
		"calls":       {MaxCalls: wire.MaxSlots + 1},
		"bindings":    {MaxBindings: wire.MaxBindingsEver + 1},
		"window":      {StreamWindow: wire.MaxWindow + 1},
		"codecs":      {Codecs: tooMany},
		"compressors": {Compressors: tooMany},
		"codec":       {Codecs: []string{"json", "JSON"}},
		"compressor":  {Compressors: []string{"a,b"}},
		"credential":  {Credential: strings.Repeat("c", wire.MaxCredential+1)},
		"software":    {Software: strings.Repeat("s", wire.MaxSoftware+1)},
	} {
		if h.Check() == nil {
			t.Errorf("%s: the check found nothing", what)
		}
		if got, err := wire.ParseHello(wire.AppendHello(nil, h)); err == nil && what != "compressor" {
			t.Errorf("%s: parsed as %+v", what, got)
		}
	}
}

// TestHelloBound: what a hello makes its reader hold is no more than a few times
// its own length.
func TestHelloBound(t *testing.T) {
	b := []byte{8, 0, 0, 0}
	list := strings.Repeat(",", wire.MaxPayload-len(b))
	b[2], b[3] = byte(len(list)), byte(len(list)>>8)
	b = append(b, list...)
	if _, err := wire.ParseHello(b); err == nil {
		t.Error("a list of 16,000 empty names was accepted")
	}
	allocs := testing.Benchmark(func(tb *testing.B) {
		tb.ReportAllocs()
		for tb.Loop() {
			wire.ParseHello(b)
		}
	}).AllocedBytesPerOp()
	if allocs > 4096 {
		t.Errorf("refusing it took %d bytes", allocs)
	}
}

func FuzzHello(f *testing.F) {
	f.Add(wire.AppendHello(nil, fullHello()))
	f.Add(wire.AppendHello(nil, &wire.Hello{}))
	f.Add([]byte{1, 0, 8, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{8, 0, 1, 0, ','})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := wire.ParseHello(b)
		if err != nil {
			if h != nil {
				t.Fatal("a hello and an error")
			}
			return
		}
		if err := h.Check(); err != nil {
			t.Fatalf("accepted, but %v", err)
		}
		again, err := wire.ParseHello(wire.AppendHello(nil, h))
		if err != nil || !reflect.DeepEqual(again, h) {
			t.Fatalf("%+v became %+v, %v", h, again, err)
		}
	})
}

func BenchmarkParseHello(b *testing.B) {
	p := wire.AppendHello(nil, fullHello())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.ParseHello(p); err != nil {
			b.Fatal(err)
		}
	}
}
