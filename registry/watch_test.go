package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

func TestWatch(t *testing.T) {
	tests := []struct {
		name string
		run  func(t *testing.T, d *scripted, r *Registry, e *listener)
	}{
		{"what there is and every change", func(t *testing.T, d *scripted, _ *Registry, e *listener) {
			expect(t, e, "[a b]")
			d.list("Arith", 2, "c", "a", "b")
			time.Sleep(time.Second)
			expect(t, e, "[a b c]")
			if s := e.last(); s.Revision != 2 || s.Source != "scripted" || s.Err != nil {
				t.Errorf("the snapshot is of revision %d from %q with error %v", s.Revision, s.Source, s.Err)
			}
		}},
		{"a storm of changes", func(t *testing.T, d *scripted, _ *Registry, e *listener) {
			before := e.count()
			for n := range 100 {
				d.list("Arith", uint64(2+n), "a", "b", fmt.Sprintf("c%02d", n))
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(time.Second)
			if n := e.count() - before; n < 5 || n > 12 {
				t.Errorf("%d snapshots of a second of changes, want about ten", n)
			}
			expect(t, e, "[a b c99]")
		}},
		{"a second watch is told at once", func(t *testing.T, _ *scripted, r *Registry, _ *listener) {
			second := &listener{}
			stop := r.Watch("Arith", second.take)
			defer stop()
			synctest.Wait()
			expect(t, second, "[a b]")
		}},
		{"an outage", func(t *testing.T, d *scripted, _ *Registry, e *listener) {
			d.set(true)
			time.Sleep(5 * time.Minute)
			expect(t, e, "[a b]")
			s := e.last()
			if !errors.Is(s.Err, errDown) {
				t.Errorf("the snapshot says %v, want why the registry does not answer", s.Err)
			}
			if age := s.Age(); age < 5*time.Minute || age > 6*time.Minute {
				t.Errorf("the list is said to be %v old, want five minutes", age)
			}
			d.set(false)
			d.list("Arith", 2, "a", "b", "new")
			time.Sleep(3 * time.Second)
			expect(t, e, "[a b new]")
			if s := e.last(); s.Err != nil || s.Age() > 3*time.Second {
				t.Errorf("after the outage the snapshot says %v, %v old", s.Err, s.Age())
			}
		}},
		{"an empty list", func(t *testing.T, d *scripted, _ *Registry, e *listener) {
			d.list("Arith", 2)
			time.Sleep(DefaultProtect - time.Second)
			expect(t, e, "[a b]")
			if s := e.last(); len(s.Kept) != 2 {
				t.Errorf("kept are %v, want both", s.Kept)
			}
			time.Sleep(2 * time.Second)
			expect(t, e, "[]")
		}},
		{"an outage in the middle of a collapse", func(t *testing.T, d *scripted, _ *Registry, e *listener) {
			d.list("Arith", 2)
			time.Sleep(DefaultProtect / 2)
			d.set(true)
			time.Sleep(10 * DefaultProtect)
			expect(t, e, "[a b]")
			if s := e.last(); len(s.Kept) != 2 || s.Err == nil {
				t.Errorf("in the outage kept are %v with error %v, want both", s.Kept, s.Err)
			}
			d.set(false)
			time.Sleep(3 * time.Second)
			expect(t, e, "[a b]")
			time.Sleep(DefaultProtect - 4*time.Second)
			expect(t, e, "[a b]")
			time.Sleep(5 * time.Second)
			expect(t, e, "[]")
		}},
		{"an outage after an older list", func(t *testing.T, d *scripted, _ *Registry, e *listener) {
			d.list("Arith", 9, "a", "b", "c")
			time.Sleep(time.Second)
			d.list("Arith", 3, "a")
			time.Sleep(DefaultProtect / 2)
			d.set(true)
			time.Sleep(10 * DefaultProtect)
			d.set(false)
			time.Sleep(3 * time.Second)
			expect(t, e, "[a b c]")
			time.Sleep(DefaultProtect)
			expect(t, e, "[a]")
		}},
		{"an older list", func(t *testing.T, d *scripted, _ *Registry, e *listener) {
			d.list("Arith", 9, "a", "b", "c")
			time.Sleep(time.Second)
			d.list("Arith", 3, "a", "b", "gone")
			time.Sleep(DefaultProtect - time.Second)
			expect(t, e, "[a b c]")
			time.Sleep(2 * time.Second)
			expect(t, e, "[a b gone]")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newScripted()
				d.list("Arith", 1, "b", "a")
				r := open(t, d, nil)
				e := &listener{}
				stop := r.Watch("Arith", e.take)
				time.Sleep(time.Second)
				tt.run(t, d, r, e)
				stop()
				n := e.count()
				d.list("Arith", 99, "late")
				time.Sleep(time.Minute)
				if e.count() != n {
					t.Error("the watch was told something after it was stopped")
				}
			})
		})
	}
}

