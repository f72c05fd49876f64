// Package interop tries package connect against connect-go and Connect's conformance suite. It is a
// module of its own, so that the module of the door needs neither.
package interop
