package zookeeper

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// TestSessions breaks what lies between drivers and one server.
func TestSessions(t *testing.T) {
	t.Parallel()
	_, address := zooKeeper(t, registrytest.FreePort(t), "")
	for _, test := range []struct {
		name string
		run  func(t *testing.T, address string)
	}{
		{"an expired session loses its instances", testExpiry},
		{"a cut connection loses nothing", testResume},
		{"an instance takes the place of its older self without a gap", testOlderSelf},
		{"a watch that ends leaves nothing on the server", testWatchEnds},
		{"watches share a session", testManyWatches},
		{"a server that does not answer is passed over", testSilentServer},
		{"a server that is no ZooKeeper is passed over", testStranger},
		{"an identity is told to every server", testAuth},
		{"a connection can be encrypted", testTLS},
		{"a node of others is no instance", testForeignNode},
		{"what is too large is no instance and no document", testLargeValues},
		{"a document that is made anew has another version", testRecreatedDocument},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, address)
		})
	}
}

func testExpiry(t *testing.T, address string) {
	c := newCable(t, address, nil)
	far := connect(t, Config{Servers: []string{c.address}, SessionTimeout: timeout})
	w := registrytest.NewWatch(t, connect(t, Config{Servers: []string{address}}), "Expiry")
	i := instance("Expiry", "a")
	put(t, far, i)
	w.Until(t, "the instance", count(1))
	c.stall()
	w.Until(t, "the end of the instance", count(0))
	c.flow()
	c.cut() // what was kept back would be a network that does not exist
	var err error
	for range 1000 {
		if err = far.Refresh(operation(t), i, time.Minute); errors.Is(err, registry.ErrLost) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !errors.Is(err, registry.ErrLost) {
		t.Fatalf("Refresh after the session has expired returned %v, want ErrLost", err)
	}
	put(t, far, i)
	w.Until(t, "the instance again", count(1))
}

func testResume(t *testing.T, address string) {
	c := newCable(t, address, nil)
	far := connect(t, Config{Servers: []string{c.address}})
	w := registrytest.NewWatch(t, connect(t, Config{Servers: []string{address}}), "Resume")
	cut := registrytest.NewWatch(t, far, "Resume")
	i := instance("Resume", "a")
	put(t, far, i)
	before := w.Until(t, "the instance", count(1))
	cut.Until(t, "the instance", count(1))
	session := far.writing
	c.cut()
	if err := <-cut.Ended; err == nil {
		t.Error("Watch returned nil after its connection was cut")
	}
	for deadline := time.Now().Add(timeout / 2); time.Now().Before(deadline); time.Sleep(timeout / 10) {
		if err := far.Refresh(operation(t), i, time.Minute); err != nil {
			t.Fatalf("Refresh after the connection was cut: %v", err)
		}
	}
	if far.writing != session {
		t.Error("the driver has begun another session instead of resuming its own")
	}
	i.Weight = 7
	put(t, far, i)
	after := w.Until(t, "the change", func(l registry.List) bool {
		return len(l.Instances) == 1 && l.Instances[0].Weight == 7
	})
	for _, list := range after[:len(after)-1] {
		if list.Revision != before[len(before)-1].Revision || len(list.Instances) != 1 {
			t.Errorf("the cut was seen as a change: %+v", list)
		}
	}
}

// testOlderSelf: a server that was killed and started again finds its node there, of a
// session that has not expired yet.
func testOlderSelf(t *testing.T, address string) {
	c := newCable(t, address, nil)
	old := connect(t, Config{Servers: []string{c.address}}) // it must not expire before young has put the instance
	young := connect(t, Config{Servers: []string{address}})
	w := registrytest.NewWatch(t, young, "Older")
	i := instance("Older", "a")
	put(t, old, i)
	w.Until(t, "the instance", count(1))
	c.stall()
	i.Weight = 7
	put(t, young, i)
	lists := w.Until(t, "the new self", func(l registry.List) bool {
		return len(l.Instances) == 1 && l.Instances[0].Weight == 7
	})
	// The end of the old session must not take the new node with it.
	time.Sleep(patient * 4 / 3)
	if err := young.Refresh(operation(t), i, time.Minute); err != nil {
		t.Errorf("Refresh after the old session has expired: %v", err)
	}
	i.Weight = 8
	put(t, young, i)
	lists = append(lists, w.Until(t, "another change", func(l registry.List) bool {
		return len(l.Instances) == 1 && l.Instances[0].Weight == 8
	})...)
	for _, list := range lists {
		if len(list.Instances) != 1 {
			t.Errorf("there was a moment without the instance: %+v", list)
		}
	}
	c.flow()
	c.cut()
	for range 1000 {
		err := old.Refresh(operation(t), i, time.Minute)
		if errors.Is(err, registry.ErrLost) {
			return
		}
		if err == nil {
			t.Fatal("Refresh takes the node of another process for its own")
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the old process does not find that its session has expired")
}

func testWatchEnds(t *testing.T, address string) {
	d := connect(t, Config{Servers: []string{address}})
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		if err := d.Watch(ctx, "Ends", func(registry.List) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Errorf("Watch returned %v, want the error of its context", err)
		}
	}
	for range 3000 {
		d.mu.Lock()
		open := len(d.open)
		d.mu.Unlock()
		if open == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("sessions are open though nothing is watched")
}

func testManyWatches(t *testing.T, address string) {
	var err error
	for range 5 { // a session is lost where the machine stands still
		if err = manyWatches(t, connect(t, Config{Servers: []string{address}})); err == nil {
			return
		}
		t.Log(err)
	}
	t.Error(err)
}

// manyWatches begins watches beside one that goes on.
func manyWatches(t *testing.T, d *driver) error {
	w := registrytest.NewWatch(t, d, "Many")
	select {
	case <-w.Lists:
	case err := <-w.Ended:
		return fmt.Errorf("the first watch has ended: %w", err)
	}
	first := d.reading
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		err := d.Watch(ctx, "Many", func(registry.List) { cancel() })
		cancel()
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("Watch returned %w, want the error of its context", err)
		}
	}
	if d.reading != first || first.lost() {
		return errors.New("the first session was not used by all, though a watch goes on with it")
	}
	if n := len(first.views); n != 1 {
		return fmt.Errorf("%d watches are told of changes, one runs", n)
	}
	return nil
}

// silent listens and calls answer with every connection.
func silent(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	// It ends when the listener is closed, and with it its connections.
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			answer(conn)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// passesOver proves that a server among others, which is tried as soon as they, does
// not keep a driver from its work. The servers are shuffled.
func passesOver(t *testing.T, bad, good string) {
	for n := range 3 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			d := connect(t, Config{Servers: []string{bad, good}, SessionTimeout: 30 * time.Second})
			put(t, d, instance(t.Name(), "a"))
			// A busy machine may not be in time for the first watch.
			polltest.Until(t, time.Minute, "a watch shows the instance", func() error {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				shown := false
				err := d.Watch(ctx, t.Name(), func(list registry.List) {
					if shown = shown || count(1)(list); shown {
						cancel()
					}
				})
				if shown {
					return nil
				}
				return err
			})
		})
	}
}