// TestAwayInDoubt: the time of doubt is over in the moment in which the registry fails.
// What it said is not accepted for that, and nothing spins until it is back.
func TestAwayInDoubt(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	topic := &topic{r: open(t, newScripted(), nil), service: "Arith", accepted: accepted{protect: DefaultProtect}}
	say := func(at time.Duration, ids ...string) {
		list := &List{}
		for _, id := range ids {
			list.Instances = append(list.Instances, instance("Arith", id))
		}
		topic.list, topic.fresh = list, true
		topic.snapshot(start.Add(at))
	}
	say(0, "a", "b")
	say(time.Second)
	topic.failed = errDown
	for _, late := range []time.Duration{0, time.Second} {
		now := start.Add(time.Second + DefaultProtect + late)
		topic.last = topic.snapshot(now)
		if got := ids(topic.last); got != "[a b]" {
			t.Errorf("%v after the time of doubt the instances are %s, want [a b]", late, got)
		}
		if wait := topic.next(now); wait < time.Second {
			t.Errorf("%v after the time of doubt it looks again in %v", late, wait)
		}
	}
}

func expect(t *testing.T, e *listener, want string) {
	t.Helper()
	if got := ids(e.last()); got != want {
		t.Errorf("the instances are %s, want %s", got, want)
	}
}

