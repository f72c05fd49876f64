package compress

import (
	"io"
	"slices"
)

// minRoom is how much room AppendFrom makes at least, in bytes.
const minRoom = 512

// AppendFrom appends what r yields up to io.EOF to dst and returns the longer
// slice. It returns [ErrTooLarge], having appended limit bytes, when there are
// more; else the error of r. Memory grows with what was read. It is the
// Decompress of a compressor whose library has an io.Reader.
func AppendFrom(dst []byte, r io.Reader, limit int) ([]byte, error) {
	start := len(dst)
	for {
		left := limit - (len(dst) - start)
		if left <= 0 {
			return dst, atEnd(r)
		}
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, min(left, max(minRoom, len(dst)-start)))
		}
		n, err := r.Read(dst[len(dst):min(cap(dst), len(dst)+left)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// atEnd returns nil when r has no further byte.
func atEnd(r io.Reader) error {
	_, err := io.ReadFull(r, make([]byte, 1))
	switch err {
	case io.EOF:
		return nil
	case nil:
		return ErrTooLarge
	}
	return err
}
