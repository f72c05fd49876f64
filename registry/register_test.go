package registry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

func TestRegister(t *testing.T) {
	t.Run("kept alive", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			r := open(t, d, nil)
			if _, err := r.Register(instance("Arith", "a")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * DefaultTTL)
			log := d.said()
			if log[0] != "put a" || slices.Contains(log[1:], "put a") {
				t.Errorf("the registry was asked %v, want one put and then refreshes", log)
			}
			if n := len(log) - 1; n < 8 || n > 13 {
				t.Errorf("%d refreshes in three times the TTL, want about nine", n)
			}
		})
	})

	t.Run("the registry starts later", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			d.set(true)
			r := open(t, d, nil)
			if _, err := r.Register(instance("Arith", "a")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if n := d.tried(); n < 15 || n > 60 {
				t.Errorf("%d attempts in a minute without a registry, want a few", n)
			}
			d.set(false)
			time.Sleep(3 * time.Second)
			if log := d.said(); len(log) == 0 || log[0] != "put a" {
				t.Errorf("three seconds after the registry came it was asked %v", log)
			}
		})
	})

	t.Run("lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			r := open(t, d, nil)
			if _, err := r.Register(instance("Arith", "a")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			d.wipe()
			time.Sleep(DefaultTTL / 2)
			d.mu.Lock()
			_, there := d.has["Arith a"]
			d.mu.Unlock()
			if !there {
				t.Errorf("half a TTL after the registry lost its data it was asked %v, and the instance is not there", d.said())
			}
		})
	})

	t.Run("updates while the registry comes and goes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			r := open(t, d, nil)
			g, err := r.Register(instance("Arith", "a"))
			if err != nil {
				t.Fatal(err)
			}
			i := instance("Arith", "a")
			for n := range 1000 {
				d.set(n%10 < 5)
				if n%100 == 99 {
					d.wipe()
				}
				i.Weight = n + 1
				if err := g.Update(i); err != nil {
					t.Fatal(err)
				}
				time.Sleep(DefaultTTL / 50)
			}
			d.set(false)
			time.Sleep(DefaultTTL)
			d.mu.Lock()
			defer d.mu.Unlock()
			if got := d.has["Arith a"].Weight; got != 1000 {
				t.Errorf("after all updates the registry has one with weight %d", got)
			}
		})
	})

	t.Run("update", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			r := open(t, d, nil)
			g, err := r.Register(instance("Arith", "a"))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			changed := instance("Arith", "a")
			changed.State = weft.Draining
			if err := g.Update(changed); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			d.mu.Lock()
			if d.has["Arith a"].State != weft.Draining {
				t.Errorf("after the update the registry was asked %v", d.log)
			}
			d.mu.Unlock()
			if err := g.Update(instance("Arith", "b")); !errors.Is(err, weft.InvalidArgument) || !strings.Contains(err.Error(), `cannot make it "b"`) {
				t.Errorf("an update to another ID gives %v", err)
			}
		})
	})

	t.Run("closed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			r := open(t, d, nil)
			g, err := r.Register(instance("Arith", "a"))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if _, err := r.Register(instance("Arith", "a")); !errors.Is(err, weft.AlreadyExists) {
				t.Errorf("the same instance is registered twice: %v, want AlreadyExists", err)
			}
			for range 2 {
				if err := g.Close(context.Background()); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
			if log := d.said(); !slices.Equal(log, []string{"put a", "delete a"}) {
				t.Errorf("the registry was asked %v, want a put and a delete", log)
			}
			if _, err := r.Register(instance("Arith", "a")); err != nil {
				t.Errorf("register again after Close: %v", err)
			}
		})
	})

	t.Run("closed while the registry is away", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			r := open(t, d, nil)
			g, err := r.Register(instance("Arith", "a"))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			d.set(true)
			if err := g.Close(context.Background()); err == nil || !strings.Contains(err.Error(), "expires after") {
				t.Errorf("Close says %v, want that the instance expires", err)
			}
		})
	})

	t.Run("closed while the registry is slow", func(t *testing.T) {
		for _, test := range []struct {
			takes     time.Duration
			withdrawn bool
		}{{DefaultTTL - 1, true}, {DefaultTTL + 1, false}} {
			synctest.Test(t, func(t *testing.T) {
				d := newScripted()
				g, err := open(t, slow{d, test.takes}, nil).Register(instance("Arith", "a"))
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if err := g.Close(context.Background()); (err == nil) != test.withdrawn {
					t.Errorf("Close says %v of a registry that takes %v, though an instance lives for %v", err, test.takes, DefaultTTL)
				}
			})
		}
	})

	t.Run("closed while it is published", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			g, err := open(t, remote{d, finishTime - 1}, nil).Register(instance("Arith", "a"))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := g.Close(context.Background()); err != nil {
				t.Errorf("Close: %v", err)
			}
			time.Sleep(2 * finishTime)
			if log := d.said(); !slices.Equal(log, []string{"put a", "delete a"}) {
				t.Errorf("the registry has done %v, want a put and then a delete", log)
			}
		})
	})

	t.Run("closed with little time while it is published", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			g, err := open(t, remote{d, time.Hour}, nil).Register(instance("Arith", "a"))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), finishTime)
			defer cancel()
			if err := g.Close(ctx); err != nil {
				t.Errorf("Close: %v", err)
			}
			if log := d.said(); !slices.Equal(log, []string{"delete a"}) {
				t.Errorf("the registry has done %v, want a delete", log)
			}
			time.Sleep(time.Hour)
		})
	})

	t.Run("closed while the registry is silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := newScripted()
			g, err := open(t, remote{d, time.Hour}, nil).Register(instance("Arith", "a"))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for _, test := range []struct{ limit, want time.Duration }{{finishTime / 2, finishTime / 4}, {time.Hour, 0}} {
				ctx, cancel := context.WithTimeout(t.Context(), test.limit)
				began := time.Now()
				_ = g.Close(ctx) // how long it takes counts
				if took := time.Since(began); took != test.want {
					t.Errorf("Close took %v, want %v", took, test.want)
				}
				cancel()
			}
		})
	})

	t.Run("of no use", func(t *testing.T) {
		r := open(t, newScripted(), nil)
		for _, tt := range []struct {
			name string
			edit func(*weft.Instance)
			want string
		}{
			{"no service", func(i *weft.Instance) { i.Service = "" }, "needs a name"},
			{"no address", func(i *weft.Instance) { i.Address = "" }, "address"},
			{"no scheme", func(i *weft.Instance) { i.Address = "127.0.0.1:1" }, "address"},
			{"no ID", func(i *weft.Instance) { i.ID = "" }, "no ID"},
			{"a long zone", func(i *weft.Instance) { i.Zone = strings.Repeat("z", 256) }, "zone"},
			{"a line break", func(i *weft.Instance) { i.Version = "1\n2" }, "version"},
			{"off the Earth", func(i *weft.Instance) { i.Position = &weft.Position{Latitude: 91} }, "Earth"},
			{"a great weight", func(i *weft.Instance) { i.Weight = 1 << 30 }, "weight"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				i := instance("Arith", "a")
				tt.edit(&i)
				if _, err := r.Register(i); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Register: %v, want an error about %q", err, tt.want)
				}
			})
		}
	})
}