func TestCache(t *testing.T) {
	dir := t.TempDir()
	run := func(t *testing.T, f func(t *testing.T, d *scripted, e *listener)) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			e := &listener{}
			d.set(true)
			r := open(t, d, &Config{CacheDir: dir})
			stop := r.Watch("Arith", e.take)
			defer stop()
			f(t, d, e)
		})
	}
	run(t, func(t *testing.T, d *scripted, e *listener) {
		time.Sleep(time.Second)
		if s := e.last(); s == nil || len(s.Instances) != 0 || s.Err == nil {
			t.Fatalf("without cache and registry the snapshot is %+v", s)
		}
		d.set(false)
		d.list("Arith", 5, "a", "b", "c")
		time.Sleep(5 * time.Second)
		expect(t, e, "[a b c]")
	})

	t.Run("a start without the registry", func(t *testing.T) {
		run(t, func(t *testing.T, d *scripted, e *listener) {
			time.Sleep(100 * time.Millisecond)
			expect(t, e, "[a b c]")
			if s := e.last(); s.Source != "cache of scripted" || s.Err == nil {
				t.Errorf("the snapshot is from %q with error %v", s.Source, s.Err)
			}
			// A registry that was away may have most of it still to come.
			d.set(false)
			d.list("Arith", 1, "x")
			time.Sleep(5 * time.Second)
			expect(t, e, "[a b c x]")
			time.Sleep(DefaultProtect)
			expect(t, e, "[x]")
			d.list("Arith", 2, "a", "b", "c", "x")
			time.Sleep(5 * time.Second)
		})
	})

	t.Run("an empty registry", func(t *testing.T) {
		run(t, func(t *testing.T, d *scripted, e *listener) {
			d.set(false)
			d.list("Arith", 1)
			time.Sleep(5 * time.Second)
			expect(t, e, "[a b c x]")
			time.Sleep(DefaultProtect)
			expect(t, e, "[]")
		})
	})

	t.Run("an old file", func(t *testing.T) {
		c := (&Registry{name: "scripted", cfg: Config{CacheDir: dir}}).cache()
		if err := c.saveList("Arith", []weft.Instance{instance("Arith", "a"), instance("Arith", "b")}, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		run(t, func(t *testing.T, d *scripted, e *listener) {
			time.Sleep(100 * time.Millisecond)
			expect(t, e, "[a b]")
			// What the registry says is better than what was on the disk for so long.
			d.set(false)
			d.list("Arith", 1, "x")
			time.Sleep(5 * time.Second)
			expect(t, e, "[x]")
		})
	})

	t.Run("a damaged file", func(t *testing.T) {
		path := filepath.Join(dir, "scripted", "instances", "Arith.json")
		if err := os.WriteFile(path, []byte(`{"instances":[{"service"`), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, func(t *testing.T, _ *scripted, e *listener) {
			time.Sleep(time.Second)
			expect(t, e, "[]")
		})
	})

	t.Run("an odd name", func(t *testing.T) {
		c := cache(filepath.Join(dir, fileName(strings.Repeat("ä registry", 100))))
		long := strings.Repeat("x/", 200)
		for _, name := range []string{"..", ".", "", "a/b", "ä b", `c:\d`, long, long + "y"} {
			if err := c.saveDocument(name, Document{Value: []byte(name), Version: 1}); err != nil {
				t.Fatalf("%q: %v", name, err)
			}
			d, err := c.loadDocument(name)
			if err != nil || string(d.Value) != name {
				t.Errorf("%q comes back as %q, %v", name, d.Value, err)
			}
		}
		if d, err := c.loadDocument(long); err != nil || string(d.Value) != long {
			t.Errorf("a long name comes back as %q, %v, after one that begins like it was saved", d.Value, err)
		}
	})

	t.Run("of another service", func(t *testing.T) {
		c := cache(t.TempDir())
		if err := c.saveList("Arith", []weft.Instance{instance("Arith", "a"), instance("Other", "b")}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if list, _, err := c.loadList("Arith"); err == nil || !strings.Contains(err.Error(), "not of Arith") {
			t.Errorf("loadList gives %v, %v, want an error", list, err)
		}
	})

	t.Run("not a regular file", func(t *testing.T) {
		c := cache(t.TempDir())
		if err := os.MkdirAll(filepath.Join(string(c), "instances", "Arith.json"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.loadList("Arith"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("loadList gives %v, want that it is not a regular file", err)
		}
	})
}

// TestSave: a disk holds no client up, and is not written at the pace of a deployment.
func TestSave(t *testing.T) {
	t.Run("a change", func(t *testing.T) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			d.list("Arith", 1, "a")
			r := open(t, d, &Config{CacheDir: dir})
			onDisk := func() string {
				list, _, err := r.cache().loadList("Arith")
				if err != nil {
					t.Error(err)
				}
				return ids(&Snapshot{Instances: list})
			}
			var before []string // what was on the disk when a client was told
			stop := r.Watch("Arith", func(*Snapshot) { before = append(before, onDisk()) })
			defer stop()
			saved := func(want string) {
				t.Helper()
				synctest.Wait()
				if got := onDisk(); got != want {
					t.Errorf("after %d snapshots %s are on the disk, want %s", len(before), got, want)
				}
			}
			time.Sleep(200 * time.Millisecond)
			saved("[a]")
			d.list("Arith", 2, "a", "b")
			time.Sleep(time.Second)
			d.list("Arith", 3, "a", "b", "c")
			time.Sleep(time.Second)
			saved("[a]")
			time.Sleep(saveChanges)
			saved("[a b c]")
			time.Sleep(saveChanges)
			d.list("Arith", 4, "a", "b", "c", "d")
			time.Sleep(time.Second)
			saved("[a b c d]")
			// What comes first is written while the client is told.
			if want := "[a]|[a]|[a b c]"; before[0] != "[]" && before[0] != "[a]" || strings.Join(before[1:], "|") != want {
				t.Errorf("when a client was told there was on the disk %v, want [] or [a], then %s", before, want)
			}
		})
	})

	t.Run("looked for once", func(t *testing.T) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			d.set(true)
			r := open(t, d, &Config{CacheDir: dir})
			e := &listener{}
			stop := r.Watch("Arith", e.take)
			defer stop()
			time.Sleep(time.Second)
			if err := r.cache().saveList("Arith", []weft.Instance{instance("Arith", "a")}, time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			expect(t, e, "[]")
		})
	})
}

