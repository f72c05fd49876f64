// Package compress says how a body becomes fewer bytes.
//
// A [Compressor] is a value, passed in a configuration. Each subpackage holds one.
//
//   - snappy: least CPU, no checksum
//   - lz4: little CPU, checksum
//   - zstd: small and still fast, checksum; the one to choose on a slow line
//   - gzip: understood by everything, most CPU
//
// A compressor of your own proves itself with compresstest.Run.
package compress

import "errors"

// Compressor makes bytes fewer and restores them.
//
// A compressor is used by many goroutines at once. What it returns is its
// caller's alone: it never shares memory with a pool.
type Compressor interface {
	// Name is the name of the compressor on the wire, for example "gzip": 1 to 32
	// characters of a-z, 0-9, '-' and '.'.
	Name() string

	// Compress appends the compressed form of src to dst and returns the longer
	// slice. It keeps neither.
	Compress(dst, src []byte) ([]byte, error)

	// Decompress appends the restored form of src to dst and returns the longer
	// slice. It keeps neither, and after an error what it returns means nothing.
	// It stops with [ErrTooLarge] before it has appended more than limit bytes,
	// and does not trust a size that src claims: memory grows as bytes are really
	// restored, or as far as the rest of src could fill it. Anything else than
	// one whole compressed form is an error, bytes behind it included.
	Decompress(dst, src []byte, limit int) ([]byte, error)
}

// ErrTooLarge is returned by Decompress when the restored form is longer than
// the limit.
var ErrTooLarge = errors.New("compress: restored data is larger than the limit")
