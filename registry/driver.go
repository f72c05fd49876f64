package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weftrpc/weft"
)

// Driver is plain access to one kind of registry. It does each thing once and says
// how it went; to go on for as long as it takes is the task of Registry, which is
// built on it. Its methods may be called at the same time. Package registrytest
// proves that a driver keeps these promises.
//
// A driver whose registry can keep documents implements Documents as well.
type Driver interface {
	// Put publishes an instance, in the place of what its service has under its ID,
	// and returns when the registry has it. Without Refresh the registry drops it
	// after ttl, or somewhat later: at the least time it knows, and at a multiple of
	// it when it checks seldom.
	Put(ctx context.Context, instance weft.Instance, ttl time.Duration) error

	// Refresh keeps a published instance for another ttl. Watchers see no change. It
	// returns ErrLost when the registry does not have the instance, whatever the
	// reason; it is then published anew.
	Refresh(ctx context.Context, instance weft.Instance, ttl time.Duration) error

	// Delete withdraws an instance at once. That there is none is no error.
	Delete(ctx context.Context, instance weft.Instance) error

	// Watch calls emit with the whole list of a service, of no instances too, first
	// as soon as it is known and then whenever it has changed, and also without a
	// change at least every ten seconds while the registry confirms the list. It
	// returns an error, never nil, when ctx ends or as soon as the list can no longer
	// be vouched for. It calls emit from one goroutine at a time, and not after it
	// has returned. The list belongs to emit.
	Watch(ctx context.Context, service string, emit func(List)) error

	// Close gives back what the driver holds; what it published is left to expire.
	// No other method is called after it.
	Close() error
}

// ErrLost is what Refresh returns when the registry does not have the instance.
var ErrLost = errors.New("registry: the instance is not registered")

// ErrReadOnly is what a driver returns whose registry cannot be written to.
var ErrReadOnly = errors.New("registry: servers cannot register themselves here")

// List is the instances of one service, as a registry has them.
type List struct {
	Instances []weft.Instance
	Invalid   []Invalid // what was found under the service and cannot be used
	// Revision grows with every change of the registry, if the registry counts its
	// changes; otherwise 0. Of two lists with revisions the greater one is newer.
	Revision uint64
}

// Invalid is an entry of a registry that is no instance.
type Invalid struct {
	ID  string
	Err error
}

// same reports whether the same is wrong with the same entry.
func (i Invalid) same(o Invalid) bool { return i.ID == o.ID && i.Err.Error() == o.Err.Error() }

// Add decodes the value that the registry has under id, and adds the instance, or
// why it is none.
func (l *List) Add(service, id string, value []byte) {
	instance, err := Decode(service, id, value)
	if err != nil {
		l.Invalid = append(l.Invalid, Invalid{id, err})
		return
	}
	l.Instances = append(l.Instances, instance)
}

// maxValue is how many bytes an encoded instance can have.
const maxValue = 64 << 10

// Encode makes the JSON of an instance, for registries that keep bytes.
func Encode(instance weft.Instance) ([]byte, error) {
	value, err := json.Marshal(instance)
	if err == nil && len(value) > maxValue {
		err = fmt.Errorf("registry: instance %q of %s has %d bytes of JSON, at most %d are allowed", instance.ID, instance.Service, len(value), maxValue)
	}
	return value, err
}

// Decode reads what Encode writes, found in a registry under service and id, and
// checks it. Unknown fields are ignored: a newer server may have written them.
func Decode(service, id string, value []byte) (weft.Instance, error) {
	var instance weft.Instance
	if len(value) > maxValue {
		return instance, fmt.Errorf("registry: instance %q of %s has %d bytes, at most %d are allowed", id, service, len(value), maxValue)
	}
	if err := json.Unmarshal(value, &instance); err != nil {
		return instance, fmt.Errorf("registry: instance %q of %s: %w", id, service, err)
	}
	if instance.Service != service || instance.ID != id {
		return instance, fmt.Errorf("registry: what is registered as %q of %s says it is %q of %s", id, service, instance.ID, instance.Service)
	}
	return instance, instance.Check()
}
