package due

import (
	"context"
	"reflect"
	"time"
)

// Within returns ctx with an end after some time, for what waits. Its deadline must not be later than that of ctx.
func Within(ctx context.Context, left time.Duration) (context.Context, context.CancelFunc) {
	return until(ctx, time.Now().Add(left))
}

// until is Within for a time.
func until(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	if Endless(ctx) {
		ctx = context.WithoutCancel(ctx) // package context sets no timer where ctx has the same deadline
	}
	return context.WithDeadline(ctx, at)
}

// Endless reports whether a context has a deadline at which it does not end by itself.
func Endless(ctx context.Context) bool {
	_, ok := ctx.Deadline()
	return ok && ctx.Done() == nil
}

// Same reports whether two contexts are one. Those of a type that cannot be compared are taken for different ones. To ask a value
// allocates; one without bytes, as that of context.Background, holds nothing that could not be compared.
func Same(a, b context.Context) bool {
	t := reflect.TypeOf(a)
	return t == reflect.TypeOf(b) && (t.Kind() == reflect.Pointer || t.Size() == 0 && t.Comparable() || reflect.ValueOf(a).Comparable()) && a == b
}
