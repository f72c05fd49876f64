// Package compress defines how bodies are compressed.
//
// A [Compressor] is a value, passed in a configuration. Each subpackage holds one.
//
//   - snappy: least CPU, no checksum
//   - lz4: little CPU, checksum
//   - zstd: small and fast, checksum; the choice for a slow line
//   - gzip: known in every language, most CPU
//
// Test a compressor of your own with compresstest.Run.
package compress

import "errors"

// A Compressor compresses bytes and restores them.
//
// Many goroutines use a compressor at once. What it returns belongs to the
// caller: it shares no memory with a pool.
type Compressor interface {
	// Name is the name of the compressor on the wire, for example "gzip": 1 to 32
	// characters of a-z, 0-9, '-' and '.'.
	Name() string

	// Compress appends the compressed form of src to dst and returns the longer
	// slice. It keeps neither.
	Compress(dst, src []byte) ([]byte, error)

	// Decompress appends the restored form of src to dst and returns the longer
	// slice. It keeps neither; after an error the bytes that it returns are
	// undefined. It stops with [ErrTooLarge] before it has appended more than
	// limit bytes, and does not trust a size that src claims: memory grows as
	// bytes are restored, or as far as the rest of src could fill it. So the limit
	// alone bounds what a body costs, whatever its ratio: a receiver passes the
	// length that it takes uncompressed. Anything other than one whole compressed
	// form is an error, bytes behind it included.
	Decompress(dst, src []byte, limit int) ([]byte, error)
}

// ErrTooLarge is returned by Decompress when the restored form is longer than
// the limit.
var ErrTooLarge = errors.New("compress: restored data is larger than the limit")
