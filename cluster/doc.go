// Package cluster is one client over many servers.
//
//	reg, err := etcd.New(etcd.Config{Endpoints: []string{"127.0.0.1:2379"}})
//	c, err := cluster.New(&cluster.Config{Registry: reg})
//	p, err := weft.Invoke[Product](ctx, c, "Arith.Mul", &Args{7, 8})
//
// A [Client] learns the servers of a service from a registry when the service is first called, connects to those it uses, and keeps one
// client of each for all services. Every call goes this way:
//
//	rules     which instances may have it, and how it is to be made   cluster/route
//	balancer  which of these gets it                                  cluster/balance
//	breaker   whether that one gets this method now                   cluster/breaker
//	health    whether it gets anything now                            cluster/health
//	fail mode whether, where and when it is made again                cluster/retry
//
// # What is safe
//
// A call that certainly did not run is made again on another server. A call that may have run is not, unless its method is marked
// idempotent: with Config.Methods, with a rule, or with [WithIdempotent]. One budget pays for retries and hedges, so a service in trouble
// gets about a tenth more calls, not a multiple; and a call made by a handler whose own call is a retry is not retried.
//
// # What is explained
//
// When no server can take a call, the error names every instance that is known, where the list is from, how old it is, and why each
// instance was left out. [Client.Explain] says what a call would do now.
package cluster
