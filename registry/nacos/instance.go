package nacos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

const instancePath = "/v3/client/ns/instance"

// The keys of an instance's metadata. Those that Nacos itself reads are milliseconds; it
// wants the first to be less than the others.
const (
	metaInstance = "weft"       // JSON
	metaSince    = "weft.since" // milliseconds of Unix time: when it was put
	metaInterval = "preserved.heart.beat.interval"
	metaTimeout  = "preserved.heart.beat.timeout"
	metaDelete   = "preserved.ip.delete.timeout"
)

// place is what Nacos knows an instance of a service by.
type place struct {
	host string
	port int
}

// instanceKey is what weft knows an instance by.
type instanceKey struct{ service, id string }

// placeOf takes an address apart.
func placeOf(instance weft.Instance) (place, error) {
	u, err := url.Parse(instance.Address)
	if err == nil {
		var port uint64
		if port, err = strconv.ParseUint(u.Port(), 10, 16); err == nil && u.Hostname() != "" {
			return place{u.Hostname(), int(port)}, nil
		}
	}
	return place{}, fmt.Errorf("nacos: instance %q of %s: its address %q has no host or no port, by which Nacos knows instances",
		instance.ID, instance.Service, instance.Address)
}

// form is what every request about a service says, and about an instance.
func (d *driver) form(service string, at place) url.Values {
	form := url.Values{"groupName": {d.group}, "serviceName": {nacosName(service)}}
	if d.namespace != "" {
		form.Set("namespaceId", d.namespace)
	}
	if at.host != "" {
		form.Set("ip", at.host)
		form.Set("port", strconv.Itoa(at.port))
		form.Set("ephemeral", "true")
	}
	return form
}

// placed is an instance that this process has put.
type placed struct {
	at   place
	look time.Time // when Refresh is to look whether Nacos lists it; zero: it has looked
	vain int       // how often it has looked and not found the instance, or no list
}

const (
	// lookAfter is how long after a registration it is in the lists, which are half a second old. It doubles with each look in vain.
	lookAfter = 2 * time.Second
	// mostLooks is how often it is looked: over about half an hour.
	mostLooks = 10
)

// Put implements registry.Driver.
func (d *driver) Put(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	at, err := placeOf(instance)
	if err != nil {
		return err
	}
	if err := d.put(ctx, instance, at, ttl); err != nil {
		return fmt.Errorf("nacos: register instance %q of %s: %w", instance.ID, instance.Service, err)
	}
	return nil
}

func (d *driver) put(ctx context.Context, instance weft.Instance, at place, ttl time.Duration) error {
	form, err := d.registration(instance, at, ttl)
	if err != nil {
		return err
	}
	if err := d.register(ctx, form); err != nil {
		return err
	}
	key := instanceKey{instance.Service, instance.ID}
	before, _ := d.known(key)
	if before.at == at {
		return nil
	}
	if err := d.removeOlder(ctx, instance, before.at, at); err != nil {
		return err
	}
	// Nacos 3 may make the list of a service anew before it takes the instance into its index. This list lacks the instance until the
	// service changes again, which it does with a second registration.
	if err := d.register(ctx, form); err != nil {
		return err
	}
	d.note(key, placed{at: at, look: time.Now().Add(lookAfter)})
	return nil
}

// register sends a registration.
func (d *driver) register(ctx context.Context, form url.Values) error {
	err := d.client.call(ctx, request{method: http.MethodPost, path: instancePath, form: form}, nil)
	if r, ok := errors.AsType[*refusal](err); ok && strings.Contains(r.message, "Metadata") {
		err = fmt.Errorf("%w: with all that Nacos needs, this instance has %d: give it fewer tags", err, len(form.Get("metadata")))
	}
	return err
}

// registration is the form of one.
func (d *driver) registration(instance weft.Instance, at place, ttl time.Duration) (url.Values, error) {
	metadata, err := metadataOf(instance, ttl)
	// Better without its load than not at all, and without its idempotent methods: clients
	// then do not repeat calls.
	if len(metadata) > maxMetadata && instance.Load != nil {
		instance.Load = nil
		metadata, err = metadataOf(instance, ttl)
	}
	if len(metadata) > maxMetadata && instance.Idempotent != nil {
		instance.Idempotent = nil
		metadata, err = metadataOf(instance, ttl)
	}
	form := d.form(instance.Service, at)
	form.Set("metadata", metadata)
	form.Set("weight", weight(instance))
	return form, err
}

// known returns what this process has put of an instance.
func (d *driver) known(key instanceKey) (p placed, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, ok = d.places[key]
	return p, ok
}

