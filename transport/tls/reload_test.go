package tls_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/transport/mem"
	weft "github.com/weftrpc/weft/transport/tls"
)

// alive sends a word each way over a connection.
func alive(t *testing.T, o outcome) {
	t.Helper()
	for _, way := range [][2]*tls.Conn{{o.client, o.server}, {o.server, o.client}} {
		b := make([]byte, 4)
		if _, err := io.WriteString(way[0], "word"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(way[1], b); err != nil || string(b) != "word" {
			t.Fatalf("an old connection read %q, %v", b, err)
		}
	}
}

func serverSerial(o outcome) string {
	return o.client.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func clientSerial(o outcome) string {
	return o.server.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func TestReloadCertificates(t *testing.T) {
	ca := newAuthority(t)
	server, serverDir := load(t, ca.issue(t, nil), ca, nil)
	client, clientDir := load(t, ca.issue(t, nil), ca, nil)
	serverCfg, clientCfg := serverConfig(t, server), client.ClientConfig(serverName)
	old := attempt(t, clientCfg, serverCfg)
	old.check(t)

	newServer, newClient := ca.issue(t, nil), ca.issue(t, nil)
	serverDir.files(t, newServer, ca)
	clientDir.files(t, newClient, ca)

	// The same two configurations, made before the change.
	o := attempt(t, clientCfg, serverCfg)
	o.check(t)
	if serverSerial(o) != newServer.serial(t) || clientSerial(o) != newClient.serial(t) {
		t.Error("a new connection has the old certificates")
	}
	if serverSerial(old) == serverSerial(o) {
		t.Error("the old connection has the new certificate")
	}
	alive(t, old)
}

func TestReloadClientAuthority(t *testing.T) {
	first, second := newAuthority(t), newAuthority(t)
	id := first.issue(t, nil)
	server, serverDir := load(t, id, first, nil)
	serverCfg := serverConfig(t, server)
	// Clients trust the first authority, which signs the server throughout.
	client := func(by *authority) *tls.Config {
		return &tls.Config{
			ServerName:   serverName,
			RootCAs:      first.pool(),
			NextProtos:   []string{weft.Protocol},
			Certificates: []tls.Certificate{by.issue(t, nil).pair(t)},
		}
	}
	old := attempt(t, client(first), serverCfg)
	old.check(t)

	serverDir.write(t, "ca.pem", second.pem())
	if o := attempt(t, client(first), serverCfg); o.serverErr == nil {
		t.Error("a client of the removed authority came in")
	}
	attempt(t, client(second), serverCfg).check(t)
	alive(t, old)
}

func TestReloadServerAuthority(t *testing.T) {
	first, second := newAuthority(t), newAuthority(t)
	byFirst, _ := load(t, first.issue(t, nil), nil, nil)
	bySecond, _ := load(t, second.issue(t, nil), nil, nil)
	client, dir := load(t, identity{}, first, nil)
	kept := client.ClientConfig(serverName)
	old := attempt(t, kept, serverConfig(t, byFirst))
	old.check(t)

	dir.write(t, "ca.pem", append(first.pem(), second.pem()...))
	attempt(t, client.ClientConfig(serverName), serverConfig(t, byFirst)).check(t)
	attempt(t, client.ClientConfig(serverName), serverConfig(t, bySecond)).check(t)
	attempt(t, kept, serverConfig(t, byFirst)).check(t)

	dir.write(t, "ca.pem", second.pem())
	for name, cfg := range map[string]*tls.Config{"kept": kept, "new": client.ClientConfig(serverName), "clone": kept.Clone()} {
		if o := attempt(t, cfg, serverConfig(t, byFirst)); o.clientErr == nil || o.received != "" {
			t.Errorf("%s configuration: trusts the removed authority", name)
		}
	}
	attempt(t, client.ClientConfig(serverName), serverConfig(t, bySecond)).check(t)
	alive(t, old)
}

func TestBrokenFilesKeepTheOldOnes(t *testing.T) {
	ca := newAuthority(t)
	good, other := ca.issue(t, nil), ca.issue(t, nil)
	for _, test := range []struct {
		name     string
		breakIt  func(t *testing.T, dir directory)
		reported string
	}{
		{"certificate damaged", func(t *testing.T, d directory) { d.write(t, "cert.pem", good.cert[:100]) }, "cert.pem"},
		{"certificate empty", func(t *testing.T, d directory) { d.write(t, "cert.pem", nil) }, "cert.pem"},
		{"key of another", func(t *testing.T, d directory) { d.write(t, "key.pem", other.key) }, "private key does not match"},
		{"authority empty", func(t *testing.T, d directory) { d.write(t, "ca.pem", nil) }, "no PEM block"},
		{"authority damaged", func(t *testing.T, d directory) {
			d.write(t, "ca.pem", append(ca.pem(), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"...))
		}, "certificate 2"},
		{"authority is a key", func(t *testing.T, d directory) { d.write(t, "ca.pem", good.key) }, "PRIVATE KEY"},
		{"file gone", func(t *testing.T, d directory) { os.Remove(string(d) + "/key.pem") }, "no such file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			cfg := &weft.Config{CheckEvery: time.Nanosecond, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			source, dir := load(t, good, ca, cfg)
			connect := func() outcome {
				o := attempt(t, source.ClientConfig(serverName), serverConfig(t, source))
				o.check(t)
				return o
			}
			connect()
			if log.Len() > 0 {
				t.Errorf("reported without a change: %s", &log)
			}
			test.breakIt(t, dir)
			for range 3 {
				if o := connect(); serverSerial(o) != good.serial(t) {
					t.Error("the old certificate is not in use any more")
				}
			}
			text := log.String()
			if strings.Count(text, "level=ERROR") != 1 || !strings.Contains(text, test.reported) {
				t.Errorf("reported %s, want one error with %q", text, test.reported)
			}
			log.Reset()
			dir.files(t, other, ca)
			if o := connect(); serverSerial(o) != other.serial(t) {
				t.Error("the repaired files are not in use")
			}
			if text := log.String(); strings.Count(text, "level=INFO") != 1 || !strings.Contains(text, "not_after=") || strings.Contains(text, "ERROR") {
				t.Errorf("reported %s, want that the files were taken into use", text)
			}
		})
	}
}

// Without a logger of its own a source reports broken files to the default one.
func TestBrokenFilesAreReportedByDefault(t *testing.T) {
	var logged bytes.Buffer
	before, out, flags := slog.Default(), log.Writer(), log.Flags()
	defer func() {
		slog.SetDefault(before)
		log.SetOutput(out) // SetDefault has changed package log, and does not change it back
		log.SetFlags(flags)
	}()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	ca := newAuthority(t)
	source, dir := load(t, ca.issue(t, nil), ca, &weft.Config{CheckEvery: time.Nanosecond})
	dir.write(t, "cert.pem", nil)
	source.ClientConfig(serverName)
	if text := logged.String(); strings.Count(text, "level=ERROR") != 1 || !strings.Contains(text, "cert.pem") {
		t.Errorf("reported %q, want one error with the file", text)
	}
}

// The clock of the bubble decides when the files are looked at.
func TestCheckEvery(t *testing.T) {
	for _, test := range []struct {
		every, wait time.Duration
		changed     bool
	}{
		{0, 999 * time.Millisecond, false},
		{0, time.Second, true},
		{time.Minute, 59 * time.Second, false},
		{time.Minute, time.Minute, true},
		{-1, 1000 * time.Hour, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ca, later := newAuthority(t), newAuthority(t)
			source, dir := load(t, identity{}, ca, &weft.Config{CheckEvery: test.every})
			dir.write(t, "ca.pem", later.pem())
			time.Sleep(test.wait)
			if got := source.ClientConfig(serverName).RootCAs.Equal(later.pool()); got != test.changed {
				t.Errorf("CheckEvery %v, after %v: new file in use is %v, want %v", test.every, test.wait, got, test.changed)
			}
		})
	}
}

// Certificate and key are replaced one after the other, again and again, under
// clients that connect all the time: not one fails.
func TestRotationUnderLoad(t *testing.T) {
	ca := newAuthority(t)
	ids := []identity{ca.issue(t, nil), ca.issue(t, nil)}
	source, dir := load(t, ids[0], ca, &weft.Config{CheckEvery: time.Nanosecond, Logger: slog.New(slog.DiscardHandler)}) // a set is broken for a moment each time
	network := mem.New()
	tr := weft.Wrap(network, source, serverName)
	l, err := tr.Listen(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	var servers, clients sync.WaitGroup
	servers.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			servers.Go(func() {
				defer c.Close()
				io.Copy(c, c)
			})
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan struct{})
	seen := map[string]*atomic.Bool{ids[0].serial(t): new(atomic.Bool), ids[1].serial(t): new(atomic.Bool)}
	both := func() bool { return seen[ids[0].serial(t)].Load() && seen[ids[1].serial(t)].Load() }
	for range 4 {
		clients.Go(func() {
			for b := []byte("word"); ; {
				select {
				case <-done:
					return
				default:
				}
				c, err := tr.Dial(ctx, "orders")
				if err != nil {
					t.Error(err)
					return
				}
				seen[c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()].Store(true)
				c.Write(b)
				if _, err := io.ReadFull(c, b); err != nil {
					t.Error(err)
				}
				c.Close()
			}
		})
	}
	for i := 0; i < 30 || !both() && ctx.Err() == nil; i++ { // a busy machine needs more
		id := ids[i%2]
		dir.write(t, "cert.pem", id.cert)
		time.Sleep(5 * time.Millisecond)
		dir.write(t, "key.pem", id.key)
		time.Sleep(20 * time.Millisecond)
	}
	close(done)
	clients.Wait()
	l.Close()
	servers.Wait()
	if !both() {
		t.Error("clients saw one certificate, want both")
	}
}

// A certificate that is near its end is told of when it is loaded and used, not at every connection, and one that has ended is an error.
func TestNearEnd(t *testing.T) {
	ca := newAuthority(t)
	lasting := func(left time.Duration) identity {
		return ca.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(left) })
	}
	const near, over = `level=WARN msg="the certificate is near its end: replace its files" cert=`, `level=ERROR msg="the certificate has ended: replace its files" cert=`
	for _, every := range []time.Duration{time.Nanosecond, -1} {
		for _, test := range []struct {
			left time.Duration
			want string
		}{{time.Hour, ""}, {10 * time.Minute, near}, {-time.Minute, over}, {1000 * time.Hour, ""}} {
			var log bytes.Buffer
			source, dir := load(t, lasting(test.left), ca, &weft.Config{CheckEvery: every, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			for range 3 {
				source.ClientConfig(serverName)
			}
			text := log.String()
			if lines := strings.Count(text, "\n"); (test.want == "") != (lines == 0) || lines > 1 || !strings.Contains(text, test.want) {
				t.Errorf("%v before the end, with CheckEvery %v, the log has\n%s", test.left, every, text)
			}
			if every < 0 {
				continue
			}
			// That of the next one is told of at once.
			log.Reset()
			dir.files(t, lasting(5*time.Minute), ca)
			source.ClientConfig(serverName)
			if text := log.String(); strings.Count(text, near) != 1 {
				t.Errorf("after another certificate near its end the log has\n%s", text)
			}
		}
	}
}
