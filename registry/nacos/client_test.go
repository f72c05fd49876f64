package nacos

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// TestHostile has servers that answer what Nacos never does: every operation ends with
// an error, soon, and keeps nothing of it.
func TestHostile(t *testing.T) {
	var elsewhere int // requests that came to where a redirect points
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		want   string // in the errors
	}{
		{"without an end", endless, "more than"},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "none of Nacos"},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, "none of Nacos"},
		{"another shape", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"code":0,"data":"x"}`) }, "none of Nacos"},
		{"deep JSON", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("[", 1<<20)) }, "none of Nacos"},
		{"a code", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"code":30000,"message":"no"}`) }, "30000"},
		{"a long complaint", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, strings.Repeat("x", 1<<20))
		}, "502"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "307"},
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(test.answer)
			defer server.Close()
			d := openDriver(t, Config{Addresses: []string{server.URL}})
			d.client.most = 1 << 20 // for the race detector's sake
			ctx := testContext(t)
			_, load := d.Load(ctx, "rules")
			for what, err := range map[string]error{
				"Watch":         d.Watch(ctx, "Arith", func(l registry.List) { t.Errorf("it emitted %v", l) }),
				"WatchDocument": d.WatchDocument(ctx, "rules", func(d registry.Document) { t.Errorf("it emitted %v", d) }),
				"Load":          load,
			} {
				if err == nil || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 1000 {
					t.Errorf("%s: %.200v, want a short error with %q", what, err, test.want)
				}
			}
			d.Close()
		})
	}
	if elsewhere > 0 {
		t.Errorf("%d requests went to where a redirect points", elsewhere)
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	chunk := []byte(strings.Repeat(" ", 1<<16))
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// TestForeignDocument has documents that people have written.
func TestForeignDocument(t *testing.T) {
	for _, test := range []struct {
		name, data string
		error      string
	}{
		{"no sum", `{"content":"x"}`, ""},
		{"a sum that is none", `{"content":"x","md5":"zz"}`, "MD5"},
		{"half of what was encoded", `{"content":"weft-base64:e","md5":"415290769594460e2e485922904f345d"}`, "base64"},
		{"text", `{"content":"x","md5":"415290769594460e2e485922904f345d"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"code":0,"data":%s}`, test.data)
			}))
			defer server.Close()
			d := openDriver(t, Config{Addresses: []string{server.URL}})
			_, err := d.Load(testContext(t), "rules")
			if (err == nil) != (test.error == "") || err != nil && !strings.Contains(err.Error(), test.error) {
				t.Errorf("Load: %v, want an error with %q", err, test.error)
			}
			d.Close()
		})
	}
}

