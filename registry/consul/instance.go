package consul

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/consul/api"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// reapAfter is how long Consul keeps a service that is critical. It is the least that
// Consul knows.
const reapAfter = time.Minute

// Put implements registry.Driver.
func (d *driver) Put(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	service, err := d.service(instance, ttl)
	if err != nil {
		return err
	}
	agent := d.client.Agent()
	err = agent.ServiceRegisterOpts(service, api.ServiceRegisterOpts{}.WithContext(ctx))
	if err == nil {
		// A service that was there already keeps the state of its check, which may be
		// critical.
		err = agent.UpdateTTLOpts(service.Check.CheckID, "", api.HealthPassing, ask(ctx))
	}
	if err != nil {
		return d.failed("register", instance, err)
	}
	return nil
}

// Refresh implements registry.Driver. Consul keeps the time to live that Put has named.
func (d *driver) Refresh(ctx context.Context, instance weft.Instance, _ time.Duration) error {
	agent := d.client.Agent()
	id := checkOf(d.serviceID(instance.Service, instance.ID))
	checks, err := agent.ChecksWithFilterOpts("CheckID == "+strconv.Quote(id), ask(ctx))
	if err == nil {
		// Passing a check that is critical would bring back an instance of which the
		// registry may have nothing but its memory.
		if check := checks[id]; check == nil || check.Status == api.HealthCritical {
			return registry.ErrLost
		}
		err = agent.UpdateTTLOpts(id, "", api.HealthPassing, ask(ctx))
	}
	switch {
	case err == nil:
		return nil
	case unknown(err):
		return registry.ErrLost
	}
	return d.failed("refresh", instance, err)
}

// Delete implements registry.Driver. It withdraws what was registered with this agent.
func (d *driver) Delete(ctx context.Context, instance weft.Instance) error {
	err := d.client.Agent().ServiceDeregisterOpts(d.serviceID(instance.Service, instance.ID), ask(ctx))
	if err != nil && !unknown(err) {
		return d.failed("withdraw", instance, err)
	}
	return nil
}

func (d *driver) failed(what string, instance weft.Instance, err error) error {
	err = explain(err, fmt.Sprintf("service:write for %q", d.serviceName(instance.Service)))
	return fmt.Errorf("consul: %s instance %q of %s: %w", what, instance.ID, instance.Service, err)
}

func ask(ctx context.Context) *api.QueryOptions { return (&api.QueryOptions{}).WithContext(ctx) }

// unknown reports whether the agent says that it does not have a service or a check,
// which older agents call an internal error.
func unknown(err error) bool {
	status, ok := errors.AsType[api.StatusError](err)
	return ok && (status.Code == http.StatusNotFound || status.Code == http.StatusInternalServerError &&
		(strings.Contains(status.Body, "Unknown ") || strings.Contains(status.Body, "does not have associated TTL")))
}

func checkOf(serviceID string) string { return "service:" + serviceID }

// service is an instance as a service of Consul.
func (d *driver) service(instance weft.Instance, ttl time.Duration) (*api.AgentServiceRegistration, error) {
	value, err := registry.Encode(instance)
	if err != nil {
		return nil, err
	}
	meta, err := split(value)
	if err != nil {
		return nil, fmt.Errorf("consul: instance %q of %s: %w", instance.ID, instance.Service, err)
	}
	id := d.serviceID(instance.Service, instance.ID)
	host, port := hostPort(instance.Address)
	weight := dnsWeight(instance)
	return &api.AgentServiceRegistration{
		ID:      id,
		Name:    d.serviceName(instance.Service),
		Tags:    tags(instance),
		Address: host,
		Port:    port,
		Meta:    meta,
		Weights: &api.AgentWeights{Passing: weight, Warning: weight},
		Check: &api.AgentServiceCheck{
			CheckID:                        checkOf(id),
			Name:                           "weft: the server refreshes this",
			TTL:                            ttl.String(),
			Status:                         api.HealthPassing,
			DeregisterCriticalServiceAfter: reapAfter.String(),
		},
	}, nil
}

// hostPort is what Consul itself, and its DNS, says of an address. What is no host and
// port, as that of a socket, gives "" and 0, which Consul takes for those of the node.
func hostPort(address string) (string, int) {
	u, err := url.Parse(address)
	if err != nil {
		return "", 0
	}
	host := u.Hostname()
	if host == "0.0.0.0" || host == "::" { // which Consul refuses
		host = ""
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		port = 0
	}
	return host, int(port)
}

// dnsWeight is the weight that Consul's DNS gives an instance. Consul allows 1 to 65535;
// an instance that wants no calls has the least.
func dnsWeight(instance weft.Instance) int {
	switch {
	case instance.State != weft.On:
		return 1
	case instance.Weight == 0:
		return weft.DefaultWeight
	}
	return min(max(instance.Weight, 1), 65535)
}

// tags are for people and for Consul's DNS: zone-b.weft-Arith.service.consul. They are
// not read back.
func tags(instance weft.Instance) []string {
	all := []string{"weft"}
	for _, t := range []struct{ what, value string }{
		{"group", instance.Group}, {"version", instance.Version}, {"zone", instance.Zone},
	} {
		if t.value != "" {
			all = append(all, t.what+"-"+slug(t.value, ""))
		}
	}
	if instance.State != weft.On {
		all = append(all, instance.State.String())
	}
	return all
}

// Consul's limits for the meta of a service.
const (
	maxMetaKeys  = 64
	maxMetaValue = 512 // bytes
)

func metaKey(n int) string { return fmt.Sprintf("weft-%02d", n) }

// split makes meta of an encoded instance. It cuts between characters, since the meta
// travels as text; JSON is UTF-8.
func split(value []byte) (map[string]string, error) {
	meta := make(map[string]string)
	for rest := value; len(rest) > 0; {
		n := min(len(rest), maxMetaValue)
		for n < len(rest) && !utf8.RuneStart(rest[n]) {
			n--
		}
		if len(meta) == maxMetaKeys {
			return nil, fmt.Errorf("it has %d bytes of JSON, and the meta of a service in Consul holds %d; give it fewer tags", len(value), maxMetaKeys*maxMetaValue)
		}
		meta[metaKey(len(meta)+1)], rest = string(rest[:n]), rest[n:]
	}
	return meta, nil
}

// join is the reverse of split.
func join(meta map[string]string) []byte {
	var value []byte
	for n := 1; ; n++ {
		part, ok := meta[metaKey(n)]
		if !ok {
			return value
		}
		value = append(value, part...)
	}
}
