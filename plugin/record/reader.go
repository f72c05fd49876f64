package record

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/weftrpc/weft"
)

// Recording are the calls of a file, or of the files of a folder.
type Recording struct{ files []string }

// Open finds the files of a folder, or one file.
func Open(path string) (*Recording, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, weft.Errorf(weft.NotFound, "record: %w", err)
	}
	if !info.IsDir() {
		return &Recording{[]string{path}}, nil
	}
	all, err := list(path)
	if err != nil {
		return nil, weft.Errorf(weft.Unavailable, "record: %w", err)
	}
	if len(all) == 0 {
		return nil, weft.Errorf(weft.NotFound, "record: there are no files *%s in %s", extension, path)
	}
	return &Recording{all}, nil
}

// Files are the files, the oldest first.
func (r *Recording) Files() []string { return append([]string(nil), r.files...) }

// Damage says where a file could not be read any further.
type Damage struct {
	File   string
	Offset int64 // of the frame that cannot be read
	Calls  int   // that were read before it
	Err    error // what is wrong
}

// Error implements error.
func (d *Damage) Error() string {
	return fmt.Sprintf("record: %s: at byte %d, behind %d calls: %v", d.File, d.Offset, d.Calls, d.Err)
}

// Unwrap is what is wrong.
func (d *Damage) Unwrap() error { return d.Err }

// Calls yields the calls in the order of their ends. A file that is damaged yields a *Damage behind
// what can be read of it, and the next file follows. It may be called again.
func (r *Recording) Calls() iter.Seq2[*Call, error] {
	return func(yield func(*Call, error) bool) {
		for _, name := range r.files {
			if !calls(name, yield) {
				return
			}
		}
	}
}

// calls yields the calls of one file.
func calls(name string, yield func(*Call, error) bool) bool {
	d := &Damage{File: name}
	file, err := os.Open(name)
	if err != nil {
		d.Err = err
		return yield(nil, d)
	}
	defer file.Close()
	f := frames{r: bufio.NewReaderSize(file, 64<<10)}
	if d.Err = f.begin(); d.Err != nil {
		return yield(nil, d)
	}
	for {
		d.Offset = f.at
		payload, err := f.next()
		if err == io.EOF {
			return true
		}
		var c *Call
		if err == nil {
			c, err = decode(payload)
		}
		if err != nil {
			d.Err = err
			return yield(nil, d)
		}
		if !yield(c, nil) {
			return false
		}
		d.Calls++
	}
}
