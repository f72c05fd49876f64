package registrytest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// faulty is a sound driver with promises that are broken.
type faulty struct {
	both
	put      func(ctx context.Context, i weft.Instance, ttl time.Duration) error
	refresh  func(ctx context.Context, i weft.Instance, ttl time.Duration) error
	delete   func(ctx context.Context, i weft.Instance) error
	watch    func(ctx context.Context, service string, emit func(registry.List)) error
	load     func(ctx context.Context, name string) (registry.Document, error)
	store    func(ctx context.Context, name string, value []byte, version uint64) error
	document func(ctx context.Context, name string, emit func(registry.Document)) error
}

func (f faulty) Put(ctx context.Context, i weft.Instance, ttl time.Duration) error {
	if f.put == nil {
		return f.both.Put(ctx, i, ttl)
	}
	return f.put(ctx, i, ttl)
}

func (f faulty) Refresh(ctx context.Context, i weft.Instance, ttl time.Duration) error {
	if f.refresh == nil {
		return f.both.Refresh(ctx, i, ttl)
	}
	return f.refresh(ctx, i, ttl)
}

func (f faulty) Delete(ctx context.Context, i weft.Instance) error {
	if f.delete == nil {
		return f.both.Delete(ctx, i)
	}
	return f.delete(ctx, i)
}

func (f faulty) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	if f.watch == nil {
		return f.both.Watch(ctx, service, emit)
	}
	return f.watch(ctx, service, emit)
}

func (f faulty) Load(ctx context.Context, name string) (registry.Document, error) {
	if f.load == nil {
		return f.both.Load(ctx, name)
	}
	return f.load(ctx, name)
}

func (f faulty) Store(ctx context.Context, name string, value []byte, version uint64) error {
	if f.store == nil {
		return f.both.Store(ctx, name, value, version)
	}
	return f.store(ctx, name, value, version)
}

func (f faulty) WatchDocument(ctx context.Context, name string, emit func(registry.Document)) error {
	if f.document == nil {
		return f.both.WatchDocument(ctx, name, emit)
	}
	return f.document(ctx, name, emit)
}

// fault is a driver with a fault, and the check that must find it.
type fault struct {
	name  string
	check string // with its group
	spoil func(sound both) faulty
}

func faults() []fault {
	return append(append(listFaults(), instanceFaults()...), append(documentFaults(), outageFaults()...)...)
}

// excusedFault is a driver with a fault that a machine which stands still could excuse.
type excusedFault struct {
	fault
	machine func(*testing.T, *suite, *fake)
}

// calm is a machine that does not stand still, and standing one that does so all the time.
func calm(*testing.T, *suite, *fake) {}

func standing(t *testing.T, s *suite, _ *fake) {
	every(t, s.still, func() {
		s.pulse.mu.Lock()
		defer s.pulse.mu.Unlock()
		s.pulse.stood = time.Now()
	})
}

func excusedFaults() []excusedFault {
	// ending ends a watch by itself soon after its first list.
	ending := func(s both) faulty {
		return faulty{both: s, watch: func(ctx context.Context, service string, emit func(registry.List)) error {
			ctx, cancel := context.WithTimeout(ctx, silence/5)
			defer cancel()
			return s.Watch(ctx, service, emit)
		}}
	}
	const lasting = "healthy/silent instances expire, refreshed ones stay"
	return []excusedFault{
		{fault{"watches end, and Load is slow", lasting, func(s both) faulty {
			slow := ending(s)
			slow.load = func(ctx context.Context, name string) (registry.Document, error) {
				time.Sleep(2 * brief().still)
				return s.Load(ctx, name)
			}
			return slow
		}}, calm},
		{fault{"watches end again and again", lasting, ending}, standing},
		{fault{"watches end before they emit", "healthy/a watch ends with its context", func(s both) faulty {
			return faulty{both: s, watch: func(ctx context.Context, _ string, _ func(registry.List)) error {
				return errors.Join(ctx.Err(), errDown)
			}}
		}}, standing},
		{fault{"a refreshed instance is gone for a moment", lasting, func(s both) faulty {
			return faulty{both: s, watch: func(ctx context.Context, service string, emit func(registry.List)) error {
				return s.Watch(ctx, service, func(list registry.List) {
					list.Revision = 0
					emit(list)
					list.Instances = slices.DeleteFunc(slices.Clone(list.Instances), func(i weft.Instance) bool { return i.ID == "server-0" })
					emit(list)
				})
			}}
		}}, standing},
		{fault{"instances expire too early, excused", lasting, func(s both) faulty {
			return faulty{both: s, put: func(ctx context.Context, i weft.Instance, ttl time.Duration) error {
				return s.Put(ctx, i, ttl/2)
			}}
		}}, standing},
		{fault{"Refresh is ErrLost now and then", lasting, func(s both) faulty {
			n := 0
			return faulty{both: s, refresh: func(ctx context.Context, i weft.Instance, ttl time.Duration) error {
				if n++; n%4 == 0 {
					return registry.ErrLost
				}
				return s.Refresh(ctx, i, ttl)
			}}
		}}, standing},
	}
}

