package registry

import (
	"context"
	"fmt"

	"github.com/weftrpc/weft"
)

// Documents is implemented by drivers whose registries also keep documents: named
// values that do not expire, such as the rules of a service.
type Documents interface {
	// Load returns a document as it is now; the zero Document if there is none.
	Load(ctx context.Context, name string) (Document, error)

	// Store replaces a document whose version is still the given one, 0 if there
	// must be none yet; otherwise it returns ErrConflict and changes nothing.
	Store(ctx context.Context, name string, value []byte, version uint64) error

	// WatchDocument calls emit with a document, first as it is, the zero Document if
	// there is none, and then whenever it has changed. In all else it is like
	// Driver.Watch.
	WatchDocument(ctx context.Context, name string, emit func(Document)) error
}

// Document is a value that a registry keeps until it is replaced.
type Document struct {
	Value   []byte
	Version uint64 // another one after every change; 0: there is no such document
}

// MaxDocument is how many bytes a document can have.
const MaxDocument = 256 << 10

// ErrConflict is what Store returns when the document was replaced meanwhile.
var ErrConflict = fmt.Errorf("registry: the document has changed meanwhile; load it again (%w)", weft.Aborted)

// ErrNoDocuments is what documents of a registry that cannot keep any end with.
var ErrNoDocuments = fmt.Errorf("registry: this registry keeps no documents (%w)", weft.Unimplemented)

func errTooLong(name string, size int) error {
	return weft.Errorf(weft.InvalidArgument, "registry: document %q has %d bytes, at most %d are allowed", name, size, MaxDocument)
}

// Load returns a document as the registry has it now; the zero Document if there is
// none.
func (r *Registry) Load(ctx context.Context, name string) (Document, error) {
	d, ok := r.driver.(Documents)
	if !ok {
		return Document{}, ErrNoDocuments
	}
	return d.Load(ctx, name)
}

// Store replaces a document whose version is still the given one, 0 if there must
// be none yet; otherwise it returns ErrConflict.
func (r *Registry) Store(ctx context.Context, name string, value []byte, version uint64) error {
	d, ok := r.driver.(Documents)
	if !ok {
		return ErrNoDocuments
	}
	if len(value) > MaxDocument {
		return errTooLong(name, len(value))
	}
	return d.Store(ctx, name, value, version)
}
