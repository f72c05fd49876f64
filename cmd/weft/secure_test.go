package main

import (
	"net/url"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// TestSecureEtcd asks an etcd that wants the certificates of its clients.
func TestSecureEtcd(t *testing.T) {
	cert, key, _ := certificate(t, "etcd.test", time.Now().Add(100*24*time.Hour))
	cfg := embed.NewConfig()
	cfg.Dir = t.TempDir()
	at := localPort(t)
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
	defer e.Close()
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(patience):
		t.Fatal("the etcd does not serve")
	}
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
