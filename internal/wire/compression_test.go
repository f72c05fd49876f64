package wire_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"testing"
)

// restore undoes the compression of a body, for the one compressor that the
// standard library has.
func restore(body []byte, names []string) ([]byte, error) {
	if len(body) == 0 || int(body[0]) >= len(names) {
		return nil, fmt.Errorf("no compressor in %x for %v", body, names)
	}
	if name := names[body[0]]; name != "gzip" {
		return nil, fmt.Errorf("compressor %s", name)
	}
	r, err := gzip.NewReader(bytes.NewReader(body[1:]))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, 64<<10+100*int64(len(body)-1)))
}

func TestVectorCompression(t *testing.T) {
	var vectors []struct {
		Name        string   `json:"name"`
		Doc         string   `json:"doc"`
		Compressors []string `json:"compressors"` // of the receiver
		Hex         hexBytes `json:"hex"`
		Restored    hexBytes `json:"restored"`
	}
	load(t, "compression", &vectors)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			got, err := restore(v.Hex, v.Compressors)
			if err != nil || !bytes.Equal(got, v.Restored) {
				t.Errorf("restored %x, %v, want %x", got, err, []byte(v.Restored))
			}
		})
	}
}
