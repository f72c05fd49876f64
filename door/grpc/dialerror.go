package grpc

import "github.com/weftrpc/weft"

// dialError is the error of a connection that was not made. Its text has no code, since the client wraps it into an error that begins with the code.
type dialError struct{ known *weft.Error }

// withoutCode makes a dialError of an error of weft. Others stay as they are.
func withoutCode(err error) error {
	if known, ok := err.(*weft.Error); ok {
		return dialError{known}
	}
	return err
}

// Error implements error.
func (e dialError) Error() string {
	if e.known.Reason != "" {
		return e.known.Message + " [" + e.known.Reason + "]"
	}
	return e.known.Message
}

// Unwrap returns the error with its code.
func (e dialError) Unwrap() error { return e.known }
