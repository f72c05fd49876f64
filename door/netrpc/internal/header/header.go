// Package header has what stands before each body on the wire of net/rpc. The names
// travel: a connection is recognized by that of Request.
package header

// Request stands before the arguments of a call.
type Request struct {
	ServiceMethod string
	Seq           uint64
}

// Response stands before its reply, or before an empty struct if Error is not empty.
type Response struct {
	ServiceMethod string
	Seq           uint64
	Error         string
}
