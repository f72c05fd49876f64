package admin_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cluster"
)

// from is a listener whose connections seem to come from an address and to go to another one.
type from struct {
	net.Listener
	addr, local net.Addr
}

func (l from) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return fromConn{c, l.addr, l.local}, nil
}

type fromConn struct {
	net.Conn
	addr, local net.Addr
}

func (c fromConn) RemoteAddr() net.Addr { return c.addr }
func (c fromConn) LocalAddr() net.Addr  { return c.local }

// remote has the server serve connections that seem to come from another machine, and returns
// the address.
func (r *rig) remote() string { return r.between("192.0.2.1:4711", "192.0.2.2:8972") }

// between has the server serve connections that seem to come from an address and to go to another
// one, and returns where to connect.
func (r *rig) between(peer, local string) string {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.serve(from{l, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(peer)), net.TCPAddrFromAddrPort(netip.MustParseAddrPort(local))})
	return "tcp://" + l.Addr().String()
}

func TestAuthentication(t *testing.T) {
	guard := func(_ context.Context, cred weft.Credential, info *weft.CallInfo) (any, error) {
		switch {
		case cred.Token == "":
			return nil, errors.New("no credential")
		case cred.Token != "good":
			return nil, weft.Errorf(weft.PermissionDenied, "not %s by this caller", info.Method)
		}
		return "ann", nil
	}
	open, token, own := start(t, nil, nil), start(t, nil, &admin.Config{Token: "secret"}), start(t, nil, &admin.Config{Authenticate: guard})
	for _, tt := range []struct {
		name    string
		r       *rig
		address string
		token   string
		want    weft.Code
	}{
		{"open, local", open, "", "", 0},
		{"open, from elsewhere", open, open.remote(), "", weft.PermissionDenied},
		{"open, over IPv6", open, open.between("[::1]:4711", "[::1]:8972"), "", 0},
		{"open, IPv4 in IPv6", open, open.between("[::ffff:127.0.0.1]:4711", "[::ffff:127.0.0.1]:8972"), "", 0},
		{"open, to a listener of UDP", open, open.between("127.0.0.1:4711", "[::]:8972"), "", 0},
		{"open, by a proxy on this machine", open, open.between("127.0.0.6:4711", "192.0.2.2:8972"), "", weft.PermissionDenied},
		{"open, forged address of this machine", open, open.between("192.0.2.1:4711", "127.0.0.1:8972"), "", weft.PermissionDenied},
		{"open, from elsewhere with a token that means nothing", open, open.remote(), "secret", weft.PermissionDenied},
		{"token, local without it", token, "", "", weft.Unauthenticated},
		{"token, local", token, "", "secret", 0},
		{"token, from elsewhere", token, token.remote(), "secret", 0},
		{"token, from elsewhere without it", token, token.remote(), "", weft.Unauthenticated},
		{"token, a wrong one", token, token.remote(), "secrets", weft.Unauthenticated},
		{"own, without a credential", own, "", "", weft.Unauthenticated},
		{"own, good", own, own.remote(), "good", 0},
		{"own, bad", own, "", "bad", weft.PermissionDenied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := admin.NewClient(tt.r.dial(tt.address, nil), &admin.ClientConfig{Token: tt.token})
			_, err := a.Stats(t.Context(), nil)
			if tt.want == 0 && err != nil {
				t.Fatal(err)
			} else if tt.want != 0 {
				isError(t, err, tt.want)
			}
		})
	}
	// A proxy on this machine that says whose call it is, is not the caller; a token is good through it.
	for _, key := range []string{"x-forwarded-for", "forwarded", "via"} {
		ctx := weft.WithMetadata(t.Context(), key, "192.0.2.1")
		_, err := admin.NewClient(open.dial("", nil), nil).Stats(ctx, nil)
		isError(t, err, weft.PermissionDenied)
		if _, err := admin.NewClient(token.dial("", nil), &admin.ClientConfig{Token: "secret"}).Stats(ctx, nil); err != nil {
			t.Error(err)
		}
	}
	// The token is also taken where other credentials are.
	c := token.dial("", nil)
	if err := c.Call(t.Context(), "weft.Admin.Stats", &admin.StatsRequest{}, nil, weft.WithCredential(weft.Credential{Scheme: "Bearer", Token: "secret"})); err != nil {
		t.Error(err)
	}
}

// A server with authentication of its own wants both credentials.
func TestBesideTheServersAuthentication(t *testing.T) {
	r := start(t, &weft.ServerConfig{Authenticate: func(_ context.Context, cred weft.Credential, _ *weft.CallInfo) (any, error) {
		if cred.Token != "user" {
			return nil, errors.New("no user")
		}
		return "user", nil
	}}, &admin.Config{Token: "secret"})
	user := r.dial("", &weft.ClientConfig{Credential: weft.StaticCredential("Bearer", "user")})
	if _, err := admin.NewClient(user, &admin.ClientConfig{Token: "secret"}).Stats(t.Context(), nil); err != nil {
		t.Error(err)
	}
	_, err := admin.NewClient(user, nil).Stats(t.Context(), nil)
	isError(t, err, weft.Unauthenticated)
	_, err = admin.NewClient(r.dial("", nil), &admin.ClientConfig{Token: "secret"}).Stats(t.Context(), nil)
	isError(t, err, weft.Unauthenticated)
}

func TestConfig(t *testing.T) {
	for name, cfg := range map[string]*admin.Config{
		"two ways": {Token: "x", Authenticate: func(context.Context, weft.Credential, *weft.CallInfo) (any, error) { return nil, nil }},
		"cluster":  {Clusters: map[string]*cluster.Client{"none": nil}},
	} {
		srv := weft.NewServer(nil)
		if err := admin.Register(srv, cfg); !errors.Is(err, weft.InvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
		srv.Close()
	}
	srv := weft.NewServer(nil)
	defer srv.Close()
	if err := admin.Register(nil, nil); !errors.Is(err, weft.InvalidArgument) {
		t.Error(err)
	}
	if err := errors.Join(admin.Register(srv, nil), admin.Register(srv, nil)); !errors.Is(err, weft.AlreadyExists) {
		t.Error(err)
	}
}
