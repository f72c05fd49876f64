// Package acl decides which callers may call which methods, by address, principal and method, before
// a request is decoded. The rules can be replaced while the server runs.
//
//	a, err := acl.New(acl.Rules{
//		Deny:  []acl.Rule{{Networks: []string{"10.9.0.0/16"}}},
//		Allow: []acl.Rule{{Principals: []string{"billing"}, Methods: []string{"Orders.Get"}}},
//	})
//	srv := weft.NewServer(&weft.ServerConfig{Authenticate: authenticate, Plugins: []weft.Plugin{a.Plugin()}})
//
// A server looks a method up before the rules are asked: a caller that may do nothing can still find out which methods there are, and
// the error of one that does not exist names services. A caller that weft.ServerConfig.Authenticate refuses learns nothing, since that
// is asked first.
package acl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// Reason is the Error.Reason of a call that is not allowed.
const Reason = "NOT_ALLOWED"

// Rules say which calls are allowed. A call that a rule of Deny is for is not. When there are
// rules in Allow, only a call that one of them is for is allowed; otherwise every call is.
type Rules struct {
	Allow []Rule `json:"allow,omitempty"`
	Deny  []Rule `json:"deny,omitempty"`
}

// Rule is for the calls that fit all of its fields; an empty field fits every call. A rule with
// Networks alone, in Deny, also refuses the connection.
type Rule struct {
	// Networks are addresses and prefixes, such as "10.0.0.0/8", "2001:db8::/32", "192.0.2.7".
	// They fit the address of the connection; one without an IP address, such as that of a Unix
	// socket, fits none.
	Networks []string `json:"networks,omitempty"`
	// Principals are names: of a principal that is a string, or that has a method String.
	// "*" fits every principal that has a name.
	Principals []string `json:"principals,omitempty"`
	// Methods are "Arith.Mul", "Arith.*" for a service, "*" for all.
	Methods []string `json:"methods,omitempty"`
}

// Parse reads rules from JSON. Fields that do not exist are errors, and so is what would allow every call: no rules at all, and a list
// that is there and empty, as a file that was written half or by mistake has them. {"allow": [{"methods": ["*"]}]} says that it is meant.
func Parse(b []byte) (Rules, error) {
	var r Rules
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Rules{}, weft.Errorf(weft.InvalidArgument, "acl: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Rules{}, weft.Errorf(weft.InvalidArgument, "acl: there is something behind the rules")
	}
	if len(r.Allow)+len(r.Deny) == 0 || r.Allow != nil && len(r.Allow) == 0 {
		return Rules{}, weft.Errorf(weft.InvalidArgument, "acl: the rules allow every call, since \"allow\" is empty: write {\"allow\": [{\"methods\": [\"*\"]}]} if that is meant")
	}
	_, err := compile(r)
	return r, err
}

// ACL holds rules. Its methods may be called from any goroutine.
type ACL struct{ rules atomic.Pointer[rules] }

// New makes an ACL. The error says which rule is wrong.
func New(r Rules) (*ACL, error) {
	a := &ACL{}
	return a, a.Set(r)
}

// Set replaces the rules, for the calls that come from then on, also on connections that are
// open. After an error the old ones stay.
func (a *ACL) Set(r Rules) error {
	c, err := compile(r)
	if err == nil {
		a.rules.Store(c)
	}
	return err
}

// Plugin is for the Plugins of a server.
func (a *ACL) Plugin() weft.Plugin { return weft.Plugin{Name: "acl", Hooks: []any{hooks{a}}} }

// rules are Rules that were checked.
type rules struct{ allow, deny []rule }

type rule struct {
	networks   []netip.Prefix
	principals []string
	methods    match.Methods
}

func compile(r Rules) (*rules, error) {
	out := &rules{}
	for _, list := range []struct {
		name string
		from []Rule
		to   *[]rule
	}{{"Allow", r.Allow, &out.allow}, {"Deny", r.Deny, &out.deny}} {
		for i, from := range list.from {
			c, err := from.compile()
			if err != nil {
				return nil, weft.Errorf(weft.InvalidArgument, "acl: %s[%d]: %w", list.name, i, err)
			}
			*list.to = append(*list.to, c)
		}
	}
	return out, nil
}

func (r Rule) compile() (rule, error) {
	c := rule{principals: slices.Clone(r.Principals), methods: slices.Clone(r.Methods)}
	if len(r.Networks)+len(r.Principals)+len(r.Methods) == 0 {
		return c, fmt.Errorf("it is empty, and would fit every call; write the method \"*\" if that is meant")
	}
	if slices.Contains(r.Principals, "") {
		return c, fmt.Errorf("the name of a principal is empty")
	}
	for _, n := range r.Networks {
		p, err := netip.ParsePrefix(n)
		if err != nil {
			a, wrong := netip.ParseAddr(n)
			if wrong != nil {
				return c, fmt.Errorf("%q is neither an address nor a prefix", n)
			}
			p = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen())
		}
		if a := p.Addr(); a.Is4In6() {
			if p.Bits() < 96 {
				return c, fmt.Errorf("%q is shorter than the prefix of IPv4 in IPv6: write it as IPv4", n)
			}
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		c.networks = append(c.networks, p.Masked())
	}
	return c, c.methods.Check()
}

// addressOf is the IP address of a peer; the zero one if it has none.
func addressOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap().WithZone("")
	}
	if p, err := netip.ParseAddrPort(a.String()); err == nil {
		return p.Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

func (r *rule) hasAddress(a netip.Addr) bool {
	return len(r.networks) == 0 || a.IsValid() && slices.ContainsFunc(r.networks, func(p netip.Prefix) bool { return p.Contains(a) })
}

// fits reports whether the rule is for a call. principal is "" for a caller without a name.
func (r *rule) fits(a netip.Addr, principal, method string) bool {
	if !r.hasAddress(a) || !r.methods.Has(method) {
		return false
	}
	return len(r.principals) == 0 || principal != "" && (slices.Contains(r.principals, principal) || slices.Contains(r.principals, "*"))
}

// hooks are what the server calls.
type hooks struct{ a *ACL }

// ConnAccepted refuses connections from addresses that are denied whatever they call.
func (h hooks) ConnAccepted(conn net.Conn) error {
	a := addressOf(conn.RemoteAddr())
	for _, r := range h.a.rules.Load().deny {
		if len(r.principals) == 0 && len(r.methods) == 0 && r.hasAddress(a) {
			return weft.Errorf(weft.PermissionDenied, "connections from %v are not allowed", a).WithReason(Reason)
		}
	}
	return nil
}

// BeforeReadRequestBody refuses calls before their bodies are decoded.
func (h hooks) BeforeReadRequestBody(ctx context.Context, info *weft.CallInfo) error {
	principal, _ := match.Principal(weft.PrincipalFrom(ctx))
	a := addressOf(info.Peer.Addr())
	rules := h.a.rules.Load()
	fits := func(r rule) bool { return r.fits(a, principal, info.Method) }
	if slices.ContainsFunc(rules.deny, fits) || len(rules.allow) > 0 && !slices.ContainsFunc(rules.allow, fits) {
		return weft.Errorf(weft.PermissionDenied, "this caller may not call %s", info.Method).WithReason(Reason)
	}
	return nil
}