// listFaults are those of Watch.
func listFaults() []fault {
	var shared sync.Map // the first list that was emitted of a service
	return []fault{
		{"the first list never comes", "healthy/a service without instances is an empty list", func(s both) faulty {
			return faulty{both: s, watch: changing(s, func(n int, list *registry.List) bool { return len(list.Instances) > 0 })}
		}},
		{"only the first list comes", "healthy/changes are seen by all watchers", func(s both) faulty {
			return faulty{both: s, watch: changing(s, func(n int, list *registry.List) bool { return n == 0 })}
		}},
		{"the list is cut", "healthy/a long list is complete", func(s both) faulty {
			return faulty{both: s, watch: changing(s, func(_ int, list *registry.List) bool {
				list.Instances = list.Instances[:min(100, len(list.Instances))]
				return true
			})}
		}},
		{"an empty list is taken for an error", "healthy/a list can become empty", func(s both) faulty {
			return faulty{both: s, watch: changing(s, func(n int, list *registry.List) bool { return n == 0 || len(list.Instances) > 0 })}
		}},
		{"nothing is confirmed", "healthy/an unchanged list is confirmed", func(s both) faulty {
			last := 0
			return faulty{both: s, watch: changing(s, func(n int, list *registry.List) bool {
				same := len(list.Instances) == last
				last = len(list.Instances)
				return n == 0 || !same
			})}
		}},
		{"revisions go back", "healthy/revisions do not go back", func(s both) faulty {
			return faulty{both: s, watch: changing(s, func(n int, list *registry.List) bool {
				list.Revision = uint64(1000 - n)
				return true
			})}
		}},
		{"one revision for two lists", "healthy/revisions do not go back", func(s both) faulty {
			return faulty{both: s, watch: changing(s, func(n int, list *registry.List) bool {
				list.Revision = 1
				return true
			})}
		}},
		{"the list is shared", "healthy/a list belongs to its receiver", func(s both) faulty {
			return faulty{both: s, watch: func(ctx context.Context, service string, emit func(registry.List)) error {
				return s.Watch(ctx, service, func(list registry.List) {
					first, _ := shared.LoadOrStore(service, list)
					emit(first.(registry.List))
				})
			}}
		}},
		{"an instance is twice in the list", "healthy/an instance takes the place of its older self", func(s both) faulty {
			return faulty{both: s, watch: changing(s, func(_ int, list *registry.List) bool {
				list.Instances = append(list.Instances, list.Instances...)
				return true
			})}
		}},
		{"Watch returns nil", "healthy/a watch ends with its context", func(s both) faulty {
			return faulty{both: s, watch: func(ctx context.Context, service string, emit func(registry.List)) error {
				_ = s.Watch(ctx, service, emit)
				return nil
			}}
		}},
		{"Watch ignores the end of its context", "healthy/a watch ends with its context", func(s both) faulty {
			return faulty{both: s, watch: func(_ context.Context, service string, emit func(registry.List)) error {
				return s.Watch(context.Background(), service, emit)
			}}
		}},
		{"Watch gives up", "healthy/the last of many quick changes is seen", func(s both) faulty {
			return faulty{both: s, watch: func(ctx context.Context, service string, emit func(registry.List)) error {
				ctx, cancel := context.WithCancel(ctx)
				return s.Watch(ctx, service, func(list registry.List) { emit(list); cancel() })
			}}
		}},
		{"it is emitted after the end", "healthy/nothing is emitted after the end", func(s both) faulty {
			return faulty{both: s, watch: func(ctx context.Context, service string, emit func(registry.List)) error {
				go s.Watch(context.Background(), service, emit) // this goroutine never ends: the process exists to be caught
				<-ctx.Done()
				return ctx.Err()
			}}
		}},
		{"two emit at once", "healthy/changes are seen by all watchers", func(s both) faulty {
			return faulty{both: s, watch: func(ctx context.Context, service string, emit func(registry.List)) error {
				var wg sync.WaitGroup
				for range 2 {
					wg.Go(func() { _ = s.Watch(ctx, service, emit) })
				}
				wg.Wait()
				return ctx.Err()
			}}
		}},
		{"one invalid entry hides all", "healthy/an invalid entry does not hide the others", func(s both) faulty {
			return faulty{both: s, watch: changing(s, func(_ int, list *registry.List) bool { return len(list.Invalid) == 0 })}
		}},
		{"invalid entries are dropped", "healthy/an invalid entry does not hide the others", func(s both) faulty {
			return faulty{both: s, watch: changing(s, func(_ int, list *registry.List) bool {
				list.Invalid = nil
				return true
			})}
		}},
	}
}

