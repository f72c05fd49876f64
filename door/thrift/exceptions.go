package thrift

import (
	"context"
	"errors"
	"maps"
	"reflect"

	"github.com/weftrpc/weft"
)

// Exception is one that a method declares: "throws (ID: Name)".
type Exception struct {
	ID    int16
	Name  string
	Value any // of the struct, or a pointer to one, for example (*NotFound)(nil)
}

// Exceptions are those of methods, by the names of the methods in weft.
type Exceptions map[string][]Exception

// Plugin returns a plugin for servers whose handlers return exceptions as errors: it does what [Exceptions.Throw]
// does for every method. Generated register functions need no plugin.
func (x Exceptions) Plugin() weft.Plugin {
	all := maps.Clone(x)
	return weft.Plugin{Name: "thrift exceptions", Server: func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		reply, err := next(ctx, info, req)
		if err == nil {
			return reply, nil
		}
		return nil, all.Throw(info.Method, err)
	}}
}

// Throw returns the error of a handler as clients of Thrift are to get it: that of [Throw] if the error is, or wraps,
// an exception that the method declares, and else the error itself.
func (x Exceptions) Throw(method string, err error) error {
	if err == nil {
		return nil
	}
	for _, e := range x[method] {
		if cause := within(err, indirect(reflect.TypeOf(e.Value))); cause != nil {
			return Throw(e.ID, cause)
		}
	}
	return err
}

// within finds an error of a type, or a pointer to one, in an error; nil: there is none.
func within(err error, t reflect.Type) error {
	for err != nil && indirect(reflect.TypeOf(err)) != t {
		if all, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range all.Unwrap() {
				if found := within(e, t); found != nil {
					return found
				}
			}
			return nil
		}
		err = errors.Unwrap(err)
	}
	return err
}

// Catch returns the error of a call as Go programs expect it: if it is an exception that the method declares, and
// whose type in Go is an error, errors.As finds the exception in it, beside the [weft.Error].
func (x Exceptions) Catch(method string, err error) error {
	e, ok := errors.AsType[*weft.Error](err)
	if !ok {
		return err
	}
	t := thrownOf(e)
	for _, declared := range x[method] {
		if t == nil || t.ID != declared.ID {
			continue
		}
		v := reflect.New(indirect(reflect.TypeOf(declared.Value))).Interface()
		if thrown, ok := v.(error); ok && t.Decode(v) == nil {
			return &caught{e, thrown}
		}
	}
	return err
}

// caught is the error of a call that ended with an exception.
type caught struct {
	told   *weft.Error
	thrown error
}

func (c *caught) Error() string { return c.told.Error() }

// Unwrap gives errors.Is and errors.As both.
func (c *caught) Unwrap() []error { return []error{c.thrown, c.told} }

func indirect(t reflect.Type) reflect.Type {
	if t != nil && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
