package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

// input is the JSON values of a call, one after the other.
type input struct {
	values *json.Decoder
	name   string // for errors
	live   bool   // values may come at any time
	fields bool   // values may be objects with fields
	close  func() error
	read   int
}

// open opens what the arguments name: a text, "@file", "-" for the standard input; "" is the
// empty object.
func open(p *shell.Shell, data string) (*input, error) {
	in := &input{name: "the request", fields: true, close: func() error { return nil }}
	switch {
	case data == "":
		in.fields = false
		in.values = json.NewDecoder(strings.NewReader("{}"))
	case data == "-" || data == "@-":
		in.values, in.name, in.live = json.NewDecoder(p.In), "the standard input", true
	case strings.HasPrefix(data, "@"):
		file, err := os.Open(data[1:])
		if err != nil {
			return nil, shell.Unreadable("the request", err)
		}
		in.values, in.name, in.close = json.NewDecoder(file), data[1:], file.Close
	default:
		in.fields = strings.Contains(data, `"`)
		in.values = json.NewDecoder(strings.NewReader(data))
	}
	return in, nil
}

// next is the next value; io.EOF at the end.
func (in *input) next() (json.RawMessage, error) {
	var value json.RawMessage
	switch err := in.values.Decode(&value); {
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, new(*json.SyntaxError)):
		return nil, fmt.Errorf("value %d of %s is no JSON: %w; %w", in.read+1, in.name, err, shell.ErrUsage)
	case errors.Is(err, context.Canceled):
		return nil, err
	case err != nil:
		return nil, shell.Unreadable("", fmt.Errorf("%s cannot be read: %w", in.name, err))
	}
	in.read++
	return bytes.TrimSpace(value), nil
}
