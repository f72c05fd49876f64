package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// secureEtcd runs an etcd that wants a certificate of its clients, which it has itself.
func secureEtcd(t *testing.T, cert, key string) (at string) {
	t.Helper()
	cfg := embed.NewConfig()
	cfg.Dir = t.TempDir()
	at = localPort(t)
	cfg.ListenClientUrls = []url.URL{{Scheme: "https", Host: at}}
	cfg.AdvertiseClientUrls = cfg.ListenClientUrls
	cfg.ListenPeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	cfg.AdvertisePeerUrls = cfg.ListenPeerUrls
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ClientTLSInfo = transport.TLSInfo{CertFile: cert, KeyFile: key, TrustedCAFile: cert, ClientCertAuth: true}
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(patience):
		t.Fatal("the etcd does not serve")
	}
	return at
}

// TestSecureEtcd asks an etcd that wants the certificates of its clients.
func TestSecureEtcd(t *testing.T) {
	cert, key, _ := certificate(t, "etcd.test", time.Now().Add(100*24*time.Hour))
	at := secureEtcd(t, cert, key)
	registry := []string{"--registry", "etcds://" + at, "--timeout", "20s"}
	good := append(registry, "--cacert", cert, "--cert", cert, "--key", key)
	expect(t, 0, "etcds://"+at, "", "", append(good, "registry", "status")...)
	expect(t, 0, "nothing is registered", "", "", append(good, "instances")...)
	expect(t, 0, "version 1", "", someRules, append(good, "rules", "apply", "Arith", "--force")...)
	expect(t, 0, "it answers in", "", "", append(good, "doctor")...)
	t.Setenv("WEFT_CONFIG", t.TempDir()+"/contexts.json")
	expect(t, 0, "", "", "", append(good, "context", "set", "secure")...)
	expect(t, 0, "canary", "", "", "rules", "show", "Arith", "--context", "secure")
	bad := append([]string{"--registry", "etcds://" + at, "--timeout", "2s"}, "registry", "status")
	expect(t, 4, "", "etcd", "", bad...)
	within(t, 2*time.Second, 1, "--cacert, --cert and --key", "", "--registry", "etcds://"+at, "doctor")
}

// TestSameFlags asks a server that wants a certificate, a token, and another token for weft.Admin, by all commands that ask
// servers: with flags, and with a context that keeps them.
func TestSameFlags(t *testing.T) {
	cert, key, pair := certificate(t, "weft.test", time.Now().Add(100*24*time.Hour))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(read(t, cert)))
	s := begin(t, func(cfg *weft.ServerConfig) {
		cfg.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
		cfg.Authenticate = func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
			if cred.Token != "secret" {
				return nil, errors.New("wrong token")
			}
			return "ann", nil
		}
	})
	busyWith(t, s.address, &weft.ClientConfig{
		TLS: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}, Credential: weft.StaticCredential("Bearer", "secret"),
	})
	flags := []string{"--tls", "--cacert", cert, "--cert", cert, "--key", key, "--token-file", write(t, "token", "secret\n"), "--admin-token-file", write(t, "admin", "adm\n")}
	t.Setenv("WEFT_CONFIG", write(t, "contexts.json", "{}"))
	expect(t, 0, "", "weft context use", "", append([]string{"context", "set", "secure", "--server", s.address}, flags...)...)
	calls := recorded(t)
	folder := t.TempDir()
	for n, line := range []string{
		"list", "describe Arith.Mul", "health", "call Arith.Mul {}", "bench Arith.Mul --duration 300ms --warm-up 0s", "replay " + calls + " --callers 1 --method Arith.Mul",
		"top --count 1 --interval 200ms", "tap --count 1", "record --count 1 --no-bodies --out {}", "doctor --strict", "schema -o typescript",
	} {
		for _, by := range [][]string{append([]string{"--server", s.address}, flags...), {"--context", "secure"}} {
			polltest.Until(t, patience, line, func() error { // on a busy machine there may be nothing to measure
				out := filepath.Join(folder, fmt.Sprintf("%d-%d", n, len(by)))
				_ = os.Remove(out) // it is there if it was tried
				code, text, log := run(t, "", append(strings.Fields(strings.ReplaceAll(line, "--out {}", "--out "+out)), by...)...)
				if code != 0 || text == "" {
					return fmt.Errorf("weft %s %v returns %d: %s%s", line, by, code, text, log)
				}
				return nil
			})
		}
		// Without a token, or without a certificate, all of them are refused, and say what to give.
		args := append(strings.Fields(strings.ReplaceAll(line, "--out {}", "--out "+filepath.Join(folder, "none"))), "--server", s.address)
		if code, text, log := run(t, "", append(args, flags[:7]...)...); code == 0 || !strings.Contains(text+log, "token-file") {
			t.Errorf("without a token weft %s returns %d: %s%s", line, code, text, log)
		}
		if code, text, log := run(t, "", append(args, "--tls", "--cacert", cert, "--timeout", "20s")...); code == 0 || !strings.Contains(text+log, "certificate") {
			t.Errorf("without a certificate weft %s returns %d: %s%s", line, code, text, log)
		}
	}
}
