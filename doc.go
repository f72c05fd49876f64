// Package weft is a distributed RPC framework.
//
// A [Server] offers methods; a [Client] calls them by name, "Service.Method". Methods are typed Go functions, registered one by one with
// [Handle], or all those of a value with [Services.Register]. No code has to be generated:
//
//	srv := weft.NewServer(nil)
//	err := weft.Handle(srv, "Greeter.Hello", func(ctx context.Context, name *string) (*string, error) { … })
//	err = srv.ListenAndServe(ctx, "tcp://:8972")
//
//	c, err := weft.Dial(ctx, "tcp://127.0.0.1:8972", nil)
//	text, err := weft.Invoke[string](ctx, c, "Greeter.Hello", "Ada")
//
// A message is any Go value that the codec of the call can carry. Protobuf messages, and structs whose
// fields have numbers, travel as protobuf and all others as MessagePack, unless another codec is chosen.
//
// Many calls and streams share one connection, in both directions: a handler calls its
// caller back through the [Peer] that [PeerFrom] returns.
//
// # Errors
//
// The error of every failed call is an [*Error]. Its [Code] says what went wrong, its Reason is one of the Reason constants or the
// handler's own, and its [Outcome] says whether the handler ran, and so whether the call may be made again.
//
// # Many servers
//
// A Client is one of a single server. Package cluster has a client of all servers that a registry knows; it is a [Caller] too, so Invoke
// and the other functions work with it. A server registers its services with [ServerConfig].Registry.
//
// # What runs around a call
//
// Interceptors, hooks, and a [Plugin], which is both as one value, are fields of both configurations. Authentication, [Limits], statistics
// and drain are the same for the calls of weft's own wire and for those of a [Door], which serves a foreign wire on the same port. A [Wire]
// is the other direction: a foreign protocol that a Client speaks.
//
// The guides are in docs/guide of the repository.
package weft
