package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/rpcx"
)

// driver is plain access to etcd. Streams are those of the protocol: the client
// library's own watches go on in silence for as long as no member answers, and its
// KeepAliveOnce repeats a failed attempt without a pause.
type driver struct {
	name    string
	keys    layout
	fleet   rpcx.Base // where servers of rpcx are; "": the registry is weft's own
	client  *clientv3.Client
	leases  pb.LeaseClient
	watches pb.WatchClient

	mu   sync.Mutex
	held map[string]lease // by the key of the instance, what this process has put
}

// lease is what an instance is kept with.
type lease struct {
	id      clientv3.LeaseID
	seconds int64
}

var (
	_ registry.Driver    = (*driver)(nil)
	_ registry.Documents = (*driver)(nil)
)

const (
	// A silent connection with a call on it is asked for a sign of life; etcd closes
	// connections that ask more often than every five seconds.
	keepAliveTime    = 10 * time.Second
	keepAliveTimeout = 3 * time.Second
	// maxBackoff is the longest time between two attempts to connect to a member.
	maxBackoff = time.Second
	// maxAttempts is for reads alone, of which each attempt goes to another member.
	maxAttempts = 3
)

// newDriver makes a driver, without waiting for etcd.
func newDriver(cfg Config) (*driver, error) {
	if err := cfg.resolve(); err != nil {
		return nil, err
	}
	access := &access{username: cfg.Username, password: cfg.Password, turn: make(chan struct{}, 1)}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            cfg.Endpoints,
		TLS:                  cfg.TLS,
		DialTimeout:          cfg.DialTimeout,
		DialKeepAliveTime:    keepAliveTime,
		DialKeepAliveTimeout: keepAliveTimeout,
		MaxUnaryRetries:      maxAttempts,
		MaxCallRecvMsgSize:   maxAnswer,
		Logger:               zap.NewNop(),
		DialOptions: append(access.options(), grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxBackoff},
			MinConnectTimeout: cfg.DialTimeout,
		})),
	})
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	conn := client.ActiveConnection()
	access.client = pb.NewAuthClient(conn)
	name := "etcd " + strings.Join(cfg.Endpoints, ",")
	if cfg.Prefix != DefaultPrefix {
		name += " " + cfg.Prefix + "/"
	}
	return &driver{
		name: name, keys: layout(cfg.Prefix), client: client,
		leases: pb.NewLeaseClient(conn), watches: pb.NewWatchClient(conn),
		held: make(map[string]lease),
	}, nil
}

// Put publishes an instance with a lease of its own.
func (d *driver) Put(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	key, value, err := d.entry(instance)
	if err != nil {
		return err
	}
	id, err := d.lease(ctx, key, seconds(ttl))
	if err == nil {
		_, err = d.client.Put(ctx, key, string(value), clientv3.WithLease(id))
	}
	return failed("put", key, err)
}

// lease returns the lease of an instance, with its whole time to live before it.
func (d *driver) lease(ctx context.Context, key string, seconds int64) (clientv3.LeaseID, error) {
	if l, ok := d.lookup(key); ok && l.seconds == seconds {
		if err := d.keepAlive(ctx, l.id); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return l.id, err
		}
	}
	granted, err := d.client.Grant(ctx, seconds)
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held[key] = lease{granted.ID, seconds}
	return granted.ID, nil
}

func (d *driver) lookup(key string) (lease, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.held[key]
	return l, ok
}

// seconds is a time to live as etcd takes it.
func seconds(ttl time.Duration) int64 {
	return int64((ttl + time.Second - 1) / time.Second)
}

// Refresh renews the lease, which etcd does for as long as it was granted, if the
// instance still has it: it may have been deleted, or put by another process.
func (d *driver) Refresh(ctx context.Context, instance weft.Instance, _ time.Duration) error {
	key, err := d.key(instance)
	if err != nil {
		return err
	}
	l, ok := d.lookup(key)
	if !ok {
		return registry.ErrLost
	}
	got, err := d.client.Get(ctx, key) // keys alone come without their lease since etcd 3.7
	if err != nil {
		return failed("refresh", key, err)
	}
	if len(got.Kvs) == 0 || got.Kvs[0].Lease != int64(l.id) {
		return registry.ErrLost
	}
	err = d.keepAlive(ctx, l.id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return registry.ErrLost
	}
	return failed("refresh", key, err)
}

// keepAlive gives a lease its whole time to live again.
func (d *driver) keepAlive(ctx context.Context, id clientv3.LeaseID) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	stream, err := d.leases.LeaseKeepAlive(ctx)
	if err != nil {
		return rpctypes.Error(err)
	}
	err = stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(id)})
	if err == nil {
		err = stream.CloseSend()
	}
	if err != nil && err != io.EOF { // on EOF, Recv says why
		return rpctypes.Error(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		return rpctypes.Error(err)
	}
	if answer.TTL <= 0 {
		return rpctypes.ErrLeaseNotFound
	}
	return nil
}

// Delete revokes the lease, and with it the instance, unless another process has
// put one in its place. What this process has not put is deleted by its key.
func (d *driver) Delete(ctx context.Context, instance weft.Instance) error {
	key, err := d.key(instance)
	if err != nil {
		return err
	}
	l, ok := d.lookup(key)
	if !ok {
		_, err := d.client.Delete(ctx, key)
		return failed("delete", key, err)
	}
	_, err = d.client.Revoke(ctx, l.id)
	if err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return failed("delete", key, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held[key] == l {
		delete(d.held, key)
	}
	return nil
}

// Close ends the connections.
func (d *driver) Close() error { return d.client.Close() }

// failed says of an error what was tried.
func failed(what, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("etcd: %s %s: %w", what, key, err)
}