// TestMerge: of an instance that several registries have, the best known one counts.
func TestMerge(t *testing.T) {
	part := func(version string, err error, kept bool, ids ...string) *Snapshot {
		s := &Snapshot{Service: "Arith", Err: err}
		for _, id := range ids {
			i := instance("Arith", id)
			i.Version = version
			s.Instances = append(s.Instances, i)
			if kept {
				s.Kept = append(s.Kept, id)
			}
		}
		return s
	}
	tests := []struct {
		name  string
		parts []*Snapshot
		want  string
	}{
		{"the first of two", []*Snapshot{part("1", nil, false, "a"), part("2", nil, false, "a")}, "a1 kept []"},
		{"one is away", []*Snapshot{part("1", errDown, false, "a"), part("2", nil, false, "a")}, "a2 kept []"},
		{"one keeps it", []*Snapshot{part("1", nil, true, "a"), part("2", nil, false, "a")}, "a2 kept []"},
		{"one keeps it, one is away", []*Snapshot{part("1", nil, true, "a"), part("2", errDown, false, "a")}, "a2 kept []"},
		{"all three", []*Snapshot{part("1", nil, true, "a"), part("2", errDown, false, "a"), part("3", nil, false, "a")}, "a3 kept []"},
		{"all keep it", []*Snapshot{nil, part("1", errDown, true, "a"), part("2", nil, true, "a", "b")}, "a1 b2 kept [a b]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := merge("Arith", tt.parts)
			got := ""
			for _, i := range s.Instances {
				got += i.ID + i.Version + " "
			}
			if got += fmt.Sprint("kept ", s.Kept); got != tt.want {
				t.Errorf("merged they are %s, want %s", got, tt.want)
			}
		})
	}
}

func TestDocuments(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := newScripted()
		r := open(t, d, &Config{CacheDir: dir})
		var got []string
		stop := r.WatchDocument("rules/Arith", func(doc Document, err error) error {
			got = append(got, fmt.Sprintf("%s %d %v", doc.Value, doc.Version, err))
			return nil
		})
		synctest.Wait()
		if err := r.Store(t.Context(), "rules/Arith", []byte("one"), 0); err != nil {
			t.Fatal(err)
		}
		if err := r.Store(t.Context(), "rules/Arith", []byte("two"), 0); !errors.Is(err, ErrConflict) {
			t.Errorf("a second store of version 0 gives %v, want ErrConflict", err)
		}
		time.Sleep(time.Second)
		d.set(true)
		time.Sleep(time.Minute)
		d.set(false)
		time.Sleep(5 * time.Second)
		stop()
		want := " 0 <nil>|one 1 <nil>|one 1 the registry is down|one 1 <nil>"
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("the watch was told\n%s, want\n%s", s, want)
		}
		if err := r.Store(t.Context(), "rules/Arith", make([]byte, MaxDocument+1), 1); err == nil || !strings.Contains(err.Error(), "at most") {
			t.Errorf("a document that is too long gives %v", err)
		}
	})

	t.Run("a start without the registry", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			d.set(true)
			r := open(t, d, &Config{CacheDir: dir})
			told := make(chan string, 1)
			stop := r.WatchDocument("rules/Arith", func(doc Document, err error) error {
				told <- fmt.Sprintf("%s %v", doc.Value, err)
				return nil
			})
			defer stop()
			if got := <-told; got != "one the registry is down" {
				t.Errorf("the watch was told %q, want the cached document", got)
			}
		})
	})

	t.Run("no files for names without a document", func(t *testing.T) {
		dir := t.TempDir()
		files := func(want int) {
			t.Helper()
			synctest.Wait()
			if found, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*")); len(found) != want {
				t.Errorf("the cache has %d files, want %d", len(found), want)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			r := open(t, d, &Config{CacheDir: dir, Protect: -1})
			for i := range 50 {
				stop := r.WatchDocument(fmt.Sprint("rules/", i), func(Document, error) error { return nil })
				defer stop()
			}
			files(0)
			if err := r.Store(t.Context(), "rules/7", []byte("x"), 0); err != nil {
				t.Fatal(err)
			}
			files(1)
			d.lose()
			files(0)
		})
	})

	t.Run("no documents", func(t *testing.T) {
		r := open(t, struct{ Driver }{newScripted()}, nil)
		if _, err := r.Load(t.Context(), "x"); !errors.Is(err, ErrNoDocuments) {
			t.Errorf("Load gives %v, want ErrNoDocuments", err)
		}
	})
}

func TestJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		older, newer := newScripted(), newScripted()
		j := Join(open(t, older, nil), open(t, newer, nil))
		if _, err := j.Register(instance("Arith", "me")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, d := range []*scripted{older, newer} {
			if log := d.said(); len(log) != 1 || log[0] != "put me" {
				t.Errorf("a registry was asked %v, want a put", log)
			}
		}
		older.list("Arith", 1, "a", "b")
		newer.list("Arith", 1, "b", "c")
		e := &listener{}
		stop := j.Watch("Arith", e.take)
		defer stop()
		time.Sleep(time.Second)
		expect(t, e, "[a b c]")
		older.set(true)
		time.Sleep(time.Minute)
		expect(t, e, "[a b c]")
		if s := e.last(); s.Err == nil || s.Age() < 50*time.Second {
			t.Errorf("with one of two registries away the snapshot says %v, %v old", s.Err, s.Age())
		}
		newer.list("Arith", 2, "b", "c", "d")
		time.Sleep(time.Second)
		expect(t, e, "[a b c d]")
	})
}

// TestDocumentGone: a registry that has lost its data does not take the rules from
// clients at once.
func TestDocumentGone(t *testing.T) {
	dir := t.TempDir()
	run := func(t *testing.T, f func(d *scripted, told func() string)) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			d.documents["rules/Arith"] = Document{[]byte("good"), 7}
			r := open(t, d, &Config{CacheDir: dir})
			var mu sync.Mutex
			var last string
			stop := r.WatchDocument("rules/Arith", func(doc Document, err error) error {
				mu.Lock()
				defer mu.Unlock()
				last = fmt.Sprintf("%s %v", doc.Value, err != nil)
				return nil
			})
			defer stop()
			f(d, func() string {
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				return last
			})
		})
	}
	check := func(t *testing.T, what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: the document is %q, want %q", what, got, want)
		}
	}
	run(t, func(d *scripted, told func() string) {
		check(t, "at first", told(), "good false")
		d.lose()
		check(t, "lost", told(), "good true")
		time.Sleep(DefaultProtect - time.Second)
		check(t, "just before it is accepted", told(), "good true")
		if err := d.Store(t.Context(), "rules/Arith", []byte("again"), 0); err != nil {
			t.Fatal(err)
		}
		check(t, "back", told(), "again false")
		time.Sleep(DefaultProtect)
		check(t, "a while later", told(), "again false")
	})
	run(t, func(d *scripted, told func() string) {
		check(t, "at first", told(), "good false")
		d.set(true)
		check(t, "away", told(), "good true")
		d.lose()
		time.Sleep(time.Hour)
		check(t, "away for an hour", told(), "good true")
		d.set(false)
		time.Sleep(10 * time.Second)
		check(t, "lost when it is back", told(), "good true")
		time.Sleep(DefaultProtect)
		check(t, "accepted", told(), " false")
	})
	run(t, func(d *scripted, told func() string) {
		check(t, "at first", told(), "good false")
		d.lose()
		check(t, "lost", told(), "good true")
	}) // the watch ends, and its timer with it
}

// onDisk puts a document into the cache of a registry.
func onDisk(t *testing.T, dir string, d Document) {
	t.Helper()
	if err := (&Registry{name: "scripted", cfg: Config{CacheDir: dir}}).cache().saveDocument("rules/Arith", d); err != nil {
		t.Fatal(err)
	}
}

// fussy is the function of a watch that cannot use what begins with "bad", and what it
// was told.
type fussy struct {
	mu  sync.Mutex
	all []string
}

func (f *fussy) use(d Document, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := fmt.Sprintf("%s%d", d.Value, d.Version)
	switch {
	case errors.Is(err, ErrUnusable):
		line += " unusable"
	case errors.Is(err, errDown):
		line += " down"
	case err != nil:
		line += " gone"
	}
	f.all = append(f.all, line)
	if bytes.HasPrefix(d.Value, []byte("bad")) {
		return errors.New("it is bad")
	}
	return nil
}

