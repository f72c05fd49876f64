package benchmark_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft/examples/internal/benchmark"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestMessageHasThePublishedSize(t *testing.T) {
	m, err := benchmark.New()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) != 581 || benchmark.Size != 581 {
		t.Errorf("the message has %d bytes, want 581", len(raw))
	}
}

func TestCheckTellsRepliesFromRequests(t *testing.T) {
	m, err := benchmark.New()
	if err != nil {
		t.Fatal(err)
	}
	if benchmark.Check(m) == nil {
		t.Error("a request was taken for a reply")
	}
	if err := benchmark.Check(benchmark.Answer(m)); err != nil {
		t.Error(err)
	}
}
