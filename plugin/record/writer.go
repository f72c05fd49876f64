package record

import (
	"bufio"
	"errors"
	"io/fs"
	"os"

	"github.com/weftrpc/weft"
)

// Writer writes calls to one file, for programs that know calls in another way than by a Recorder. Its
// methods are for one goroutine.
type Writer struct {
	file *os.File
	out  *bufio.Writer
	buf  []byte
	size int64
}

// Create makes a file, which only its owner can read. A file that is there already is an error.
func Create(path string) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, weft.Errorf(weft.AlreadyExists, "record: %s is there already: name another file, or remove it", path)
	case err != nil:
		return nil, weft.Errorf(weft.Unavailable, "record: %w", err)
	}
	w := &Writer{file: file, out: bufio.NewWriterSize(file, 64<<10), size: int64(len(magic))}
	if _, err := w.out.WriteString(magic); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return w, nil
}

// Write writes a call. After an error of the file nothing more can be written.
func (w *Writer) Write(c *Call) error {
	frame, err := c.frame(w.buf[:0])
	if err != nil {
		return err
	}
	w.buf = frame
	w.size += int64(len(frame))
	_, err = w.out.Write(frame)
	return err
}

// Size is how many bytes the file has, with those that Flush and Close write.
func (w *Writer) Size() int64 { return w.size }

// Flush writes what is buffered to the file.
func (w *Writer) Flush() error { return w.out.Flush() }

// Close ends the file.
func (w *Writer) Close() error { return errors.Join(w.out.Flush(), w.file.Close()) }
