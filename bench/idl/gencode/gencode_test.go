package gencode_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weftrpc/weft/bench/idl/gencode"
	codec "github.com/weftrpc/weft/codec/gencode"

	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// filled has a value in every kind of field, with a text whose length takes two
// bytes.
func filled() *gencode.BenchmarkMessage {
	return &gencode.BenchmarkMessage{
		Field1: strings.Repeat("许多", 40), Field2: -1, Field5: []uint64{1, 1 << 63}, Field12: true,
		Field22: -1 << 63, Field129: "end", Field280: 1<<31 - 1,
	}
}

func TestConformance(t *testing.T) {
	codectest.Run(t, codec.New(), codectest.Config{
		Values: []any{new(gencode.BenchmarkMessage), filled(), &gencode.AddRequest{A: 7, B: -8}, &gencode.AddReply{X: -1}},
	})
}

func TestLayout(t *testing.T) {
	got, err := (&gencode.AddRequest{A: 0x01020304, B: -2}).Marshal(nil)
	if want := []byte{4, 3, 2, 1, 0xfe, 0xff, 0xff, 0xff}; err != nil || !bytes.Equal(got, want) {
		t.Errorf("two numbers are encoded as %x, %v; want %x", got, err, want)
	}
}

// A body cut anywhere is an error, also when the rest lies behind it in memory.
func TestCutBodies(t *testing.T) {
	body, err := filled().Marshal(nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range body {
		if err := codec.New().Decode(body[:n], new(gencode.BenchmarkMessage)); err == nil {
			t.Fatalf("%d of %d bytes are a whole message", n, len(body))
		}
	}
}

func TestClaimedLength(t *testing.T) {
	body, err := new(gencode.BenchmarkMessage).Marshal(nil)
	if err != nil {
		t.Fatal(err)
	}
	// Field5 stands behind two texts and two numbers of four bytes.
	const at = 1 + 4 + 4 + 1
	hostile := append(append(body[:at:at], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), body[at+1:]...)
	if err := codec.New().Decode(hostile, new(gencode.BenchmarkMessage)); err == nil {
		t.Error("a list of 2^63 numbers fits")
	}
}
