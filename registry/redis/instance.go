package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// Put publishes an instance for ttl. Put of what is there already is a Refresh.
func (d *driver) Put(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	value, err := registry.Encode(instance)
	if err != nil {
		return err
	}
	t := d.service(instance.Service)
	err = d.scripts.put.Run(ctx, d.client, t.keys, t.channel, instance.ID, value, ttl.Milliseconds()).Err()
	if err != nil {
		return fmt.Errorf("redis: instance %q of %s cannot be published: %w", instance.ID, instance.Service, explain(err))
	}
	return nil
}

// Refresh keeps an instance for another ttl.
func (d *driver) Refresh(ctx context.Context, instance weft.Instance, ttl time.Duration) error {
	t := d.service(instance.Service)
	there, err := d.scripts.refresh.Run(ctx, d.client, t.keys, t.channel, instance.ID, ttl.Milliseconds()).Bool()
	if err != nil {
		return fmt.Errorf("redis: instance %q of %s cannot be refreshed: %w", instance.ID, instance.Service, explain(err))
	}
	if !there {
		return registry.ErrLost
	}
	return nil
}

// Delete withdraws an instance.
func (d *driver) Delete(ctx context.Context, instance weft.Instance) error {
	t := d.service(instance.Service)
	if err := d.scripts.remove.Run(ctx, d.client, t.keys, t.channel, instance.ID).Err(); err != nil {
		return fmt.Errorf("redis: instance %q of %s cannot be withdrawn: %w", instance.ID, instance.Service, explain(err))
	}
	return nil
}

// confirmEvery is how often an unchanged list is emitted.
const confirmEvery = 5 * time.Second

// Watch calls emit with the instances of a service. It ends when Redis does not answer
// for two seconds.
func (d *driver) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	t := d.service(service)
	r := roll{service: service}
	var emitted time.Time
	return d.follow(ctx, t, func(ctx context.Context) error {
		changed, err := r.read(d.scripts.list.Run(ctx, d.client, t.keys, t.channel, r.revision).Slice())
		if err != nil {
			return fmt.Errorf("redis: the instances of %s cannot be read: %w", service, explain(err))
		}
		if changed || time.Since(emitted) >= confirmEvery {
			emitted = time.Now()
			emit(r.clone())
		}
		return nil
	})
}

// roll is what was last read of the instances of a service.
type roll struct {
	service  string
	revision string // "": nothing was read yet
	list     registry.List
}

// read takes the answer of the script list.
func (r *roll) read(answer []any, err error) (changed bool, _ error) {
	if err != nil {
		return false, err
	}
	if len(answer) == 1 {
		return false, nil
	}
	if len(answer) != 2 {
		return false, wrongForm(len(answer))
	}
	text, isText := answer[0].(string)
	entries, isList := answer[1].([]any)
	revision, err := strconv.ParseUint(text, 10, 64)
	if !isText || !isList || err != nil || len(entries)%2 != 0 {
		return false, wrongForm(len(answer))
	}
	list := registry.List{Revision: revision}
	for i := 0; i < len(entries); i += 2 {
		id, isID := entries[i].(string)
		value, isValue := entries[i+1].(string)
		length, isLength := entries[i+1].(int64)
		switch {
		case isID && isValue:
			list.Add(r.service, id, []byte(value))
		case isID && isLength:
			err := fmt.Errorf("redis: instance %q of %s has %d bytes, at most %d are allowed", id, r.service, length, maxValue)
			list.Invalid = append(list.Invalid, registry.Invalid{ID: id, Err: err})
		default:
			return false, wrongForm(len(answer))
		}
	}
	r.revision, r.list = text, list
	return true, nil
}

// wrongForm is said of an answer that is not as the script makes it.
func wrongForm(parts int) error {
	return fmt.Errorf("an answer of %d parts is not of the form that the script gives it; is this a Redis?", parts)
}

// clone returns a copy of the list, which its receiver may keep.
func (r *roll) clone() registry.List {
	list := registry.List{Revision: r.list.Revision, Invalid: append([]registry.Invalid(nil), r.list.Invalid...)}
	for _, i := range r.list.Instances {
		list.Instances = append(list.Instances, i.Clone())
	}
	return list
}
