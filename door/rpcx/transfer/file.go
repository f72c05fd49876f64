package transfer

import (
	"errors"
	"io"

	"github.com/weftrpc/weft"
)

// Upload is a file that a client sends, for its handler to read.
type Upload struct {
	// Name is that of the file, without a folder. It comes from the client: it is one of a file in any folder, but the file
	// may be there already, or be a symbolic link. Package os opens it safely by os.Root.
	Name string
	// Size is how many bytes the file has. Neither more nor fewer are read.
	Size int64
	// Meta is what the client has sent beside it.
	Meta map[string]string

	s    *second
	left int64
	err  error
}

// Read implements io.Reader. io.EOF means that the file came whole. A client that sends fewer than Size bytes, or more, makes it fail, with
// io.ErrUnexpectedEOF below the error where there are fewer.
func (u *Upload) Read(p []byte) (int, error) {
	if u.err != nil || len(p) == 0 {
		return 0, u.err
	}
	if u.left == 0 {
		u.err = u.end()
		return 0, u.err
	}
	n, err := u.s.read(p[:min(int64(len(p)), u.left)], u.s.idle)
	u.left -= int64(n)
	switch {
	case errors.Is(err, io.EOF) && u.left > 0:
		err = weft.Errorf(weft.DataLoss, "%d of the %d bytes of file %q came: %w", u.Size-u.left, u.Size, u.Name, io.ErrUnexpectedEOF)
	case errors.Is(err, io.EOF):
		err = nil // the next call finds it once more
	}
	u.err = err
	return n, err
}

// end awaits the end of what the client sends.
func (u *Upload) end() error {
	n, err := u.s.read(make([]byte, 1), u.s.idle)
	if n > 0 {
		return weft.Errorf(weft.InvalidArgument, "more than the %d bytes of file %q came", u.Size, u.Name)
	}
	return err
}

// Download is a file that a client asks for, for its handler to write.
type Download struct {
	// Name is a path with slashes that does not lead out of the folder where it is looked up, as fs.ValidPath has it. It comes
	// from the client: what is there may be a symbolic link. Package os opens it safely by os.Root.
	Name string
	// Meta is what the client has sent beside it.
	Meta map[string]string

	s *second
}

// Write implements io.Writer. It fails when the client takes nothing for Limits.WriteTimeout.
func (d *Download) Write(p []byte) (int, error) {
	n, err := d.s.write(p)
	if err != nil {
		d.s.spoil()
	}
	return n, err
}
