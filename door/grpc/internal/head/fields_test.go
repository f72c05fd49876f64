package head_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/weftrpc/weft/door/grpc/internal/head"
	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// plain keeps every field as text.
type plain struct{}

func (plain) Name([]byte) hpack.Kind            { return hpack.Other }
func (plain) Look(f *hpack.Field, value []byte) { f.Value = string(value) }

// connection encodes heads, and decodes them as a server does.
type connection struct {
	t       *testing.T
	enc     *hpack.Encoder
	fields  *head.Fields
	decoder *hpack.Decoder
}

func connect(t *testing.T, cfg head.Config) *connection {
	if cfg.ContentType == nil {
		cfg.ContentType = func(codec string) string { return "application/grpc+" + codec }
	}
	enc := new(hpack.Encoder)
	return &connection{t, enc, head.New(enc, cfg), hpack.NewDecoder(hpack.NewTables(plain{}), plain{})}
}

// request returns the fields of a request, one a line, and how many bytes they took.
func (c *connection) request(method, codec string, timeout time.Duration) (fields string, size int) {
	c.t.Helper()
	const before = "what was there"
	b := c.fields.Append(c.enc.Begin([]byte(before)), method, codec, timeout)
	block, ok := strings.CutPrefix(string(b), before)
	if !ok {
		c.t.Fatalf("%q does not begin with what was there before", b)
	}
	names := map[hpack.Kind]string{hpack.Method: ":method", hpack.Scheme: ":scheme", hpack.Path: ":path", hpack.Authority: ":authority"}
	var lines []string
	err := c.decoder.Decode([]byte(block), func(f *hpack.Field) {
		switch name := names[f.Kind]; {
		case name != "":
			lines = append(lines, name+": "+f.Value)
		case f.Kind == hpack.Other:
			lines = append(lines, f.Name+": "+f.Value)
		case f.Kind != hpack.Malformed && f.OK:
			lines = append(lines, "te: trailers") // which has no name and no value
		default:
			c.t.Errorf("a wrong field: %+v", f)
		}
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.Join(lines, "\n"), len(block)
}

func TestFields(t *testing.T) {
	const usual = ":method: POST\n:scheme: http\n:path: /Arith/Mul\n:authority: a:1\ncontent-type: application/grpc+proto\nte: trailers\nuser-agent: weft-go"
	for _, tt := range []struct {
		name          string
		cfg           head.Config
		method, codec string
		timeout       time.Duration
		want          string
	}{
		{"usual", head.Config{}, "Arith.Mul", "proto", 0, usual},
		{"secure", head.Config{Secure: true}, "Arith.Mul", "proto", 0, strings.Replace(usual, "http", "https", 1)},
		{"a package", head.Config{}, "a.b.Arith.Mul", "proto", 0, strings.Replace(usual, "/Arith/", "/a.b.Arith/", 1)},
		{"no service", head.Config{}, "Mul", "proto", 0, strings.Replace(usual, "/Arith/", "//", 1)},
		{"no service but a dot", head.Config{}, ".Mul", "proto", 0, strings.Replace(usual, "/Arith/", "//", 1)},
		{"no method", head.Config{}, "Arith.", "proto", 0, strings.Replace(usual, "/Mul", "/", 1)},
		{"another codec", head.Config{}, "Arith.Mul", "msgpack", 0, strings.Replace(usual, "proto", "msgpack", 1)},
		{"a timeout", head.Config{}, "Arith.Mul", "proto", 10 * time.Second, usual + "\ngrpc-timeout: 10000000u"},
		{"no time left", head.Config{}, "Arith.Mul", "proto", -1, usual},
		{"compressors", head.Config{Accepts: "gzip,zstd", Encoding: "gzip"}, "Arith.Mul", "proto", time.Millisecond,
			usual + "\ngrpc-accept-encoding: gzip,zstd\ngrpc-encoding: gzip\ngrpc-timeout: 1000000n"},
		{"a compressor of replies alone", head.Config{Accepts: "gzip"}, "Arith.Mul", "proto", 0, usual + "\ngrpc-accept-encoding: gzip"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Authority = "a:1"
			c := connect(t, tt.cfg)
			var sizes []int
			for range 3 { // in full, by the table, and as the last one was
				got, size := c.request(tt.method, tt.codec, tt.timeout)
				if got != tt.want {
					t.Fatalf("the fields are\n%s\nwant\n%s", got, tt.want)
				}
				sizes = append(sizes, size)
			}
			if sizes[1] >= sizes[0] || sizes[2] != sizes[1] {
				t.Errorf("the requests took %d bytes, want fewer after the first", sizes)
			}
		})
	}
}

// TestFieldsInTurn changes method and codec from request to request, beyond what the table and the map of names hold, and has
// the server make its table smaller: the block of the last request is used again only where it still says the same.
func TestFieldsInTurn(t *testing.T) {
	c := connect(t, head.Config{Authority: "a:1"})
	check := func(method, codec string) int {
		t.Helper()
		got, size := c.request(method, codec, time.Second)
		lines := strings.Split(got, "\n")
		path := "/" + strings.Replace(method, ".", "/", 1)
		if !slices.Contains(lines, ":path: "+path) || !slices.Contains(lines, "content-type: application/grpc+"+codec) || !slices.Contains(lines, "grpc-timeout: 1000000u") {
			t.Fatalf("the fields of %s in %s are\n%s", method, codec, got)
		}
		return size
	}
	for range 2 {
		for n := range 300 {
			for _, codec := range []string{"proto", fmt.Sprint("codec-", n)} {
				check(fmt.Sprint("Arith.M", n), codec)
				check(fmt.Sprint("Arith.M", n), codec)
			}
		}
	}
	short := check("Arith.M0", "proto")
	c.enc.Limit(0)
	if long := check("Arith.M0", "proto"); long <= short {
		t.Errorf("without a table the fields take %d bytes, want more than %d", long, short)
	}
	check("Arith.M1", "proto")
	check("Arith.M1", "proto")
}

// TestNamesInMemoryUsedAgain: a name is known again where it was in memory that another name is in meanwhile.
func TestNamesInMemoryUsedAgain(t *testing.T) {
	c := connect(t, head.Config{Authority: "a:1"})
	memory := []byte("Arith.M0")
	name := unsafe.String(&memory[0], len(memory))
	for round := range 3 {
		for n := range 10 {
			copy(memory, fmt.Sprint("Arith.M", n))
			got, size := c.request(name, "proto", 0)
			if path := fmt.Sprint(":path: /Arith/M", n); !slices.Contains(strings.Split(got, "\n"), path) {
				t.Fatalf("round %d: the fields of %s are\n%s", round, name, got)
			}
			if round > 0 && size > 7 { // one byte for each field, by its place in the table
				t.Fatalf("round %d: the fields of %s, which are known, take %d bytes", round, name, size)
			}
		}
	}
}
