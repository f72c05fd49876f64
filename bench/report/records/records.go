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
	text, err := readText(from)
	if err != nil {
		return err
	}
	return write(to, text)
}

// readText is the lines of a file, which may be compressed, as they are.
func readText(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil || !bytes.HasPrefix(text, []byte(gzipMagic)) {
		return text, err
	}
	plain, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	text, err = io.ReadAll(plain)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// write writes lines to a file, compressed.
func write(name string, text []byte) error {
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
	return os.WriteFile(name, b.Bytes(), 0o644)
}

// Replace writes the records of a file into another, compressed, in the place of
// those of the same workloads. What the other has of other workloads stays.
func Replace(from, to string) error {
	made, err := readText(from)
	if err != nil {
		return err
	}
	old, err := readText(to)
	if err != nil {
		return err
	}
	return write(to, replace(made, old))
}

// replace is the lines of old, with those of made in the place of the same workloads.
func replace(made, old []byte) []byte {
	lines := make(map[string][]byte)
	var order []string
	for line := range bytes.Lines(ended(made)) {
		w := workload(line)
		if lines[w] == nil {
			order = append(order, w)
		}
		lines[w] = append(lines[w], line...)
	}
	var all []byte
	begun := make(map[string]bool)
	for line := range bytes.Lines(ended(old)) {
		w := workload(line)
		switch {
		case lines[w] == nil:
			all = append(all, line...)
		case !begun[w]:
			begun[w] = true
			all = append(all, lines[w]...)
		}
	}
	for _, w := range order {
		if !begun[w] {
			all = append(all, lines[w]...)
		}
	}
	return all
}

// ended is text whose last line ends.
func ended(text []byte) []byte {
	if bytes.HasSuffix(text, []byte("\n")) {
		return text
	}
	return append(text, '\n')
}

// workload is the workload of a line that was read as a record before.
func workload(line []byte) string {
	var of struct {
		Workload string `json:"workload"`
	}
	_ = json.Unmarshal(line, &of) // an empty line has none
	return of.Workload
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
