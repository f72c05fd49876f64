package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weftrpc/weft/registry"
)

// errUnnamed is said of a document without a name.
var errUnnamed = errors.New("redis: a document needs a name")

// Load returns a document.
func (d *driver) Load(ctx context.Context, name string) (registry.Document, error) {
	document, _, err := d.load(ctx, name, registry.Document{})
	return document, err
}

// load returns a document and whether it is another one than that which is known.
func (d *driver) load(ctx context.Context, name string, known registry.Document) (_ registry.Document, changed bool, err error) {
	if name == "" {
		return registry.Document{}, false, errUnnamed
	}
	t := d.document(name)
	answer, err := d.scripts.load.Run(ctx, d.client, t.keys, t.channel, strconv.FormatUint(known.Version, 10)).Slice()
	if err != nil {
		return registry.Document{}, false, fmt.Errorf("redis: document %q cannot be loaded: %w", name, explain(err))
	}
	if len(answer) == 0 {
		return registry.Document{}, known.Version != 0, nil
	}
	text, _ := answer[0].(string)
	version, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err != nil || version == 0:
		return registry.Document{}, false, fmt.Errorf("redis: document %q has %q for a version: delete the key %q", name, text, t.keys[0])
	case version == known.Version:
		return known, false, nil
	case len(answer) != 2:
		return registry.Document{}, false, fmt.Errorf("redis: document %q: %w", name, wrongForm(len(answer)))
	}
	value, isText := answer[1].(string)
	if !isText {
		return registry.Document{}, false, fmt.Errorf("redis: document %q: %w", name, wrongForm(len(answer)))
	}
	return registry.Document{Value: []byte(value), Version: version}, true, nil
}

// Store replaces a document if its version is the given one.
func (d *driver) Store(ctx context.Context, name string, value []byte, version uint64) error {
	if name == "" {
		return errUnnamed
	}
	t := d.document(name)
	stored, err := d.scripts.store.Run(ctx, d.client, t.keys, t.channel, value, strconv.FormatUint(version, 10)).Bool()
	if err != nil {
		return fmt.Errorf("redis: document %q cannot be stored: %w", name, explain(err))
	}
	if !stored {
		return registry.ErrConflict
	}
	return nil
}

// WatchDocument calls emit with a document. It ends when Redis does not answer for two
// seconds.
func (d *driver) WatchDocument(ctx context.Context, name string, emit func(registry.Document)) error {
	var last registry.Document
	var emitted time.Time // zero: never
	return d.follow(ctx, d.document(name), func(ctx context.Context) error {
		document, changed, err := d.load(ctx, name, last)
		if err != nil {
			return err
		}
		if changed || time.Since(emitted) >= confirmEvery {
			last, emitted = document, time.Now()
			emit(registry.Document{Value: bytes.Clone(document.Value), Version: document.Version})
		}
		return nil
	})
}
