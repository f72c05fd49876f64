package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// recorded returns a logger, and what gives the text that was logged.
func recorded() (log *slog.Logger, logged func() string) {
	var mu sync.Mutex
	var out bytes.Buffer
	log = slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return out.Write(p)
	}), nil))
	return log, func() string {
		mu.Lock()
		defer mu.Unlock()
		return out.String()
	}
}

// A cache that cannot be written is told of once a minute, whatever the number of services.
func TestLogOfCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		log, logged := recorded()
		d := newScripted()
		r := open(t, d, &Config{CacheDir: file, Logger: log})
		for n := range 20 {
			service := fmt.Sprint("Arith", n)
			d.list(service, 1, "a", "b")
			defer r.Watch(service, func(*Snapshot) {})()
		}
		time.Sleep(time.Minute)
		if text := logged(); strings.Count(text, `level=WARN msg="the list cannot be cached" registry=scripted service=Arith`) != 1 || !strings.Contains(text, file) {
			t.Errorf("want one line with the path of the cache:\n%s", text)
		}
		time.Sleep(saveEvery)
		if text := logged(); strings.Count(text, "cannot be cached") != 2 {
			t.Errorf("want one line more after %v:\n%s", saveEvery, text)
		}
	})
}

// An outage is told of when it begins and when it ends, with the age of the list, and of many services in some lines.
func TestLogOfOutages(t *testing.T) {
	for _, services := range []int{1, 100} {
		t.Run(fmt.Sprint(services), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, logged := recorded()
				d := newScripted()
				r := open(t, d, &Config{NoCache: true, Logger: log})
				for n := range services {
					service := fmt.Sprint("Arith", n)
					d.list(service, 1, "a", "b")
					defer r.Watch(service, func(*Snapshot) {})()
				}
				time.Sleep(time.Minute)
				d.set(true)
				time.Sleep(10 * time.Minute)
				d.set(false)
				time.Sleep(time.Minute)
				text := logged()
				lost, back := strings.Count(text, "the registry does not answer"), strings.Count(text, "the registry is back")
				wantLost := `level=WARN msg="the registry does not answer; the last good list stays" registry=scripted service=Arith0 age=1m0s error=`
				switch {
				case services == 1 && (lost != 1 || back != 1 || !strings.Contains(text, wantLost) ||
					!strings.Contains(text, `level=INFO msg="the registry is back" registry=scripted service=Arith0 instances=2 age=11m`)):
					t.Errorf("%d and %d lines:\n%s", lost, back, text)
				case services > 1 && (lost < 6 || lost > 20 || back < 6 || back > 80 || !strings.Contains(text, `msg="the registry does not answer: more watches" registry=scripted times=`)):
					t.Errorf("%d and %d lines:\n%s", lost, back, text)
				}
			})
		})
	}
}

// A registration that fails, that the registry loses, and that is there again, and a list that is not believed, are told of once.
func TestLogOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logged := recorded()
		d := newScripted()
		r := open(t, d, &Config{NoCache: true, Logger: log})
		_, err := r.Register(instance("Arith", "a"))
		if err != nil {
			t.Fatal(err)
		}
		d.list("Arith", 1, "a", "b", "c", "d")
		defer r.Watch("Arith", func(*Snapshot) {})()
		time.Sleep(time.Minute)
		d.wipe()
		d.list("Arith", 2, "a")
		time.Sleep(time.Minute)
		d.set(true)
		time.Sleep(5 * time.Minute)
		d.set(false)
		time.Sleep(time.Minute)
		for _, line := range []string{
			`level=WARN msg="registration lost, registering again" registry=scripted service=Arith id=a`,
			`level=WARN msg="registration failed, trying again" registry=scripted service=Arith id=a error=`,
			`level=INFO msg="registered again" registry=scripted service=Arith id=a failures=`,
			`level=WARN msg="the list of the registry is not accepted yet" registry=scripted service=Arith why="more than half of its instances are missing" has=1 used=4 for=30s`,
			`level=INFO msg="the list of the registry is accepted again" registry=scripted service=Arith has=1`,
		} {
			if n := strings.Count(logged(), line); n != 1 {
				t.Errorf("%d times: %s", n, line)
			}
		}
		if t.Failed() {
			t.Log(logged())
		}
	})
}

// refusing is a registry that takes no instance.
type refusing struct {
	*scripted
	why func() error
}

func (d refusing) Put(context.Context, weft.Instance, time.Duration) error { return d.why() }

// A registration that fails for another reason than before is told of again, once a minute at most.
func TestLogOfReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logged := recorded()
		began := time.Now()
		r := open(t, refusing{newScripted(), func() error {
			switch since := time.Since(began); {
			case since < 10*time.Minute:
				return errors.New("it is down")
			case since < 20*time.Minute:
				return errors.New("the password is wrong")
			default:
				return fmt.Errorf("it was down at %v", since)
			}
		}}, &Config{NoCache: true, Logger: log})
		if _, err := r.Register(instance("Arith", "a")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30*time.Minute - time.Second)
		for text, most := range map[string]int{`error="it is down" failures=1`: 1, `error="the password is wrong"`: 1, `error="it was down`: 10} {
			if n := strings.Count(logged(), text); n == 0 || n > most {
				t.Errorf("%d times %s, want once to %d times:\n%s", n, text, most, logged())
			}
		}
		if n := strings.Count(logged(), "it is down"); n != 1 {
			t.Errorf("the first reason was told %d times, want once", n)
		}
	})
}

