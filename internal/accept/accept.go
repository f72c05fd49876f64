// Package accept has what a server must know of the listeners of its users, which may be of any type.
package accept

import (
	"errors"
	"net"
	"reflect"
)

// Key is a listener as the key of a map: its type and address where it cannot be one itself, as a struct with a slice cannot.
func Key(l net.Listener) any {
	if reflect.ValueOf(l).Comparable() {
		return l
	}
	return [...]string{reflect.TypeOf(l).String(), l.Addr().Network(), l.Addr().String()}
}

// Temporary reports whether Accept, which has returned err, may well succeed later.
func Temporary(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	if !ok || ne.Timeout() {
		return ok
	}
	t, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && t.Temporary()
}
