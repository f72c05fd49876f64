package registrytest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weftrpc/weft/registry"
)

// documentChecks are those of a driver that implements registry.Documents.
func documentChecks() []check {
	return []check{
		{"one that is not there is zero", checkNoDocument},
		{"what was stored is loaded", checkStore},
		{"Store with an old version is ErrConflict", checkConflict},
		{"of several at once one is stored", checkOneWins},
		{"any bytes can be a value", checkValues},
		{"any name can be one", checkDocumentNames},
		{"a change is seen by all watchers", checkWatchDocument},
		{"an unchanged one is not lost", checkDocumentWatchStays},
		{"they are no instances", checkDocumentsApart},
	}
}

// documents makes a driver, as another process would.
func (s *suite) documents(t *testing.T) registry.Documents {
	t.Helper()
	return s.driver(t).(registry.Documents)
}

func (s *suite) load(t *testing.T, d registry.Documents, name string) registry.Document {
	t.Helper()
	var doc registry.Document
	err := s.do(t, func(ctx context.Context) (err error) {
		doc, err = d.Load(ctx, name)
		return err
	})
	if err != nil {
		t.Fatalf("Load of document %q: %v", name, err)
	}
	return doc
}

// store stores a document and returns it as it is loaded then.
func (s *suite) store(t *testing.T, d registry.Documents, name string, value []byte, version uint64) registry.Document {
	t.Helper()
	if err := s.tryStore(t, d, name, value, version); err != nil {
		t.Fatalf("Store of document %q with version %d: %v", name, version, err)
	}
	doc := s.load(t, d, name)
	if !bytes.Equal(doc.Value, value) || doc.Version == 0 || doc.Version == version {
		t.Fatalf("after Store of %.60q in place of version %d, Load of %q returns %.60q with version %d",
			value, version, name, doc.Value, doc.Version)
	}
	return doc
}

func (s *suite) tryStore(t *testing.T, d registry.Documents, name string, value []byte, version uint64) error {
	tries := 0
	return s.do(t, func(ctx context.Context) error {
		err := d.Store(ctx, name, value, version)
		if tries++; tries > 1 && errors.Is(err, registry.ErrConflict) {
			// It may have been stored the first time, though that was not answered.
			if doc, failed := d.Load(ctx, name); failed == nil && doc.Version != version && bytes.Equal(doc.Value, value) {
				return nil
			}
		}
		return err
	})
}

// storeLasting stores a document, if the driver can, and returns a function that
// fails the test unless it is still there.
func (s *suite) storeLasting(t *testing.T, d registry.Driver, name string) (check func()) {
	t.Helper()
	documents, ok := d.(registry.Documents)
	if !ok {
		return func() {}
	}
	want := s.store(t, documents, name, []byte("lasts"), 0)
	return func() {
		t.Helper()
		if got := s.load(t, documents, name); got.Version != want.Version || !bytes.Equal(got.Value, want.Value) {
			t.Errorf("a document was stored as %q with version %d, and later it is %q with version %d; documents do not expire",
				want.Value, want.Version, got.Value, got.Version)
		}
	}
}

func checkNoDocument(t *testing.T, s *suite) {
	d, name := s.documents(t), service()
	if doc := s.load(t, d, name); doc.Version != 0 || len(doc.Value) != 0 {
		t.Errorf("Load of a document that was never stored returns %q with version %d, want the zero Document", doc.Value, doc.Version)
	}
	s.seesDocument(t, s.watchDocument(t, d, name), registry.Document{})
}

func checkStore(t *testing.T, s *suite) {
	one, two, name := s.documents(t), s.documents(t), service()
	seen := map[uint64]bool{}
	var doc registry.Document
	for _, value := range []string{"first", "second", "third and longer", "4"} {
		doc = s.store(t, one, name, []byte(value), doc.Version)
		if seen[doc.Version] {
			t.Errorf("version %d is that of two values", doc.Version)
		}
		seen[doc.Version] = true
		if other := s.load(t, two, name); other.Version != doc.Version || !bytes.Equal(other.Value, doc.Value) {
			t.Errorf("another process loads %q with version %d, want %q with %d", other.Value, other.Version, doc.Value, doc.Version)
		}
	}
}

func checkConflict(t *testing.T, s *suite) {
	one, two, name := s.documents(t), s.documents(t), service()
	if err := s.tryStore(t, one, name, []byte("x"), 12345); !errors.Is(err, registry.ErrConflict) {
		t.Errorf("Store with version 12345 where there is no document returned %v, want ErrConflict", err)
	}
	if doc := s.load(t, one, name); doc.Version != 0 {
		t.Errorf("the Store that was refused has made the document %q", doc.Value)
	}
	first := s.store(t, one, name, []byte("first"), 0)
	second := s.store(t, two, name, []byte("second"), first.Version)
	for _, version := range []uint64{0, first.Version} {
		if err := s.tryStore(t, one, name, []byte("late"), version); !errors.Is(err, registry.ErrConflict) {
			t.Errorf("Store with version %d where it is %d by now returned %v, want ErrConflict", version, second.Version, err)
		}
	}
	if doc := s.load(t, one, name); doc.Version != second.Version || string(doc.Value) != "second" {
		t.Errorf("after the Stores that were refused the document is %q with version %d, want %q with %d",
			doc.Value, doc.Version, second.Value, second.Version)
	}
}