func (d *driver) note(key instanceKey, p placed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.places[key] = p
}

// forget notes that Nacos does not have an instance.
func (d *driver) forget(key instanceKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.places, key)
}

// maxMetadata is how many bytes of metadata Nacos takes, as it is shipped.
const maxMetadata = 1024

// metadataOf is an instance, and what Nacos should know of it, as a JSON object.
func metadataOf(instance weft.Instance, ttl time.Duration) (string, error) {
	value, err := registry.Encode(instance)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]string{
		metaInstance: string(value),
		metaSince:    strconv.FormatInt(time.Now().UnixMilli(), 10),
		metaInterval: milliseconds(ttl / 3),
		metaTimeout:  milliseconds(ttl),
		metaDelete:   milliseconds(ttl),
	})
	return string(text), err
}

// removeOlder withdraws an instance from where it was before: with another address, it
// is another one for Nacos. Where this process has put it, it knows, and the list may not say so yet; another process, to
// whose place the instance has come, it finds in the list.
func (d *driver) removeOlder(ctx context.Context, instance weft.Instance, before, at place) error {
	entries, err := d.entries(ctx, instance.Service)
	if err != nil {
		return err
	}
	var older []place
	if before != (place{}) {
		older = append(older, before)
	}
	for _, e := range entries {
		if e.id() == instance.ID && e.place() != at && e.place() != before {
			older = append(older, e.place())
		}
	}
	for _, at := range older {
		if err := d.remove(ctx, instance.Service, at); err != nil {
			return err
		}
	}
	return nil
}

// Refresh implements registry.Driver. Nacos keeps the time to live that Put has named.
func (d *driver) Refresh(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	at, err := placeOf(instance)
	if err != nil {
		return err
	}
	form := d.form(instance.Service, at)
	form.Set("heartBeat", "true")
	err = d.client.call(ctx, request{method: http.MethodPost, path: instancePath, form: form}, nil)
	key := instanceKey{instance.Service, instance.ID}
	if refused(err, codeNoInstance) {
		d.forget(key)
		return registry.ErrLost
	}
	if p, _ := d.known(key); err == nil && p.at == at && !p.look.IsZero() && time.Now().After(p.look) {
		next := placed{at: at, vain: p.vain + 1}
		if !d.look(ctx, instance, at, ttl) && next.vain < mostLooks {
			next.look = time.Now().Add(lookAfter << next.vain)
		}
		d.note(key, next)
	}
	if err != nil {
		return fmt.Errorf("nacos: refresh instance %q of %s: %w", instance.ID, instance.Service, err)
	}
	return nil
}

// look registers an instance again that Nacos has and does not list, and reports whether it was listed. When Nacos removes an expired
// instance while the server registers it again, the instance can stay out of Nacos' index, though Nacos takes its heartbeats. An instance
// that an operator has taken offline is never listed, and stays offline.
func (d *driver) look(ctx context.Context, instance weft.Instance, at place, ttl time.Duration) (listed bool) {
	entries, err := d.entries(ctx, instance.Service)
	if listed = slices.ContainsFunc(entries, func(e entry) bool { return e.place() == at }); listed || err != nil {
		return listed
	}
	if form, err := d.registration(instance, at, ttl); err == nil {
		_ = d.register(ctx, form) // the next look tells whether it was of use
	}
	return false
}

// Delete implements registry.Driver.
func (d *driver) Delete(ctx context.Context, instance weft.Instance) error {
	at, err := placeOf(instance)
	if err != nil {
		return err
	}
	key := instanceKey{instance.Service, instance.ID}
	before, known := d.known(key)
	err = d.remove(ctx, instance.Service, at)
	if known && before.at != at { // its new address has not come to Nacos
		err = errors.Join(err, d.remove(ctx, instance.Service, before.at))
	}
	if err != nil {
		return fmt.Errorf("nacos: withdraw instance %q of %s: %w", instance.ID, instance.Service, err)
	}
	d.forget(key)
	return nil
}

// remove withdraws what is registered at a place. That there is nothing is no error.
func (d *driver) remove(ctx context.Context, service string, at place) error {
	return d.client.call(ctx, request{method: http.MethodDelete, path: instancePath, form: d.form(service, at)}, nil)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// weight is what Nacos' other clients go by: 1 is usual, 0 wants no calls.
func weight(instance weft.Instance) string {
	w := instance.Weight
	switch {
	case instance.State != weft.On:
		return "0"
	case w == 0:
		w = weft.DefaultWeight
	}
	return strconv.FormatFloat(min(max(float64(w)/weft.DefaultWeight, 0), 10000), 'f', -1, 64)
}
