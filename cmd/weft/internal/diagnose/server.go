package diagnose

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
)

// Bounds of what is well.
const (
	offsetMost = time.Second // of a clock
	slowAnswer = 500 * time.Millisecond
	// nearEnd is when a certificate is near its end at the earliest; one that is made for less time is when a fifth of that is left.
	// The log of a server warns from then on too: see package transport/tls.
	nearEnd = 14 * 24 * time.Hour
)

// server looks into one server.
func (r *report) server(ctx context.Context, address string) {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		scheme, rest = "tcp", address
	}
	rest, _, _ = strings.Cut(rest, "/")
	if !strings.HasSuffix(scheme, "unix") && !r.network(ctx, address, rest) {
		return
	}
	r.answers(ctx, address)
}

// network looks into names, ports and certificates. It reports whether the server can be reached.
func (r *report) network(ctx context.Context, address, hostPort string) bool {
	ctx, cancel := r.within(ctx)
	defer cancel()
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		r.fail("address", address, "write it as in 'weft help addresses'", "%v", err)
		return false
	}
	if net.ParseIP(host) == nil && host != "" {
		from := time.Now()
		ips, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			r.fail("resolve", host, "look for a wrong letter; 'getent hosts "+host+"' asks the same, and /etc/resolv.conf names the DNS servers", "%v", err)
			return false
		}
		r.ok("resolve", host, "%s in %v", strings.Join(ips, ", "), time.Since(from).Round(time.Microsecond))
	}
	from := time.Now()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		do := "see whether the server runs and listens at this address: 'ss -ltn' on its machine lists the ports"
		if errors.Is(err, context.DeadlineExceeded) {
			do = "a firewall may drop what is sent, or the machine is off: see whether others reach it"
		}
		r.fail("reach", address, do, "%v", err)
		return false
	}
	defer conn.Close()
	r.ok("reach", address, "connected in %v", time.Since(from).Round(time.Microsecond))
	if r.p.Settings.TLS || target.Secure(address) {
		r.certificate(ctx, address, host, conn)
	}
	return true
}

// certificate looks into the certificate of a server.
func (r *report) certificate(ctx context.Context, address, host string, conn net.Conn) {
	cfg, err := r.p.Settings.Files.Config()
	if err != nil {
		r.fail("tls", address, "name the right files with --cacert, --cert and --key", "%v", err)
		return
	}
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	cfg.NextProtos = []string{"weft/1", "h2", "http/1.1"}
	client := tls.Client(conn, cfg)
	err = client.HandshakeContext(ctx)
	state := client.ConnectionState()
	shown := state.PeerCertificates
	if wrong, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		shown = wrong.UnverifiedCertificates
	} else if err != nil {
		do := "the port is open and does not speak TLS: leave --tls out, or name the port that has it"
		if strings.Contains(err.Error(), "certificate") {
			do = "the server wants a certificate: give one with --cert and --key"
		}
		r.fail("tls", address, do, "%v", err)
		return
	}
	leaf := shown[0]
	pool := x509.NewCertPool()
	for _, c := range shown[1:] {
		pool.AddCert(c)
	}
	// With --insecure nothing was verified.
	_, err = leaf.Verify(x509.VerifyOptions{DNSName: cfg.ServerName, Roots: cfg.RootCAs, Intermediates: pool})
	left := time.Until(leaf.NotAfter)
	names := strings.Join(leaf.DNSNames, ", ")
	for _, ip := range leaf.IPAddresses {
		names = strings.TrimPrefix(names+", "+ip.String(), ", ")
	}
	_, wrongName := errors.AsType[x509.HostnameError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	end := leaf.NotAfter.UTC().Format(time.RFC3339)
	switch {
	case left < 0:
		r.fail("certificate", address, "renew the certificate of the server", "it ended at %s", end)
	case wrongName:
		r.fail("certificate", address, "connect by one of its names, name it with --servername, or put the name into the certificate", "it is for %s, not for %s", names, cfg.ServerName)
	case unknown:
		r.fail("certificate", address, "name the authority with --cacert", "it is signed by an authority that is not trusted here: %s", leaf.Issuer)
	case err != nil:
		r.fail("certificate", address, "renew the certificate of the server", "%v", err)
	case left <= min(nearEnd, leaf.NotAfter.Sub(leaf.NotBefore)/5):
		rest := fmt.Sprintf("%d days", int(left.Hours()/24))
		if left < 48*time.Hour {
			rest = left.Round(time.Second).String()
		}
		r.warn("certificate", address, "renew it, and see why it was not renewed by itself", "it is for %s and ends in %s, at %s", names, rest, end)
	default:
		r.ok("certificate", address, "it is for %s, until %s; %s, protocol %q", names, end, tls.VersionName(state.Version), state.NegotiatedProtocol)
	}
}

