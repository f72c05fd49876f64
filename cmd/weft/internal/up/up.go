// Package up runs a registry on this machine: an etcd, alone or as a member of a cluster.
package up

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"
)

const upHelp = `Runs a registry on this machine until it is interrupted: an etcd, alone or as one member of a cluster. Servers and
clients find it at the address that it prints when it is up.`

const upExamples = `  weft up                      for this machine alone
  weft up --listen :2379       for other machines too: let no untrusted network reach the port
  weft up --data /var/lib/weft --listen 10.0.0.1:2379 --name n1 --cluster \
      n1=http://10.0.0.1:2380,n2=http://10.0.0.2:2380,n3=http://10.0.0.3:2380`

// Command runs a registry.
func Command(p *shell.Shell) *cobra.Command {
	m := new(member)
	cmd := &cobra.Command{
		Use: "up", GroupID: shell.GroupRegistry, Short: "Run a registry on this machine", Long: upHelp, Example: upExamples, Args: shell.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return up(cmd.Context(), p, m) },
	}
	f := cmd.Flags()
	f.StringVar(&m.listen, "listen", "127.0.0.1:2379", "the `address` for servers and clients; \":2379\" is all of this machine")
	f.StringVar(&m.data, "data", "weft-registry", "the `folder` that keeps what is registered and the rules; made if it is not there")
	f.StringVar(&m.name, "name", "weft", "the `name` of this member of a cluster")
	f.StringVar(&m.cluster, "cluster", "", "all `members`, such as n1=http://10.0.0.1:2380,n2=http://10.0.0.2:2380,n3=http://10.0.0.3:2380")
	f.StringVar(&m.peerListen, "peer-listen", "", "the `address` for the other members, if it is not the one in --cluster")
	return cmd
}

// up runs a registry until ctx ends.
func up(ctx context.Context, p *shell.Shell, m *member) error {
	cfg, err := m.config()
	if err != nil {
		return err
	}
	release, err := claim(cfg.Dir)
	if err != nil {
		return fmt.Errorf("up: %w", err)
	}
	defer release()
	if err := serve(ctx, p, m, cfg); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	fmt.Fprintln(p.Out, "The registry has ended.")
	return nil
}

// serve runs an etcd until ctx ends or it fails.
func serve(ctx context.Context, p *shell.Shell, m *member, cfg *embed.Config) error {
	log, level := etcdLog(p)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log)
	serving := make(chan *grpc.Server, 1)
	cfg.ServiceRegister = func(s *grpc.Server) { serving <- s }
	etcd, err := startEtcd(ctx, cfg)
	if err != nil || etcd == nil {
		return err
	}
	level.SetLevel(zapcore.ErrorLevel)
	if m.cluster != "" {
		fmt.Fprintf(p.Out, "Member %s serves as soon as most of the members are there.\n", m.name)
	}
	select {
	case server := <-serving:
		m.welcome(p, cfg)
		select {
		case <-ctx.Done():
		case err = <-etcd.Err():
		}
		level.SetLevel(silent)
		// Watches do not end by themselves; etcd would wait some seconds for them.
		server.Stop()
	case <-ctx.Done():
		level.SetLevel(silent)
		etcd.Server.Stop() // Close alone waits for a cluster that may never be there
	case err = <-etcd.Err():
	}
	etcd.Close()
	return err
}

// startEtcd starts an etcd; nil without an error when ctx ended first. etcd itself
// waits for as long as another etcd has its data.
func startEtcd(ctx context.Context, cfg *embed.Config) (*embed.Etcd, error) {
	type started struct {
		etcd *embed.Etcd
		err  error
	}
	result := make(chan started, 1)
	// It ends when etcd has started, or with the program.
	go func() {
		e, err := embed.StartEtcd(cfg)
		result <- started{e, err}
	}()
	select {
	case s := <-result:
		return s.etcd, cause(cfg, s.err)
	case <-ctx.Done():
		return nil, nil
	}
}

// cause adds what to do about an etcd that does not start.
func cause(cfg *embed.Config, err error) error {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Addr == nil {
		return err
	}
	address, setting := op.Addr.String(), "--listen"
	if address == cfg.ListenPeerUrls[0].Host {
		setting = "--cluster or --peer-listen"
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is taken, perhaps by a registry that is up already; name another address with %s: %w", address, setting, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is not an address of this machine; name another with %s: %w", address, setting, err)
	}
	return err
}

// silent is the level at which etcd logs only what makes it panic.
const silent = zapcore.DPanicLevel

// etcdLog is the logger of the etcd, for errors while it runs. It is silent while etcd
// starts, since the returned error is reported, and while it ends, when etcd logs that
// its own listeners are closed.
func etcdLog(p *shell.Shell) (*zap.Logger, zap.AtomicLevel) {
	level := zap.NewAtomicLevelAt(silent)
	format := zap.NewDevelopmentEncoderConfig()
	format.CallerKey = zapcore.OmitKey
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(format), zapcore.Lock(zapcore.AddSync(p.Log)), level)), level
}

// welcome writes how to use the registry, and how to stop it.
func (m *member) welcome(p *shell.Shell, cfg *embed.Config) {
	endpoint := cfg.AdvertiseClientUrls[0].Host
	fmt.Fprintf(p.Out, `The registry is up at %s (etcd %s); Ctrl-C stops it.
Its data is in %s.
`, endpoint, version.Version, cfg.Dir)
	if !loopback(&cfg.ListenClientUrls[0]) {
		fmt.Fprintln(p.Out, "It asks for no password: every program that reaches this address can change what is registered.")
	}
	fmt.Fprintf(p.Out, `
In servers and clients:

	reg, err := etcd.New(etcd.Config{Endpoints: []string{%q}})
	server := weft.NewServer(&weft.ServerConfig{Registry: reg})
	client, err := cluster.New(&cluster.Config{Registry: reg})

What is registered:

	weft instances --registry etcd://%s
`, endpoint, endpoint)
}

// loopback reports whether only this machine can connect to an address.
func loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return ip != nil && ip.IsLoopback()
}