// TestServers has a cluster of which some servers do not work: a dead one, one that
// fails and one that says nothing.
func TestServers(t *testing.T) {
	t.Parallel()
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"code":0,"data":[]}`) }))
	defer empty.Close()
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer failing.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	dead := fmt.Sprintf("127.0.0.1:%d", registrytest.FreePort(t))

	d := openDriver(t, Config{Addresses: []string{dead, failing.URL, silent.Addr().String(), empty.URL}})
	found := false
	for turn := 0; turn < 12 && !found; turn++ { // a watch that fails is begun again, and each time it is the next server's turn
		ctx, cancel := context.WithCancel(testContext(t))
		_ = d.Watch(ctx, "Arith", func(registry.List) { found = true; cancel() }) // its error is not what counts
		cancel()
	}
	if !found {
		t.Error("the one server that works was not found")
	}
}

// TestOtherServers: an address at which something else than Nacos answers is passed by within one operation, and is not asked
// again by the next one. If there is no other one, the error names each address, and why it cannot be used.
func TestOtherServers(t *testing.T) {
	dead := fmt.Sprintf("127.0.0.1:%d", registrytest.FreePort(t))
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc // nil: nothing listens
		why    string           // in the error
		once   bool             // a change of a document is not asked for again
	}{
		{"404", http.NotFound, "404", false},
		{"405", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }, "405", false},
		{"400 of a server with TLS", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Client sent an HTTP request to an HTTPS server.", http.StatusBadRequest)
		}, "400", false},
		{"400 in JSON of another server", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"status":400,"error":"Bad Request"}`)
		}, "Bad Request", false},
		{"a page of a proxy", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>no upstream</html>") }, "no upstream", false},
		{"JSON of another server", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"status":"UP"}`) }, "no code", false},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1", http.StatusFound)
		}, "302", false},
		{"nothing listens", nil, "refused", false},
		{"no upstream", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "502", true},
		{"a lost connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			other := dead
			var asked atomic.Int32
			if test.answer != nil {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked.Add(1)
					test.answer(w, r)
				}))
				defer server.Close()
				other = server.Listener.Addr().String()
			}
			good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/login") {
					fmt.Fprint(w, `{"accessToken":"x","tokenTtl":100}`)
					return
				}
				fmt.Fprint(w, `{"code":0,"data":[]}`)
			}))
			defer good.Close()

			for _, user := range []string{"", "weft"} {
				asked.Store(0)
				d := openDriver(t, Config{Addresses: []string{other, good.Listener.Addr().String()}, Username: user})
				for range 2 {
					if err := d.Put(testContext(t), arith("Arith", "one"), time.Minute); err != nil {
						t.Errorf("Put by user %q: %v", user, err)
					}
				}
				if n := asked.Load(); n > 1 {
					t.Errorf("the server that is none was asked %d times, want once", n)
				}
				d.Close()
			}

			d := openDriver(t, Config{Addresses: []string{other, good.Listener.Addr().String()}})
			if err := d.Store(testContext(t), "rules", []byte("x"), 0); (err != nil) != test.once {
				t.Errorf("Store: %v, want an error: %v", err, test.once)
			}
			d.Close()

			d = openDriver(t, Config{Addresses: []string{other, dead}})
			_, err := d.entries(testContext(t), "Arith")
			if err == nil || !strings.Contains(err.Error(), other+": ") || !strings.Contains(err.Error(), test.why) ||
				!strings.Contains(err.Error(), dead+": ") || len(err.Error()) > 1000 {
				t.Errorf("with no server that can be used: %v, want a short error with %s, %q and %s", err, other, test.why, dead)
			}
			d.Close()
		})
	}
}

// TestRefusedLogin: Nacos is not asked to log in again by every operation of a user whom it refuses.
func TestRefusedLogin(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusInternalServerError} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var logins atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if logins.Add(1) > 1 {
					fmt.Fprint(w, `{"accessToken":"x","tokenTtl":100}`)
					return
				}
				w.WriteHeader(status)
			}))
			defer server.Close()
			d := openDriver(t, Config{Addresses: []string{server.Listener.Addr().String()}, Username: "weft", Password: "wrong"})
			refused := func() {
				t.Helper()
				if _, err := d.client.login(testContext(t)); err == nil || !strings.Contains(err.Error(), "Config.Username") {
					t.Errorf("login: %v, want an error that names Config.Username", err)
				}
			}
			began := time.Now()
			refused()
			s := <-d.client.session
			if s.expires.Before(began.Add(refusedFor)) || time.Until(s.expires) > refusedFor {
				t.Errorf("the refusal counts until %v, want for %v", s.expires, refusedFor)
			}
			s.expires = time.Now().Add(time.Hour) // a busy machine may take longer than it counts
			d.client.session <- s
			for range 10 {
				refused()
			}
			if n := logins.Load(); n != 1 {
				t.Errorf("%d logins while the refusal counts, want one", n)
			}
			s = <-d.client.session
			s.expires = time.Now().Add(-time.Millisecond)
			d.client.session <- s
			if token, err := d.client.login(testContext(t)); err != nil || token != "x" {
				t.Errorf("the next login gave %q, %v", token, err)
			}
		})
	}
}

// TestStoredThoughLocked: when Nacos has stored a document and its history has failed, the second request conflicts with the first. That is no
// conflict of the caller, unless the document has another value, or was not sent twice.
func TestStoredThoughLocked(t *testing.T) {
	for _, test := range []struct {
		name, has string
		locked    int // so many requests fail before the conflict
		want      error
	}{
		{"stored", "x", 1, nil},
		{"of another writer", "y", 1, registry.ErrConflict},
		{"the same, of another writer", "x", 0, registry.ErrConflict},
	} {
		t.Run(test.name, func(t *testing.T) {
			left := test.locked
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodGet:
					fmt.Fprintf(w, `{"code":0,"data":{"content":%q,"md5":"%x"}}`, test.has, md5.Sum([]byte(test.has)))
				case left > 0:
					left--
					w.WriteHeader(http.StatusInternalServerError)
					fmt.Fprint(w, `{"code":10002,"message":"INSERT INTO his_config_info: A lock could not be obtained"}`)
				default:
					fmt.Fprintf(w, `{"code":%d,"message":"the sum is another"}`, codeConflict)
				}
			}))
			defer server.Close()
			d := openDriver(t, Config{Addresses: []string{server.URL}})
			if err := d.Store(testContext(t), "rules", []byte("x"), 0); !errors.Is(err, test.want) {
				t.Errorf("Store returned %v, want %v", err, test.want)
			}
		})
	}
}

// TestLocked: a request that Nacos' database has undone because of another one is sent again, a few times; one that has failed in another
// way is not.
func TestLocked(t *testing.T) {
	statement := "data access error: PreparedStatementCallback; SQL [INSERT INTO his_config_info(" + strings.Repeat("x", 300) + ")]; "
	for _, test := range []struct {
		name, message string
		fails, want   int // so many requests fail, and so many are sent
	}{
		{"Derby", statement + "A lock could not be obtained due to a deadlock, cycle of locks and waiters is:", 2, 3},
		{"Derby, after a while", statement + "A lock could not be obtained within the time requested", 1, 2},
		{"MySQL", statement + "Deadlock found when trying to get lock; try restarting transaction", 1, 2},
		{"again and again", statement + "A lock could not be obtained", lockTries + 1, lockTries},
		{"the disk is full", statement + "No space left", 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked int
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked++; asked > test.fails {
					fmt.Fprint(w, `{"code":0,"data":true}`)
					return
				}
				w.WriteHeader(http.StatusInternalServerError)
				fmt.Fprintf(w, `{"code":10002,"message":%q}`, test.message)
			}))
			d := openDriver(t, Config{Addresses: []string{server.URL}})
			err := d.Store(testContext(t), "rules", []byte("x"), 0)
			server.Close() // waits for the handler
			if asked != test.want || (err == nil) != (test.fails < test.want) {
				t.Errorf("%d requests were sent, and Store returned %v; want %d requests", asked, err, test.want)
			}
		})
	}
}
