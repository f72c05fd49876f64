// Package records reads result files and sums up their rounds:
// medians, least and greatest values, and ratios between runs that took turns.
package records

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/weftrpc/weft/bench/internal/runner"
)

// File is what a result file holds. It is not changed once it is read, so any
// number of goroutines may use it.
type File struct {
	Runs   Runs
	Codecs []Codec
}

// Codec is a line of the table of codecs: what one operation of one codec takes.
type Codec struct {
	Workload    string  `json:"workload"`  // always CodecWorkload
	Codec       string  `json:"codec"`     // such as "gob"
	Operation   string  `json:"operation"` // "encode", "decode", "reuse" or "call"
	Peer        string  `json:"peer"`      // of a call: the framework that made it
	NsPerOp     float64 `json:"ns_per_op"`
	BytesPerOp  float64 `json:"bytes_per_op"`
	AllocsPerOp float64 `json:"allocs_per_op"`
	Size        float64 `json:"size_bytes"` // of the encoded message
}

// CodecWorkload is the workload that lines of the table of codecs name.
const CodecWorkload = "codecs"

// ReadFile reads a file of records, as compare writes it or compressed with gzip.
func ReadFile(name string) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := readEither(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file, nil
}

// gzipMagic is what a file begins with that gzip compressed.
const gzipMagic = "\x1f\x8b"

func readEither(r *bufio.Reader) (*File, error) {
	// A file that is shorter is not compressed.
	if begin, _ := r.Peek(len(gzipMagic)); string(begin) != gzipMagic {
		return Read(r)
	}
	plain, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return Read(plain)
}

// Compress writes the records of a file, which may be compressed already, to
// another, compressed as small as gzip does. Equal records give equal files.
func Compress(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(text, []byte(gzipMagic)) {
		return os.WriteFile(to, text, 0o644)
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(to, b.Bytes(), 0o644)
}

// longestRecord is the longest line that is read, in bytes.
const longestRecord = 1 << 20

// Read reads lines of JSON. A field of a run that it does not know is an error:
// the record is of another version, and its figures may mean something else.
func Read(r io.Reader) (*File, error) {
	var file File
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestRecord)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := file.add(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(file.Runs)+len(file.Codecs) == 0 {
		return nil, errors.New("there are no records")
	}
	return &file, nil
}

// add decodes one line.
func (f *File) add(line []byte) error {
	var kind struct {
		Workload string `json:"workload"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	if kind.Workload == CodecWorkload {
		var c Codec
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		f.Codecs = append(f.Codecs, c)
		return nil
	}
	var r runner.Record
	strict := json.NewDecoder(bytes.NewReader(line))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&r); err != nil {
		return err
	}
	f.Runs = append(f.Runs, r)
	return nil
}
