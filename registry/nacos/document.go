package nacos

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/weftrpc/weft/registry"
)

const (
	// adminConfig is the API that writes configurations, and reads what was written.
	adminConfig = "/v3/admin/cs/config"
	// clientConfig is the API that reads them from a cache, a moment later.
	clientConfig = "/v3/client/cs/config"
)

// configuration is a document as Nacos has it. Its sum is what Nacos compares, so the
// version is made of it: a document that is changed and changed back has its old one.
type configuration struct {
	Content string
	MD5     string
}

func (c configuration) document() (registry.Document, error) {
	if c.MD5 == "" {
		return registry.Document{}, nil
	}
	sum, err := hex.DecodeString(c.MD5)
	if err != nil || len(sum) < 8 {
		return registry.Document{}, fmt.Errorf("its sum is %q, which is no MD5", c.MD5)
	}
	value, err := decode(c.Content)
	return registry.Document{Value: value, Version: max(binary.BigEndian.Uint64(sum), 1)}, err
}

// documentForm is what every request about a document says.
func (d *driver) documentForm(name string) url.Values {
	form := url.Values{"groupName": {d.group}, "dataId": {nacosName(name)}}
	if d.namespace != "" {
		form.Set("namespaceId", d.namespace)
	}
	return form
}

// read asks for a document; the zero configuration if there is none.
func (d *driver) read(ctx context.Context, path, name string) (configuration, error) {
	var c configuration
	err := d.client.call(ctx, request{method: http.MethodGet, path: path, form: d.documentForm(name)}, &c)
	if refused(err, codeNoResource) {
		return configuration{}, nil
	}
	return c, err
}

// Load implements registry.Documents.
func (d *driver) Load(ctx context.Context, name string) (registry.Document, error) {
	c, err := d.read(ctx, adminConfig, name)
	var document registry.Document
	if err == nil {
		document, err = c.document()
	}
	if err != nil {
		return registry.Document{}, fmt.Errorf("nacos: load document %q: %w", name, err)
	}
	return document, nil
}

// noSum is the sum of no configuration: what is to be replaced only if it has this sum
// is made if it is not there, and otherwise stays.
const noSum = "-"

// Store implements registry.Documents.
func (d *driver) Store(ctx context.Context, name string, value []byte, version uint64) error {
	sum := noSum
	if version > 0 {
		has, err := d.read(ctx, adminConfig, name)
		var now registry.Document
		if err == nil {
			now, err = has.document()
		}
		switch {
		case err != nil:
			return fmt.Errorf("nacos: store document %q: %w", name, err)
		case now.Version != version:
			return registry.ErrConflict
		}
		sum = has.MD5
	}
	form := d.documentForm(name)
	form.Set("content", encode(value))
	err := d.client.call(ctx, request{method: http.MethodPost, path: adminConfig, form: form, casMD5: sum}, nil)
	switch {
	case refused(err, codeConflict):
		if _, ok := errors.AsType[*repeated](err); ok {
			// The lock error can be that of Nacos' history, and the document be stored.
			if now, failed := d.Load(ctx, name); failed == nil && now.Version != version && bytes.Equal(now.Value, value) {
				return nil
			}
		}
		return registry.ErrConflict
	case err != nil:
		return fmt.Errorf("nacos: store document %q: %w", name, err)
	}
	return nil
}

// WatchDocument implements registry.Documents.
func (d *driver) WatchDocument(ctx context.Context, name string, emit func(registry.Document)) error {
	err := poll(ctx, d.pollEvery, func(limit context.Context) error {
		c, err := d.read(limit, clientConfig, name)
		if err != nil {
			return err
		}
		document, err := c.document()
		if err == nil && ctx.Err() == nil {
			emit(document)
		}
		return err
	})
	return fmt.Errorf("nacos: watch document %q: %w", name, err)
}

// encoded begins the content of a document that is not stored as it is.
const encoded = "weft-base64:"

// encode makes content of a value. Text stays as it is, so that people can read it in
// Nacos; Nacos takes nothing empty, and no bytes that are no text.
func encode(value []byte) string {
	text := string(value)
	plain := utf8.Valid(value) && strings.TrimSpace(text) != "" && !strings.HasPrefix(text, encoded) &&
		!strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' })
	if plain {
		return text
	}
	return encoded + base64.StdEncoding.EncodeToString(value)
}

// decode is the reverse of encode. What people have written in Nacos stays as it is.
func decode(content string) ([]byte, error) {
	rest, ok := strings.CutPrefix(content, encoded)
	if !ok {
		return []byte(content), nil
	}
	value, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		return nil, fmt.Errorf("the content begins with %q, and what follows is not: %w", encoded, err)
	}
	return value, nil
}