// An outage is told of when it begins and when it ends for a document too.
func TestLogOfDocumentOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logged := recorded()
		d := newScripted()
		r := open(t, d, &Config{NoCache: true, Logger: log})
		if err := d.Store(t.Context(), "rules/Arith", []byte("one"), 0); err != nil {
			t.Fatal(err)
		}
		defer r.WatchDocument("rules/Arith", func(Document, error) error { return nil })()
		time.Sleep(time.Minute)
		d.set(true)
		time.Sleep(10 * time.Minute)
		d.set(false)
		time.Sleep(time.Minute)
		for _, line := range []string{
			`level=WARN msg="the registry does not answer; the last good document stays" registry=scripted document=rules/Arith error=`,
			`level=INFO msg="the registry is back" registry=scripted document=rules/Arith registry_revision=1`,
		} {
			if n := strings.Count(logged(), line); n != 1 {
				t.Errorf("%d times: %s\n%s", n, line, logged())
			}
		}
	})
}

// TestLogOfAbsence: of a registry that is away when a client starts the log says whether there is a list, and it says when it is back.
func TestLogOfAbsence(t *testing.T) {
	for _, cached := range []bool{false, true} {
		t.Run(fmt.Sprint(cached), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, logged := recorded()
				cfg := &Config{NoCache: !cached, CacheDir: t.TempDir(), Logger: log}
				d := newScripted()
				d.list("Arith", 1, "a", "b")
				if err := d.Store(t.Context(), "rules/Arith", []byte("one"), 0); err != nil {
					t.Fatal(err)
				}
				watch := func(r *Registry) (stop func()) {
					list, document := r.Watch("Arith", func(*Snapshot) {}), r.WatchDocument("rules/Arith", func(Document, error) error { return nil })
					return func() { list(); document() }
				}
				if cached {
					r := open(t, d, cfg)
					stop := watch(r)
					time.Sleep(time.Minute)
					stop()
					r.Close()
				}
				d.set(true)
				defer watch(open(t, d, cfg))()
				time.Sleep(time.Minute)
				d.set(false)
				time.Sleep(time.Minute)
				stays, none := 0, 1
				if cached {
					stays, none = 1, 0
				}
				for line, want := range map[string]int{
					`level=WARN msg="the registry does not answer, and no list is known" registry=scripted service=Arith error=`:                none,
					`level=WARN msg="the registry does not answer, and no document is known" registry=scripted document=rules/Arith error=`:     none,
					`level=WARN msg="the registry does not answer; the last good list stays" registry=scripted service=Arith age=`:              stays,
					`level=WARN msg="the registry does not answer; the last good document stays" registry=scripted document=rules/Arith error=`: stays,
					`level=INFO msg="the registry is back" registry=scripted service=Arith`:                                                     1,
				} {
					if n := strings.Count(logged(), line); n != want {
						t.Errorf("%d times, want %d: %s\n%s", n, want, line, logged())
					}
				}
			})
		})
	}
}

// forgetful takes every instance, and has lost it when it is to be refreshed.
type forgetful struct{ *scripted }

func (forgetful) Refresh(context.Context, weft.Instance, time.Duration) error { return ErrLost }

// TestLogOfWhatIsLostAgain: a registration that is lost again and again is in the log once a minute, and a driver whose Put ends with ErrLost is
// asked with growing pauses.
func TestLogOfWhatIsLostAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		driver func(puts *atomic.Int32) Driver
		text   string
		least  int32 // attempts in five minutes
		most   int32
	}{
		{"by Refresh", func(puts *atomic.Int32) Driver {
			return counted{forgetful{newScripted()}, puts}
		}, "registration lost", 40, 100},
		{"by Put", func(puts *atomic.Int32) Driver {
			return counted{refusing{newScripted(), func() error { return ErrLost }}, puts}
		}, "registration failed", 100, 160},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, logged := recorded()
				var puts atomic.Int32
				r := open(t, c.driver(&puts), &Config{Logger: log})
				if _, err := r.Register(instance("Arith", "1")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5*time.Minute - time.Second)
				if n := strings.Count(logged(), c.text); n < 1 || n > 5 {
					t.Errorf("%d records in five minutes, want 5 at most:\n%s", n, logged())
				}
				if n := puts.Load(); n < c.least || n > c.most {
					t.Errorf("the registry was asked %d times in five minutes, want %d to %d", n, c.least, c.most)
				}
			})
		})
	}
}

// counted counts how often an instance is put.
type counted struct {
	Driver
	puts *atomic.Int32
}

func (d counted) Put(ctx context.Context, i weft.Instance, ttl time.Duration) error {
	d.puts.Add(1)
	return d.Driver.Put(ctx, i, ttl)
}

// TestErrorsHaveCodes: what a registry itself refuses says why by a code.
func TestErrorsHaveCodes(t *testing.T) {
	r, err := New("scripted", newScripted(), &Config{NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	_, closed := r.Register(instance("Arith", "a"))
	_, short := New("scripted", newScripted(), &Config{TTL: time.Millisecond})
	for want, errs := range map[weft.Code][]error{
		weft.FailedPrecondition: {closed},
		weft.InvalidArgument:    {short, errTooLong("a", 1<<20)},
		weft.Aborted:            {ErrConflict, fmt.Errorf("stored: %w", ErrConflict)},
		weft.Unimplemented:      {ErrNoDocuments},
	} {
		for _, err := range errs {
			if weft.CodeOf(err) != want {
				t.Errorf("%v has the code %v, want %v", err, weft.CodeOf(err), want)
			}
		}
	}
}
