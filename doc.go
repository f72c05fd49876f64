// Package weft is a distributed RPC framework.
//
// A [Server] offers methods; a [Client] calls them by name. Methods are typed Go
// functions, registered one by one with [Handle] or all of a value's with
// [Server.Register]; no code has to be generated, and generated messages are welcome.
// Many calls and streams share one connection, in both directions: a handler can
// call its caller back through its [Peer].
//
// Every failed call returns an [*Error] with a [Code] and an [Outcome], which says
// whether the call may be made again.
package weft
