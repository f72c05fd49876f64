// Package registry keeps servers known to their clients.
//
// A [Registry] has two sides. A server registers its instances with it, and it
// keeps them published: it refreshes them, publishes them again when the registry
// has lost them, and withdraws them at the end. A client watches a service with it,
// and is handed a [Snapshot] whenever the list of instances changes.
//
// Each kind of registry has a package of its own, whose New returns a *Registry:
// memory, static and file in this module, etcd, zookeeper, consul, redis, nacos, dns
// and mdns in modules of their own. [Join] makes one of several, for a migration. To
// add a kind, implement [Driver], which has five methods, and prove it with package
// registrytest.
//
// # A registry that fails
//
// A registry that is away never takes a known server from a client:
//
//   - While it cannot be reached, the last good list stays, and says how old it is.
//   - A list that is suddenly empty, or has lost more than half of its instances, is
//     not accepted at once: what it adds is used, what it misses is kept for
//     Config.Protect, 30 s, or until it comes back.
//   - A list of an older revision is not used, until it has been the registry's
//     answer for Config.Protect: then the registry has lost its data.
//   - A document that is gone is kept for Config.Protect as well.
//   - A document that a client cannot use, such as broken rules, does not replace the
//     last good one, which is on disk too.
//   - The last good list is kept on disk, so that a client that starts while the
//     registry is away finds its servers.
//
// When the registry is back, lists are up to date and lost registrations are renewed
// within about three seconds, of many registrations within their TTL;
// attempts are spread, and made after failures at most ten times a second by each
// Registry for registrations, and as often for watches, or as often as brings all of
// them back within a TTL.
package registry