func testSilentServer(t *testing.T, address string) {
	passesOver(t, silent(t, func(net.Conn) {}), address)
}

func testStranger(t *testing.T, address string) {
	web := silent(t, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
	})
	passesOver(t, web, address)
	d := connect(t, Config{Servers: []string{web}})
	err := d.Watch(t.Context(), "Passed", func(registry.List) { t.Error("Watch emits what a web server says") })
	if err == nil || !strings.Contains(err.Error(), "no ZooKeeper") {
		t.Errorf("Watch of a web server returned %v, want an error that says so", err)
	}
}

func testAuth(t *testing.T, address string) {
	c := newCable(t, address, nil)
	cfg := Config{Servers: []string{c.address}, Prefix: "/secret", User: "weft", Password: "s3cret"}
	d := connect(t, cfg)
	put(t, d, instance("Auth", "a"))
	if err := d.Store(operation(t), "rules", []byte("{}"), 0); err != nil {
		t.Fatalf("Store: %v", err)
	}
	w := registrytest.NewWatch(t, d, "Auth")
	w.Until(t, "the instance", count(1))
	c.cut()
	if err := <-w.Ended; err == nil {
		t.Error("Watch returned nil after its connection was cut")
	}
	put(t, d, instance("Auth", "b")) // the identity was told again
	registrytest.NewWatch(t, d, "Auth").Until(t, "both instances", count(2))

	for _, password := range []string{"", "wrong"} {
		other := Config{Servers: []string{address}, Prefix: "/secret", User: "weft", Password: password}
		if password == "" {
			other.User = ""
		}
		o := connect(t, other)
		if err := o.Put(operation(t), instance("Auth", "c"), time.Minute); !errors.Is(err, errNoAuth) {
			t.Errorf("Put with password %q returned %v, want ErrNoAuth", password, err)
		}
		if err := o.Delete(operation(t), instance("Auth", "a")); !errors.Is(err, errNoAuth) {
			t.Errorf("Delete with password %q returned %v, want ErrNoAuth", password, err)
		}
		if doc, err := o.Load(operation(t), "rules"); !errors.Is(err, errNoAuth) {
			t.Errorf("Load with password %q returned %q, %v, want ErrNoAuth", password, doc.Value, err)
		}
		err := o.Watch(operation(t), "Auth", func(registry.List) { t.Errorf("Watch with password %q emits a list", password) })
		if !errors.Is(err, errNoAuth) {
			t.Errorf("Watch with password %q returned %v, want ErrNoAuth", password, err)
		}
	}
}

