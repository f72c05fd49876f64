package dns

import (
	"context"
	"slices"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// driver reads lists. It holds nothing between two questions.
type driver struct {
	name     func(service string) string
	port     int // 0: SRV records name it
	scheme   string
	fixed    []string // the servers to ask; none: the system's
	min, max time.Duration
}

var _ registry.Driver = (*driver)(nil)

func (d *driver) Put(context.Context, weft.Instance, time.Duration) error {
	return registry.ErrReadOnly
}

func (d *driver) Refresh(context.Context, weft.Instance, time.Duration) error {
	return registry.ErrReadOnly
}

func (d *driver) Delete(context.Context, weft.Instance) error { return registry.ErrReadOnly }

func (d *driver) Close() error { return nil }

// confirmEvery is after how long at most a list is emitted again.
const confirmEvery = 5 * time.Second

// Watch asks for the list whenever its time to live has run out. Until then the zone
// vouches for it, so that it is confirmed without a question.
func (d *driver) Watch(ctx context.Context, service string, emit func(registry.List)) error {
	for {
		list, good, err := d.look(ctx, service)
		if err != nil {
			return err
		}
		for until := time.Now().Add(good); good > 0; good = time.Until(until) {
			emit(registry.List{Instances: slices.Clone(list.Instances), Invalid: slices.Clone(list.Invalid)})
			if err := sleep(ctx, min(time.Until(until), confirmEvery)); err != nil {
				return err
			}
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