// changing is a Watch that changes the nth list that it emits, or keeps it back.
func changing(s both, change func(n int, list *registry.List) bool) func(context.Context, string, func(registry.List)) error {
	return func(ctx context.Context, service string, emit func(registry.List)) error {
		n := 0
		return s.Watch(ctx, service, func(list registry.List) {
			if change(n, &list) {
				emit(list)
			}
			n++
		})
	}
}

// instanceFaults are those of Put, Refresh and Delete.
func instanceFaults() []fault {
	return []fault{
		{"deletes are lost", "healthy/Delete withdraws one instance", func(s both) faulty {
			return faulty{both: s, delete: func(context.Context, weft.Instance) error { return nil }}
		}},
		{"Delete of nothing is an error", "healthy/Delete withdraws one instance", func(s both) faulty {
			return faulty{both: s, delete: func(ctx context.Context, i weft.Instance) error {
				return errors.Join(s.Refresh(ctx, i, time.Minute), s.Delete(ctx, i))
			}}
		}},
		{"the zone is lost", "healthy/an instance is seen as it was published", func(s both) faulty {
			return faulty{both: s, put: func(ctx context.Context, i weft.Instance, ttl time.Duration) error {
				i.Zone = ""
				return s.Put(ctx, i, ttl)
			}}
		}},
		{"services do not count cases", "healthy/services do not mix", func(s both) faulty {
			return faulty{both: s,
				put: func(ctx context.Context, i weft.Instance, ttl time.Duration) error {
					i.Service = strings.ToLower(i.Service)
					return s.Put(ctx, i, ttl)
				},
				watch: func(ctx context.Context, service string, emit func(registry.List)) error {
					return s.Watch(ctx, strings.ToLower(service), func(list registry.List) {
						for n := range list.Instances {
							list.Instances[n].Service = service
						}
						emit(list)
					})
				},
			}
		}},
		{"an ID is a path", "healthy/any name can be an ID", func(s both) faulty {
			return faulty{both: s, put: func(ctx context.Context, i weft.Instance, ttl time.Duration) error {
				i.ID = path.Clean(i.ID)
				return s.Put(ctx, i, ttl)
			}}
		}},
		{"a service is a path", "healthy/any name can be a service", func(s both) faulty {
			return faulty{both: s, watch: func(ctx context.Context, service string, emit func(registry.List)) error {
				return s.Watch(ctx, path.Clean(service), emit)
			}}
		}},
		{"the caller's map is kept", "healthy/an instance belongs to its sender", func(s both) faulty {
			var tags sync.Map
			return faulty{both: s,
				put: func(ctx context.Context, i weft.Instance, ttl time.Duration) error {
					tags.Store(i.Service, i.Tags)
					return s.Put(ctx, i, ttl)
				},
				watch: changing(s, func(_ int, list *registry.List) bool {
					for n := range list.Instances {
						if kept, ok := tags.Load(list.Instances[n].Service); ok {
							list.Instances[n].Tags = kept.(map[string]string)
						}
					}
					return true
				}),
			}
		}},
		{"Refresh publishes", "healthy/Refresh of what is not there is ErrLost", func(s both) faulty {
			return faulty{both: s, refresh: s.Put}
		}},
		{"Refresh does nothing", "healthy/silent instances expire, refreshed ones stay", func(s both) faulty {
			return faulty{both: s, refresh: func(context.Context, weft.Instance, time.Duration) error { return nil }}
		}},
		{"nothing expires", "healthy/silent instances expire, refreshed ones stay", func(s both) faulty {
			return faulty{both: s, put: func(ctx context.Context, i weft.Instance, ttl time.Duration) error {
				return s.Put(ctx, i, 1000*ttl)
			}}
		}},
		{"instances expire too early", "healthy/silent instances expire, refreshed ones stay", func(s both) faulty {
			return faulty{both: s, put: func(ctx context.Context, i weft.Instance, ttl time.Duration) error {
				return s.Put(ctx, i, ttl/2)
			}}
		}},
		{"no two goroutines", "healthy/a driver serves many goroutines", func(s both) faulty {
			var mu sync.Mutex
			return faulty{both: s, put: func(ctx context.Context, i weft.Instance, ttl time.Duration) error {
				if !mu.TryLock() {
					return errors.New("busy")
				}
				defer mu.Unlock()
				time.Sleep(time.Millisecond)
				return s.Put(ctx, i, ttl)
			}}
		}},
		{"Delete does nothing for a Registry", "healthy/a server registers through a Registry", func(s both) faulty {
			return faulty{both: s, delete: func(context.Context, weft.Instance) error { return nil }}
		}},
	}
}

