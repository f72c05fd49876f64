package doctest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/registry/static"
)

// TestAdminGuide runs the code of docs/guide/admin.md.
func TestAdminGuide(t *testing.T) {
	const token = "secret"
	back := weft.NewServer(nil)
	must(t, back.Register(Arith{}))
	reg, err := static.New(serve(t, back))
	must(t, err)
	defer reg.Close()
	orders, err := cluster.New(&cluster.Config{Registry: reg})
	must(t, err)
	defer orders.Close()
	srv := weft.NewServer(nil)
	must(t, srv.Register(Arith{}))
	must(t, func() error {
		var level slog.LevelVar // that of the program's slog handler
		err := admin.Register(srv, &admin.Config{
			Token:    token,
			LogLevel: &level,
			Clusters: map[string]*cluster.Client{"orders": orders}, // the clients of other servers that the program has
		})
		return err
	}())
	client, err := weft.Dial(t.Context(), serve(t, srv), nil)
	must(t, err)
	defer client.Close()
	must(t, operate(t.Context(), client, token))
}

// operate calls weft.Admin.
func operate(ctx context.Context, client *weft.Client, token string) error {
	a := admin.NewClient(client, &admin.ClientConfig{Token: token})
	calls, err := a.Calls(ctx, &admin.CallsRequest{Older: 5})
	if err != nil {
		return err
	}
	for _, c := range calls.Calls {
		fmt.Printf("%s of %s is open for %.1f s\n", c.Method, c.Peer, c.Age)
	}
	w, err := a.Watch(ctx, &admin.WatchRequest{Interval: 0.1, Count: 3, Stats: admin.StatsRequest{Method: "Arith.*", Buckets: true}})
	if err != nil {
		return err
	}
	before := make(map[string]*admin.MethodStats)
	for stats, err := range w.All() {
		if err != nil {
			return err
		}
		for i := range stats.Methods {
			m := &stats.Methods[i]
			now := m.Since(before[m.Method])
			fmt.Printf("%s: %d calls, %d failed, p99 %.1f ms\n", m.Method, now.Calls, now.Failed, now.Latency.P99*1000)
			before[m.Method] = m
		}
	}
	// The tap ends with ctx, since no call is slow.
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	err = tapped(ctx, a)
	if code := weft.CodeOf(err); code != weft.DeadlineExceeded {
		return fmt.Errorf("the tap ended with %w", err)
	}
	return nil
}

func tapped(ctx context.Context, a *admin.Client) error {
	tap, err := a.Tap(ctx, &admin.TapRequest{Methods: []string{"Arith.*"}, Slower: 0.05, Count: 10})
	if err != nil {
		return err
	}
	for c, err := range tap.All() {
		if err != nil {
			return err
		}
		fmt.Printf("%s from %s: %s after %.1f ms\n", c.Method, c.Peer, c.Code, c.Duration*1000)
	}
	return nil
}

// TestAdminGuideConfigurations registers the configurations of the guide.
func TestAdminGuideConfigurations(t *testing.T) {
	const token = "secret"
	operators := map[string]bool{"ann": true}
	{
		cfg := &admin.Config{
			Token:  token,
			Bodies: true,
			Mask: func(method, path string) bool {
				return admin.Sensitive(path) || strings.HasPrefix(path, "Customer.")
			},
		}
		must(t, admin.Register(weft.NewServer(nil), cfg))
	}
	{
		cfg := &admin.Config{Authenticate: func(_ context.Context, _ weft.Credential, info *weft.CallInfo) (any, error) {
			state := info.Peer.TLS()
			if state == nil || len(state.VerifiedChains) == 0 {
				return nil, weft.Errorf(weft.Unauthenticated, "show a certificate")
			}
			name := state.PeerCertificates[0].Subject.CommonName
			if !operators[name] {
				return nil, weft.Errorf(weft.PermissionDenied, "%s is no operator", name)
			}
			return name, nil
		}}
		must(t, admin.Register(weft.NewServer(nil), cfg))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must(t, func() error {
		srv := weft.NewServer(nil)
		ctx, stop := context.WithCancel(ctx)
		err := admin.Register(srv, &admin.Config{Token: token, Shutdown: stop})
		if err != nil {
			return err
		}
		return srv.ListenAndServe(ctx, "tcp://127.0.0.1:0")
	}())
}