// TestPace: a registry that fails is asked at a bounded pace, and yet many registrations
// are back within a TTL.
// Without a logger the warnings go to slog.Default.
func TestDefaultLogger(t *testing.T) {
	var mu sync.Mutex
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return out.Write(p)
	}), nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		d := newScripted()
		d.set(true)
		r, err := New("scripted", d, &Config{NoCache: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Register(instance("Arith", "a")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		d.set(false)
		time.Sleep(DefaultTTL)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	mu.Lock()
	defer mu.Unlock()
	if got := out.String(); !strings.Contains(got, "registration failed") || strings.Contains(got, "registered again") {
		t.Errorf("the log has %q, want the warning and nothing below", got)
	}
}

// writer is a function that is an io.Writer.
type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestPace(t *testing.T) {
	tests := []struct {
		name          string
		registrations int
		most          int // attempts in ten seconds
	}{
		{"ten a second", 30, 110},
		{"as many as when all is well", 150, 460},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newScripted()
				d.set(true)
				r := open(t, d, nil)
				for i := range tt.registrations {
					if _, err := r.Register(instance("Arith", strconv.Itoa(i))); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Second)
				before := d.tried()
				time.Sleep(10 * time.Second)
				if n := d.tried() - before; n > tt.most {
					t.Errorf("%d attempts in ten seconds, want at most %d", n, tt.most)
				}
				d.set(false)
				time.Sleep(DefaultTTL)
				d.mu.Lock()
				defer d.mu.Unlock()
				if n := len(d.has); n != tt.registrations {
					t.Errorf("a TTL after the outage %d of %d are registered", n, tt.registrations)
				}
			})
		})
	}
}

