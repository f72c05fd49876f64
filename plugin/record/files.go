package record

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// extension is that of the files.
const extension = ".weftrec"

// files are the files of a folder, of which the newest is written. It is for one goroutine.
type files struct {
	dir     string
	maxFile int64
	most    int

	file *os.File // nil: the next call begins one
	out  *bufio.Writer
	size int64
	last string // the name of the last file
	buf  []byte
}

// newFiles makes the folder.
func newFiles(dir string, maxFile int64, most int) (*files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &files{dir: dir, maxFile: maxFile, most: most}, nil
}

// append writes a call, into the next file when the last one is full.
func (f *files) append(c *Call) error {
	var err error
	if f.buf, err = c.frame(f.buf[:0]); err != nil {
		return err
	}
	if f.file != nil && f.size+int64(len(f.buf)) > f.maxFile {
		if err := f.close(); err != nil {
			return err
		}
	}
	if f.file == nil {
		if err := f.begin(); err != nil {
			return err
		}
	}
	if _, err := f.out.Write(f.buf); err != nil {
		return errors.Join(err, f.close()) // what is behind a part of a frame could not be read
	}
	f.size += int64(len(f.buf))
	return nil
}

// begin begins a file, whose name sorts behind those of all before, and deletes the oldest.
func (f *files) begin() error {
	at := time.Now().UTC()
	for {
		name := at.Format("20060102-150405.000000000") + extension
		if name <= f.last {
			at = at.Add(1)
			continue
		}
		file, err := os.OpenFile(filepath.Join(f.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			at = at.Add(1)
			continue
		}
		if err != nil {
			return err
		}
		f.file, f.out, f.size, f.last = file, bufio.NewWriterSize(file, 64<<10), int64(len(magic)), name
		if _, err := f.out.WriteString(magic); err != nil {
			return errors.Join(err, f.close())
		}
		return f.deleteOld()
	}
}

func (f *files) deleteOld() error {
	all, err := list(f.dir)
	for len(all) > f.most && err == nil {
		err = os.Remove(all[0])
		all = all[1:]
	}
	return err
}

// list are the files of a folder, the oldest first.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if e.Type().IsRegular() && filepath.Ext(e.Name()) == extension {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(all)
	return all, nil
}

// flush writes what is buffered.
func (f *files) flush() error {
	if f.file == nil {
		return nil
	}
	return f.out.Flush()
}

// close ends the file.
func (f *files) close() error {
	if f.file == nil {
		return nil
	}
	err := errors.Join(f.out.Flush(), f.file.Close())
	f.file = nil
	return err
}
