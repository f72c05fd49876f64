package floorpeer

import (
	"errors"
	"strings"
	"testing"

	"github.com/weftrpc/weft/bench/internal/peer/peertest"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestPeer(t *testing.T) { peertest.Run(t, Peer{}) }

func TestFrames(t *testing.T) {
	var stream []byte
	for slot, body := range []string{"", "a", strings.Repeat("b", bufferSize-headerSize)} {
		var err error
		stream, err = appendFrame(stream, uint32(slot), func(out []byte) ([]byte, error) {
			return append(out, body...), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// However the stream is cut, the frames that are whole come out.
	for cut := range len(stream) + 1 {
		lengths := []int{}
		used, err := eachFrame(stream[:cut], func(slot uint32, body []byte) error {
			if int(slot) != len(lengths) {
				t.Fatalf("cut at %d: slot %d, want %d", cut, slot, len(lengths))
			}
			lengths = append(lengths, len(body))
			return nil
		})
		if err != nil || used > cut {
			t.Fatalf("cut at %d: used %d, %v", cut, used, err)
		}
		want := 0
		for _, length := range lengths {
			want += headerSize + length
		}
		if used != want {
			t.Fatalf("cut at %d: used %d bytes, the frames have %d", cut, used, want)
		}
	}
}

func TestFailedEncodingLeavesNoFrame(t *testing.T) {
	out, err := appendFrame([]byte("x"), 0, func(out []byte) ([]byte, error) {
		return append(out, "half"...), errors.New("no")
	})
	if err == nil || string(out) != "x" {
		t.Errorf("got %q, %v", out, err)
	}
}

func FuzzEachFrame(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 7, 0, 0, 0, 'a'})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Add([]byte{2, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, stream []byte) {
		total := 0
		used, err := eachFrame(stream, func(_ uint32, body []byte) error {
			total += headerSize + len(body)
			return nil
		})
		if used != total || used > len(stream) {
			t.Errorf("used %d of %d bytes, the frames have %d (%v)", used, len(stream), total, err)
		}
	})
}