// otherWire is what to do about a server whose port is open and that does not speak, or answer by, the wire of its address.
func (r *report) otherWire(address string, err error, does string) string {
	open := "the port is open and does not " + does + " the wire " + target.Scheme(address)
	switch text := err.Error(); {
	case !r.p.Settings.TLS && !target.Secure(address):
		return open + ": add --tls if the server has TLS, or name another wire, see 'weft help addresses'"
	case strings.Contains(text, "certificate"), strings.Contains(text, "tls:"):
		return "see what is said of the certificate of the server, and the flags --cacert, --cert, --key and --servername"
	}
	return open + " over TLS: name another wire, see 'weft help addresses'"
}

// answers looks into the answers of a server.
func (r *report) answers(ctx context.Context, address string) {
	ctx, cancel := r.within(ctx)
	defer cancel()
	t, err := target.Open(ctx, r.p, address)
	if err != nil {
		r.fail("connect", address, r.otherWire(address, err, "speak"), "%v", bare(err))
		return
	}
	defer t.Close()
	from := time.Now()
	if err := t.Client.Ping(ctx); err != nil {
		do := r.otherWire(address, err, "answer by")
		if code := weft.CodeOf(err); code == weft.Unauthenticated || code == weft.PermissionDenied {
			do = "give a token with --token-file, or a certificate with --cert and --key"
		}
		r.fail("answer", address, do, "%v", err)
		return
	}
	if took := time.Since(from); took > slowAnswer {
		r.warn("answer", address, "'weft top "+address+"' shows which methods are busy; if none is, compare with 'ping' of the machine", "it takes %v", took.Round(time.Millisecond))
	} else {
		r.ok("answer", address, "in %v", took.Round(time.Microsecond))
	}
	a := t.Admin(r.p)
	ctx = target.Context(ctx, r.p)
	from = time.Now()
	stats, err := a.Stats(ctx, &admin.StatsRequest{})
	switch weft.CodeOf(err) {
	case 0:
	case weft.Unimplemented:
		r.ok("versions", address, "not known: the server has no weft.Admin, which admin.Register of package admin adds")
		return
	default:
		r.warn("versions", address, "give a token with --admin-token-file or --token-file", "weft.Admin does not answer: %v", err)
		return
	}
	r.clock(address, stats.At, from, time.Now())
	if d, err := a.Describe(ctx, &admin.DescribeRequest{NoSchemas: true}); err == nil {
		r.programs[d.Program.Weft] = append(r.programs[d.Program.Weft], address)
		r.ok("versions", address, "weft %s, %s, %s; it is %s", d.Program.Weft, d.Program.Go, d.Program.OS, d.Phase)
	}
}

// clock compares the clock of a server with that of this machine, which were read within a round
// trip.
func (r *report) clock(address string, at, from, to time.Time) {
	trip := to.Sub(from)
	offset := at.Sub(from.Add(trip / 2))
	if offset.Abs() > offsetMost+trip/2 {
		r.warn("clock", address, "have both machines follow one clock, such as by NTP", "it is %v off, give or take %v", offset.Round(time.Millisecond), (trip / 2).Round(time.Millisecond))
		return
	}
	r.ok("clock", address, "%v off, give or take %v", offset.Round(time.Microsecond), (trip / 2).Round(time.Microsecond))
}

// bare is the error of a call without what other commands say to do about it.
func bare(err error) error {
	if e, ok := errors.AsType[*weft.Error](err); ok {
		return e
	}
	return err
}
