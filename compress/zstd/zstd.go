// Package zstd compresses with Zstandard: small, at a fraction of the CPU of gzip.
//
// The compressed form is one frame as in RFC 8878, without a dictionary, with
// the size of its content and a checksum. Frames without these are read too,
// with windows of up to 8 MiB, the size that RFC 8878 asks every decoder to
// support.
package zstd

import (
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/weftrpc/weft/compress"
)

// The levels that NewLevel takes, on the scale of the zstd command.
const (
	BestSpeed       = 1
	BestCompression = 22
)

const (
	// maxWindow is how far back a frame may refer, unless it is a single
	// segment, which refers to itself alone.
	maxWindow = 8 << 20
	// encoderWindow is how far back ours do: a compromise, since each encoder
	// that runs keeps so much memory and more.
	encoderWindow = 1 << 20
	// slack lets the decoder copy sixteen bytes at a time up to the end.
	slack = 32
)

// New returns the compressor named "zstd" with the level [BestSpeed]. It keeps
// encoders and decoders for reuse, as many as run at once, so keep one and
// share it.
func New() compress.Compressor {
	c, err := NewLevel(BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return c
}

// NewLevel is New with a level from [BestSpeed] to [BestCompression]. The
// library has four of them: 1 and 2, 3 to 5, 6 to 9, and 10 to 22.
func NewLevel(level int) (compress.Compressor, error) {
	if level < BestSpeed || level > BestCompression {
		return nil, fmt.Errorf("compress/zstd: level %d, want %d to %d", level, BestSpeed, BestCompression)
	}
	// Neither runs a goroutine: they are never given a stream.
	enc, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)),
		zstd.WithWindowSize(encoderWindow),
		zstd.WithLowerEncoderMem(true),
		zstd.WithZeroFrames(true),
	)
	if err != nil {
		return nil, fmt.Errorf("compress/zstd: %w", err)
	}
	// The decoder fills the room it is given and makes none of its own; how far
	// back a frame refers costs it nothing, and parseFrame bounds it.
	dec, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(0), // as many at once as there are processors
		zstd.WithDecodeAllCapLimit(true),
	)
	if err != nil {
		return nil, fmt.Errorf("compress/zstd: %w", err)
	}
	return &compressor{enc, dec}, nil
}

type compressor struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func (*compressor) Name() string { return "zstd" }

func (c *compressor) Compress(dst, src []byte) ([]byte, error) {
	return c.enc.EncodeAll(src, dst), nil
}

func (c *compressor) Decompress(dst, src []byte, limit int) ([]byte, error) {
	limit = max(limit, 0)
	f, err := parseFrame(src)
	if err != nil {
		return dst, fmt.Errorf("compress/zstd: %w", err)
	}
	switch {
	case f.sized && f.content > uint64(limit), f.least > uint64(limit):
		return dst, compress.ErrTooLarge
	case !f.sized:
		return c.decodeUnsized(dst, src, f, limit)
	case f.content < f.least || f.content > f.most:
		return dst, fmt.Errorf("compress/zstd: frame claims to restore %d bytes, its blocks can restore %d to %d", f.content, f.least, f.most)
	}
	out, err := c.decode(dst, src, int(f.content))
	if err != nil {
		return dst, fmt.Errorf("compress/zstd: %w", err)
	}
	return out, nil
}

// decode appends the content of src, for which it makes room for n bytes. After
// an error what it returns has the blocks in front of the broken one.
func (c *compressor) decode(dst, src []byte, n int) ([]byte, error) {
	dst = slices.Grow(dst, n+slack)
	// Given an empty slice the decoder writes in place.
	out, err := c.dec.DecodeAll(src, dst[len(dst):len(dst):len(dst)+n+slack])
	end := len(dst) + len(out)
	if len(out) > 0 && end <= cap(dst) && &out[0] == &dst[:end][len(dst)] {
		return dst[:end], err
	}
	return append(dst, out...), err
}

// decodeUnsized is for a frame that does not say how large its content is. It
// tries with room for a little, and for twice that where it ran out.
func (c *compressor) decodeUnsized(dst, src []byte, f frame, limit int) ([]byte, error) {
	// With room for one block beyond the limit, a frame that is too large can be
	// told from a broken one: it restored too much before it failed.
	most := int(min(f.most, uint64(limit)+maxBlock))
	for room := min(most, int(f.least)+max(4*len(src), 4<<10)); ; room = min(most, 2*room) {
		out, err := c.decode(dst, src, room)
		switch restored := len(out) - len(dst); {
		case restored > limit:
			return dst, compress.ErrTooLarge
		case err == nil:
			return out, nil
		case room == most || restored+maxBlock <= room:
			return dst, fmt.Errorf("compress/zstd: %w", err)
		}
	}
}
