package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"

	"github.com/weftrpc/weft/codec"
)

// xmlCodec is a custom codec: a name and two methods. A codec for production also
// runs codectest.Run in its tests.
type xmlCodec struct{}

// Name is what the caller announces to the server.
func (xmlCodec) Name() string { return "xml" }

// Append appends the encoding of v.
func (xmlCodec) Append(dst []byte, v any) ([]byte, error) {
	body, err := xml.Marshal(v)
	return append(dst, body...), err
}

// Decode decodes one whole document into v.
func (xmlCodec) Decode(body []byte, v any) error {
	target, err := codec.Target(v)
	if err != nil {
		return err
	}
	target.SetZero() // encoding/xml leaves fields that it does not find
	d := xml.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("xml: there are bytes after the document")
	}
	return nil
}