// checkOneWins lets many replace the same version at the same time.
func checkOneWins(t *testing.T, s *suite) {
	name := service()
	var drivers []registry.Documents
	for range 4 {
		drivers = append(drivers, s.documents(t))
	}
	version := uint64(0)
	for round := range 5 {
		var won atomic.Int32
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				value := []byte{'a' + byte(round), 'a' + byte(n)}
				switch err := s.tryStore(t, drivers[n%4], name, value, version); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, registry.ErrConflict):
					t.Errorf("Store beside others: %v, want nil or ErrConflict", err)
				}
			})
		}
		wg.Wait()
		if n := won.Load(); n != 1 {
			t.Fatalf("%d of 8 Stores in place of the same version went well, want 1", n)
		}
		version = s.load(t, drivers[0], name).Version
	}
}

func checkValues(t *testing.T, s *suite) {
	d := s.documents(t)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, value := range [][]byte{{}, {0}, every, []byte("{\"größe\": 1}\r\n"), bytes.Repeat([]byte("0123456789abcdef"), registry.MaxDocument/16)} {
		name := service()
		s.store(t, d, name, value, s.store(t, d, name, []byte("before"), 0).Version)
	}
	name := service()
	first := s.store(t, d, name, nil, 0) // an empty document is a document
	s.store(t, d, name, []byte("x"), first.Version)
}

func checkDocumentNames(t *testing.T, s *suite) {
	d, base := s.documents(t), service()
	for _, odd := range []string{"", "/a", "/a/b", "//", ".json", "/..", "%2Fa", " x", "größe", "*", "?a#b", "\\", strings.Repeat("/", 200)} {
		if doc := s.load(t, d, base+odd); doc.Version != 0 {
			t.Errorf("document %q is taken for %q", base+odd, doc.Value)
			continue
		}
		s.store(t, d, base+odd, []byte(odd), 0)
	}
}

func (s *suite) seesDocument(t *testing.T, f *feed[registry.Document], want registry.Document) {
	t.Helper()
	f.until(t, s.Settle, f.show(want), func(d registry.Document) string {
		if d.Version == want.Version && bytes.Equal(d.Value, want.Value) {
			return ""
		}
		return "it is " + f.show(d)
	})
}

func checkWatchDocument(t *testing.T, s *suite) {
	name := service()
	writer, one, two := s.documents(t), s.documents(t), s.documents(t)
	feeds := []*feed[registry.Document]{s.watchDocument(t, one, name), s.watchDocument(t, one, name), s.watchDocument(t, two, name)}
	doc := registry.Document{}
	for _, f := range feeds {
		s.seesDocument(t, f, doc)
	}
	for _, value := range []string{"first", "second", "", "fourth"} {
		doc = s.store(t, writer, name, []byte(value), doc.Version)
		for _, f := range feeds {
			s.seesDocument(t, f, doc)
		}
	}
	s.seesDocument(t, s.watchDocument(t, one, name), doc)
	// Quick changes: the last one counts.
	for range 10 {
		doc = s.store(t, writer, name, append(doc.Value, 'x'), doc.Version)
	}
	for _, f := range feeds {
		s.seesDocument(t, f, doc)
	}
}

// checkDocumentWatchStays ends one of two watches, whose driver goes on with the
// other.
func checkDocumentWatchStays(t *testing.T, s *suite) {
	d, name := s.documents(t), service()
	ends, stays := s.watchDocument(t, d, name), s.watchDocument(t, d, name)
	doc := s.store(t, d, name, []byte("first"), 0)
	s.seesDocument(t, ends, doc)
	ends.end(t)
	had := len(ends.all())
	doc = s.store(t, d, name, []byte("second"), doc.Version)
	s.seesDocument(t, stays, doc)
	if more := len(ends.all()) - had; more > 0 {
		t.Errorf("%s emitted %d documents after it had returned", ends.what, more)
	}
}

// checkDocumentsApart gives a document the name of a service, and of an instance.
func checkDocumentsApart(t *testing.T, s *suite) {
	name := service()
	d := s.driver(t)
	docs := d.(registry.Documents)
	f := s.watch(t, d, name)
	s.sees(t, f)
	for _, document := range []string{name, name + "/server-0", name + "/server-1"} {
		s.store(t, docs, document, []byte("{}"), 0)
	}
	r := s.roster(t, name)
	r.set(t, instance(name, 0))
	list := s.sees(t, f, instance(name, 0))
	if len(list.Invalid) > 0 {
		t.Errorf("a document is among the invalid entries of a service: %q", list.Invalid[0].ID)
	}
	if doc := s.load(t, docs, name+"/server-0"); string(doc.Value) != "{}" {
		t.Errorf("publishing an instance has changed a document to %q", doc.Value)
	}
	if doc := s.load(t, docs, name+"/server-2"); doc.Version != 0 {
		t.Errorf("a document that was never stored is loaded as %q", doc.Value)
	}
}