// documentFaults are those of registry.Documents.
func documentFaults() []fault {
	return []fault{
		{"what is not there is an error", "healthy/documents: one that is not there is zero", func(s both) faulty {
			return faulty{both: s, load: func(ctx context.Context, name string) (registry.Document, error) {
				d, err := s.Load(ctx, name)
				if d.Version == 0 {
					err = errors.New("not found")
				}
				return d, err
			}}
		}},
		{"versions are not compared", "healthy/documents: Store with an old version is ErrConflict", func(s both) faulty {
			return faulty{both: s, store: func(ctx context.Context, name string, value []byte, _ uint64) error {
				d, err := s.Load(ctx, name)
				if err != nil {
					return err
				}
				return s.Store(ctx, name, value, d.Version)
			}}
		}},
		{"comparing and storing are two steps", "healthy/documents: of several at once one is stored", func(s both) faulty {
			return faulty{both: s, store: func(ctx context.Context, name string, value []byte, version uint64) error {
				d, err := s.Load(ctx, name)
				if err != nil || d.Version != version {
					return errors.Join(err, registry.ErrConflict)
				}
				time.Sleep(10 * time.Millisecond)
				for errors.Is(s.Store(ctx, name, value, d.Version), registry.ErrConflict) {
					d, _ = s.Load(ctx, name)
				}
				return nil
			}}
		}},
		{"values end at a zero", "healthy/documents: any bytes can be a value", func(s both) faulty {
			return faulty{both: s, store: func(ctx context.Context, name string, value []byte, version uint64) error {
				value, _, _ = bytes.Cut(value, []byte{0})
				return s.Store(ctx, name, value, version)
			}}
		}},
		{"a document is a path", "healthy/documents: any name can be one", func(s both) faulty {
			return faulty{both: s,
				load: func(ctx context.Context, name string) (registry.Document, error) {
					return s.Load(ctx, path.Clean(name))
				},
				store: func(ctx context.Context, name string, value []byte, version uint64) error {
					return s.Store(ctx, path.Clean(name), value, version)
				},
			}
		}},
		{"changes of a document are not seen", "healthy/documents: a change is seen by all watchers", func(s both) faulty {
			return faulty{both: s, document: func(ctx context.Context, name string, emit func(registry.Document)) error {
				first := sync.OnceFunc(func() {
					d, _ := s.Load(ctx, name)
					emit(d)
				})
				return s.WatchDocument(ctx, name, func(registry.Document) { first() })
			}}
		}},
	}
}