func testTLS(t *testing.T, address string) {
	certificate, roots := selfSigned(t)
	c := newCable(t, address, &tls.Config{Certificates: []tls.Certificate{certificate}})
	d := connect(t, Config{Servers: []string{c.address}, TLS: &tls.Config{RootCAs: roots}})
	put(t, d, instance("TLS", "a"))
	registrytest.NewWatch(t, d, "TLS").Until(t, "the instance", count(1))

	stranger := connect(t, Config{Servers: []string{c.address}, TLS: &tls.Config{}})
	err := stranger.Watch(operation(t), "TLS", func(registry.List) { t.Error("Watch trusts an unknown certificate") })
	if unknown := (x509.UnknownAuthorityError{}); !errors.As(err, &unknown) {
		t.Errorf("Watch with an unknown certificate returned %v, want an x509.UnknownAuthorityError", err)
	}
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "zookeeper"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

func testForeignNode(t *testing.T, address string) {
	d := connect(t, Config{Servers: []string{address}})
	put(t, d, instance("Foreign", "a/b"))
	s, err := d.writer()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a%2fb", "x"} {
		if err := s.create(operation(t), d.servicePath("Foreign")+"/"+name, []byte("?"), ephemeral); err != nil {
			t.Fatal(err)
		}
	}
	seen := registrytest.NewWatch(t, d, "Foreign").Until(t, "a list", count(1))
	var invalid []string
	for _, i := range seen[0].Invalid {
		invalid = append(invalid, i.ID)
	}
	slices.Sort(invalid)
	if got := strings.Join(invalid, " "); got != "a%2fb x" {
		t.Errorf("the invalid entries are %q, want %q", got, "a%2fb x")
	}
}

func testRecreatedDocument(t *testing.T, address string) {
	d := connect(t, Config{Servers: []string{address}})
	ctx := operation(t)
	store := func(value string) registry.Document {
		t.Helper()
		if err := d.Store(ctx, "recreated", []byte(value), 0); err != nil {
			t.Fatal(err)
		}
		doc, err := d.Load(ctx, "recreated")
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	first := store("first")
	s, err := d.writer()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.remove(ctx, d.documentPath("recreated"), -1); err != nil {
		t.Fatal(err)
	}
	second := store("second")
	if second.Version <= first.Version {
		t.Errorf("the version is %d after the document was removed and made anew, and was %d before", second.Version, first.Version)
	}
	if err := d.Store(ctx, "recreated", []byte("third"), first.Version); !errors.Is(err, registry.ErrConflict) {
		t.Errorf("Store in the place of a removed document returned %v, want ErrConflict", err)
	}
}
