package compress_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/snappy"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestAppendFrom(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		r     io.Reader
		limit int
		want  string
		err   error
	}{
		"empty":          {strings.NewReader(""), 10, "", nil},
		"below":          {strings.NewReader("hello"), 10, "hello", nil},
		"exact":          {strings.NewReader("hello"), 5, "hello", nil},
		"above":          {strings.NewReader("hello"), 4, "hell", compress.ErrTooLarge},
		"none allowed":   {strings.NewReader("h"), 0, "", compress.ErrTooLarge},
		"none there":     {strings.NewReader(""), 0, "", nil},
		"negative":       {strings.NewReader("h"), -1, "", compress.ErrTooLarge},
		"byte by byte":   {iotest.OneByteReader(strings.NewReader("hello")), 5, "hello", nil},
		"data with EOF":  {iotest.DataErrReader(strings.NewReader("hello")), 9, "hello", nil},
		"error":          {io.MultiReader(strings.NewReader("he"), iotest.ErrReader(broken)), 9, "he", broken},
		"error at limit": {io.MultiReader(strings.NewReader("he"), iotest.ErrReader(broken)), 2, "he", broken},
		"long":           {bytes.NewReader(make([]byte, 100_000)), 100_000, string(make([]byte, 100_000)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := compress.AppendFrom([]byte("abc"), test.r, test.limit)
			if err != test.err || string(got) != "abc"+test.want {
				t.Errorf("AppendFrom = %.20q (%d bytes), %v; want %.20q, %v", got, len(got), err, "abc"+test.want, test.err)
			}
		})
	}
}

func TestAppendFromTakesNoMoreMemoryThanRead(t *testing.T) {
	got, err := compress.AppendFrom(nil, strings.NewReader("hello"), 1<<30)
	if err != nil || cap(got) > 1024 {
		t.Errorf("5 bytes with a large limit took %d, %v", cap(got), err)
	}
}

func ExampleAppendFrom() {
	got, err := compress.AppendFrom([]byte("> "), strings.NewReader("hello, world"), 5)
	fmt.Printf("%s: %v\n", got, err)
	// Output: > hello: compress: restored data is larger than the limit
}

// A compressor is a value, passed to the function that uses it.
func ExampleCompressor() {
	var c compress.Compressor = snappy.New()
	small, err := c.Compress(nil, bytes.Repeat([]byte("weft "), 100))
	fmt.Println(c.Name(), len(small), err)

	_, err = c.Decompress(nil, small, 499)
	fmt.Println(errors.Is(err, compress.ErrTooLarge))
	// Output:
	// snappy 35 <nil>
	// true
}