// outageFaults show when the server is broken.
func outageFaults() []fault {
	return []fault{
		{"errors of a watch are swallowed", "broken/killed: Watch returns an error, a new one works afterwards", swallowing},
		{"silence is not noticed", "broken/frozen: Watch returns an error, a new one works afterwards", swallowing},
		{"a watch waits for the registry in silence", "broken/killed: Watch returns an error, a new one works afterwards", func(s both) faulty {
			return faulty{both: s, watch: func(ctx context.Context, service string, emit func(registry.List)) error {
				emitted := false
				err := s.Watch(ctx, service, func(list registry.List) {
					emitted = true
					emit(list)
				})
				if !emitted {
					<-ctx.Done()
				}
				return err
			}}
		}},
		{"a client is not told of an outage", "broken/killed: a client keeps its list", swallowing},
		{"Refresh is ErrLost while the registry is away", "broken/killed: Refresh fails, and not with ErrLost", func(s both) faulty {
			return faulty{both: s, refresh: func(ctx context.Context, i weft.Instance, ttl time.Duration) error {
				if s.Refresh(ctx, i, ttl) != nil {
					return registry.ErrLost
				}
				return nil
			}}
		}},
		{"Put ignores the end of its context", "broken/frozen: operations end with their contexts", func(s both) faulty {
			return faulty{both: s, put: func(ctx context.Context, i weft.Instance, ttl time.Duration) error {
				return s.Put(context.WithoutCancel(ctx), i, ttl)
			}}
		}},
		{"Refresh does not ask the registry", "broken/wiped: Refresh is ErrLost, the list is empty", forgetful},
		{"a lost registration is not noticed", "broken/wiped: a server registers again by itself", forgetful},
	}
}

// swallowing goes on when it has lost the registry, as if nothing were.
func swallowing(s both) faulty {
	return faulty{both: s, watch: func(ctx context.Context, service string, emit func(registry.List)) error {
		_ = s.Watch(ctx, service, emit)
		<-ctx.Done()
		return ctx.Err()
	}}
}

// forgetful takes for granted that the registry has what it once put there.
func forgetful(s both) faulty {
	return faulty{both: s, refresh: func(ctx context.Context, i weft.Instance, ttl time.Duration) error {
		if err := s.Refresh(ctx, i, ttl); !errors.Is(err, registry.ErrLost) {
			return err
		}
		return nil
	}}
}

const faultName = "REGISTRYTEST_FAULT"

// TestFaulty runs the kit on one faulty driver. It is run by TestRunFindsFaults, in
// a process of its own, and must fail there.
func TestFaulty(t *testing.T) {
	for _, f := range faults() {
		if f.name != os.Getenv(faultName) {
			continue
		}
		server := newFake()
		run(t, Config{
			New:     func(*testing.T) registry.Driver { return f.spoil(fakeDriver{server}) },
			Server:  server,
			TTL:     3 * time.Second,
			Expires: 4 * time.Second,
			Settle:  time.Millisecond,
		}, limits{patience: time.Second, confirm: 6 * time.Second, notice: time.Second, still: time.Hour, recent: time.Hour})
	}
	for _, f := range excusedFaults() {
		if f.name != os.Getenv(faultName) {
			continue
		}
		group, promise, _ := strings.Cut(f.check, "/")
		t.Run(group, func(t *testing.T) {
			t.Run(promise, func(t *testing.T) {
				bubble(t, promise, f.machine, func(server *fake) registry.Driver { return f.spoil(fakeDriver{server}) })
			})
		})
	}
}

func TestRunFindsFaults(t *testing.T) {
	all := faults()
	for _, f := range excusedFaults() {
		all = append(all, f.fault)
	}
	outputs, errs := make([][]byte, len(all)), make([]error, len(all))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8) // they mostly wait
	for n, f := range all {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			group, promise, _ := strings.Cut(f.check, "/")
			cmd := exec.CommandContext(t.Context(), os.Args[0],
				"-test.run=^TestFaulty$/^"+group+"$/^"+regexp.QuoteMeta(promise)+"$", "-test.timeout=5m")
			cmd.Env = append(os.Environ(), faultName+"="+f.name)
			outputs[n], errs[n] = cmd.CombinedOutput()
		})
	}
	wg.Wait()
	for n, f := range all {
		t.Run(f.name, func(t *testing.T) {
			if errs[n] == nil {
				t.Fatalf("the check %q found nothing:\n%s", f.check, outputs[n])
			}
			if !strings.Contains(string(outputs[n]), "--- FAIL: TestFaulty/"+strings.ReplaceAll(f.check, " ", "_")) {
				t.Errorf("the check %q did not fail:\n%s", f.check, outputs[n])
			}
		})
	}
}
