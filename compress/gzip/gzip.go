// Package gzip compresses with gzip, which has libraries in every language.
//
// The compressed form is a member as in RFC 1952, without name or time, with
// the deflated bytes of RFC 1951, their CRC-32 and length. Several members one
// behind the other are read as one.
package gzip

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/weftrpc/weft/compress"
)

// The levels that NewLevel takes.
const (
	BestSpeed       = 1
	BestCompression = 9
)

// defaultLevel is the level beyond which more CPU saves few bytes.
const defaultLevel = 5

// New returns the compressor named "gzip" with the level 5. It keeps encoders
// and decoders for reuse, so keep one and share it.
func New() compress.Compressor { return &compressor{level: defaultLevel} }

// NewLevel is New with a level from [BestSpeed] to [BestCompression].
func NewLevel(level int) (compress.Compressor, error) {
	if level < BestSpeed || level > BestCompression {
		return nil, fmt.Errorf("compress/gzip: level %d, want %d to %d", level, BestSpeed, BestCompression)
	}
	return &compressor{level: level}, nil
}

type compressor struct {
	level   int
	writers sync.Pool // of *writer
	readers sync.Pool // of *reader
}

// A writer has the encoder append to a slice that it does not own.
type writer struct {
	gz  *gzip.Writer
	out []byte
}

func (w *writer) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}

type reader struct {
	gz  gzip.Reader
	src bytes.Reader
}

func (*compressor) Name() string { return "gzip" }

func (c *compressor) Compress(dst, src []byte) ([]byte, error) {
	w, ok := c.writers.Get().(*writer)
	if !ok {
		gz, err := gzip.NewWriterLevel(nil, c.level)
		if err != nil {
			return dst, err
		}
		w = &writer{gz: gz}
	}
	w.out = dst
	w.gz.Reset(w)
	_, err := w.gz.Write(src)
	if err == nil {
		err = w.gz.Close()
	}
	out := w.out
	w.out = nil // the caller's, not the pool's
	c.writers.Put(w)
	return out, err
}

func (c *compressor) Decompress(dst, src []byte, limit int) ([]byte, error) {
	r, ok := c.readers.Get().(*reader)
	if !ok {
		r = new(reader)
	}
	r.src.Reset(src)
	err := r.gz.Reset(&r.src)
	if err == nil {
		dst, err = compress.AppendFrom(dst, &r.gz, limit)
	}
	r.src.Reset(nil)
	r.gz.Header = gzip.Header{} // up to 64 KiB of what the peer sent
	c.readers.Put(r)
	if err != nil && err != compress.ErrTooLarge {
		err = fmt.Errorf("compress/gzip: %w", err)
	}
	return dst, err
}
