package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// access gets calls to etcd: at once or not at all, and with a token if there is a
// user. The client library can log in too, but wants etcd to be there when it is made,
// and logs in again for every stream, which costs etcd the hash of a password.
type access struct {
	username, password string
	client             pb.AuthClient

	turn    chan struct{} // holds one while a goroutine uses what follows
	known   bool          // there is a token
	token   string        // "": etcd wants none
	refused error         // why etcd refused the last login
	again   time.Time     // when to log in behind a refusal
}

// refusedFor is how long the refusal of a login counts. Each login costs etcd the hash of a password, and a client may have a thousand
// watches that are all tried again.
const refusedFor = 2 * time.Second

var _ credentials.PerRPCCredentials = (*access)(nil)

func (a *access) options() []grpc.DialOption {
	options := []grpc.DialOption{grpc.WithChainUnaryInterceptor(a.intercept)}
	if a.username != "" {
		options = append(options, grpc.WithPerRPCCredentials(a))
	}
	return options
}

// intercept has a call fail at once while no member can be reached; the client
// library would let it wait until its context ends. A call that was refused because of
// its token, which a member forgets when it is restarted, is made again with a new one.
func (a *access) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	options = append(options, grpc.WaitForReady(false))
	err := invoke(ctx, method, request, reply, conn, options...)
	if a.username == "" || !staleToken(err) {
		return err
	}
	if err := a.forget(ctx); err != nil {
		return err
	}
	return invoke(ctx, method, request, reply, conn, options...)
}

// staleToken reports whether etcd has refused a call, without doing anything of it,
// since the token is not or no longer good.
func staleToken(err error) bool {
	err = rpctypes.Error(err)
	return errors.Is(err, rpctypes.ErrInvalidAuthToken) || errors.Is(err, rpctypes.ErrUserEmpty) || errors.Is(err, rpctypes.ErrAuthOldRevision)
}

func (a *access) forget(ctx context.Context) error {
	if err := a.lock(ctx); err != nil {
		return err
	}
	defer a.unlock()
	a.known = false
	return nil
}

// lock is that of a mutex which can be waited for with a context.
func (a *access) lock(ctx context.Context) error {
	select {
	case a.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

func (a *access) unlock() { <-a.turn }

// GetRequestMetadata returns the token for a call, and logs in if there is none.
func (a *access) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	if info, ok := credentials.RequestInfoFromContext(ctx); ok && info.Method == pb.Auth_Authenticate_FullMethodName {
		return nil, nil
	}
	if err := a.lock(ctx); err != nil {
		return nil, err
	}
	defer a.unlock()
	if !a.known {
		if err := a.logInLocked(ctx); err != nil {
			return nil, err
		}
	}
	if a.token == "" {
		return nil, nil
	}
	return map[string]string{rpctypes.TokenFieldNameGRPC: a.token}, nil
}

// logInLocked gets a token, if etcd has not just refused to give one.
func (a *access) logInLocked(ctx context.Context) error {
	if time.Now().Before(a.again) {
		return a.refused
	}
	reply, err := a.client.Authenticate(ctx, &pb.AuthenticateRequest{Name: a.username, Password: a.password})
	switch {
	case err == nil:
		a.known, a.token = true, reply.Token
		return nil
	case errors.Is(rpctypes.Error(err), rpctypes.ErrAuthNotEnabled):
		a.known, a.token = true, ""
		return nil
	case status.Code(err) == codes.InvalidArgument:
		// gRPC takes only some codes from here.
		err = status.Error(codes.Unauthenticated, fmt.Sprintf("log in as %q: %s", a.username, status.Convert(err).Message()))
		a.refused, a.again = err, time.Now().Add(refusedFor)
	}
	return err
}

// RequireTransportSecurity lets a user of etcd log in without TLS, as etcd itself does.
func (a *access) RequireTransportSecurity() bool { return false }