func (f *fussy) told() string {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.all, ", ")
}

// TestDiskIsSecond: a document on the disk is for a registry that does not answer, and
// for one whose document cannot be used.
func TestDiskIsSecond(t *testing.T) {
	for _, test := range []struct {
		name string
		has  Document // in the registry
		disk Document
		do   func(d *scripted)
		want string
	}{
		{"the registry has none", Document{}, Document{[]byte("old"), 3}, func(*scripted) {}, "0"},
		{"it has none when it is back", Document{}, Document{[]byte("old"), 3}, func(d *scripted) {
			d.set(true)
			time.Sleep(time.Minute)
			d.set(false)
			time.Sleep(time.Minute)
		}, "0, 0 down, 0"},
		{"it goes away", Document{[]byte("new"), 4}, Document{[]byte("old"), 3}, func(d *scripted) { d.set(true) }, "new4, new4 down"},
		{"its document cannot be used", Document{[]byte("bad"), 4}, Document{[]byte("old"), 3}, func(*scripted) {}, "bad4, old3 unusable"},
		{"and is replaced", Document{[]byte("bad"), 4}, Document{[]byte("old"), 3}, func(d *scripted) {
			_ = d.Store(context.Background(), "rules/Arith", []byte("new"), 4)
		}, "bad4, old3 unusable, new5"},
		{"and the registry goes away and comes back", Document{[]byte("bad"), 4}, Document{[]byte("old"), 3}, func(d *scripted) {
			d.set(true)
			time.Sleep(time.Minute)
			d.set(false)
			time.Sleep(time.Minute)
		}, "bad4, old3 unusable, old3 down, bad4"},
		{"neither can be used", Document{[]byte("bad"), 4}, Document{[]byte("bad"), 3}, func(d *scripted) { d.set(true) }, "bad4, bad3 unusable, 0 unusable, 0 down"},
		{"nothing is on the disk", Document{[]byte("bad"), 4}, Document{}, func(d *scripted) { d.set(true) }, "bad4, 0 unusable, 0 down"},
		{"a good one becomes a bad one", Document{[]byte("good"), 4}, Document{[]byte("old"), 3}, func(d *scripted) {
			_ = d.Store(context.Background(), "rules/Arith", []byte("bad"), 4)
			time.Sleep(time.Second)
			d.set(true)
		}, "good4, bad5, good4 down"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			onDisk(t, dir, test.disk)
			synctest.Test(t, func(t *testing.T) {
				d := newScripted()
				d.documents["rules/Arith"] = test.has
				f := &fussy{}
				defer open(t, d, &Config{CacheDir: dir}).WatchDocument("rules/Arith", f.use)()
				synctest.Wait()
				test.do(d)
				if got := f.told(); got != test.want {
					t.Errorf("the watch was told %s, want %s", got, test.want)
				}
			})
		})
	}

	t.Run("at a start without the registry", func(t *testing.T) {
		dir := t.TempDir()
		onDisk(t, dir, Document{[]byte("old"), 3})
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			d.set(true)
			f := &fussy{}
			defer open(t, d, &Config{CacheDir: dir}).WatchDocument("rules/Arith", f.use)()
			synctest.Wait()
			d.set(false)
			time.Sleep(10 * time.Second)
			if got := f.told(); got != "old3 down, 0" {
				t.Errorf("the watch was told %s, want the document of the disk until the registry says that there is none", got)
			}
		})
	})

	t.Run("what cannot be used is not kept", func(t *testing.T) {
		dir := t.TempDir()
		for range 2 {
			synctest.Test(t, func(t *testing.T) {
				d := newScripted()
				d.documents["rules/Arith"] = Document{[]byte("good"), 4}
				stop := open(t, d, &Config{CacheDir: dir}).WatchDocument("rules/Arith", (&fussy{}).use)
				synctest.Wait()
				_ = d.Store(t.Context(), "rules/Arith", []byte("bad"), 4)
				synctest.Wait()
				stop()
				f := &fussy{}
				defer open(t, d, &Config{CacheDir: dir}).WatchDocument("rules/Arith", f.use)()
				if got := f.told(); got != "bad5, good4 unusable" {
					t.Errorf("a client that starts with broken rules in the registry was told %s", got)
				}
			})
		}
	})
}