// TestPaceOfAttemptsThatWereGivenUp: attempts that never begin hold up no other one for long, however many they were.
func TestPaceOfAttemptsThatWereGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newScripted()
		d.set(true)
		r := open(t, d, nil)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		for range 10_000 {
			r.pauseWatch(gone, 1)
			r.pauseRegistration(gone, 1, nil)
		}
		began := time.Now()
		r.pauseWatch(t.Context(), 1)
		r.pauseRegistration(t.Context(), 1, nil)
		if took := time.Since(began); took > 2*(DefaultTTL+mostPause) {
			t.Errorf("two attempts waited %v for those that were given up", took)
		}
	})
}

// family is a context that counts the children which have not been cancelled.
type family struct {
	context.Context
	children *atomic.Int64
}

// Value hides what the parent is, so that package context asks AfterFunc.
func (family) Value(any) any { return nil }

func (f family) AfterFunc(end func()) (stop func() bool) {
	f.children.Add(1)
	forget := context.AfterFunc(f.Context, end)
	return func() bool {
		f.children.Add(-1)
		return forget()
	}
}

// TestRegisterRefused: a registration that is refused leaves nothing behind.
func TestRegisterRefused(t *testing.T) {
	r := open(t, newScripted(), nil)
	var children atomic.Int64
	r.life = family{r.life, &children}
	g, err := r.Register(instance("Arith", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if n := children.Load(); n != 1 {
		t.Fatalf("one registration has %d contexts, want one", n)
	}
	if _, err := r.Register(instance("Arith", "a")); err == nil {
		t.Error("the same instance can be registered twice")
	}
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Register(instance("Arith", "b")); err == nil {
		t.Error("a closed registry takes an instance")
	}
	if n := children.Load(); n != 0 {
		t.Errorf("%d contexts are left", n)
	}
}

// TestUpdateRefused: an update that the registry refuses leaves the registration.
func TestUpdateRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newScripted()
		r := open(t, d, nil)
		g, err := r.Register(instance("Arith", "a"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		d.mu.Lock()
		d.refuse = errors.New("too long")
		d.mu.Unlock()
		more := instance("Arith", "a")
		more.Version = "2"
		if err := g.Update(more); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		before := d.refreshed()
		time.Sleep(DefaultTTL)
		if n := d.refreshed() - before; n < 3 {
			t.Errorf("while an update was refused the instance was refreshed %d times in a TTL", n)
		}
		d.mu.Lock()
		d.refuse = nil
		d.mu.Unlock()
		time.Sleep(5 * time.Second)
		d.mu.Lock()
		defer d.mu.Unlock()
		if got := d.has["Arith a"]; got.Version != "2" {
			t.Errorf("the registry has %+v", got)
		}
	})
}

// TestWatchesDoNotStarve: a server that watches many services comes back in time.
func TestWatchesDoNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newScripted()
		r := open(t, d, nil)
		for i := range 200 {
			defer r.Watch("Service"+strconv.Itoa(i), func(*Snapshot) {})()
		}
		if _, err := r.Register(instance("Arith", "a")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		d.set(true)
		time.Sleep(20 * time.Second)
		d.wipe()
		d.set(false)
		time.Sleep(4 * time.Second)
		d.mu.Lock()
		if len(d.has) != 1 {
			t.Error("four seconds after the outage the server is not registered")
		}
		d.mu.Unlock()
		time.Sleep(4 * time.Second)
		d.mu.Lock()
		defer d.mu.Unlock()
		if n := len(d.feeds); n != 200 {
			t.Errorf("after it %d of 200 services are watched", n)
		}
	})
}

// remote is a driver whose registry does what it was asked to do after a while, also if
// that is no longer waited for.
type remote struct {
	*scripted
	takes time.Duration
}

func (d remote) Put(ctx context.Context, i weft.Instance, ttl time.Duration) error {
	done := make(chan error, 1)
	time.AfterFunc(d.takes, func() { done <- d.scripted.Put(ctx, i, ttl) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// slow is a driver that takes its time for a Delete.
type slow struct {
	*scripted
	takes time.Duration
}

func (d slow) Delete(ctx context.Context, i weft.Instance) error {
	select {
	case <-time.After(d.takes):
		return d.scripted.Delete(ctx, i)
	case <-ctx.Done():
		return ctx.Err()
	}
}
