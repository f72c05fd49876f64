package weft

// Plugin is a rule around calls as one value: interceptors of both directions and hooks that belong together. Every field may be left
// empty. The same value may be part of any number of configurations.
//
// What runs around a call runs in this order, the first outermost: the plugins in the order of the configuration's list, then its own
// interceptors. Hooks run in the same order: those of the plugins before those of the configuration.
type Plugin struct {
	Name string // for error messages

	// Server and ServerStream run around the calls that this side answers: on a
	// Server those of its clients, on a Client those that its server makes.
	Server       UnaryInterceptor
	ServerStream StreamInterceptor

	// Client and ClientStream run around the calls that this side makes: on a Client its own, on a Server those to its clients.
	Client       UnaryInterceptor
	ClientStream ClientStreamInterceptor

	// Hooks are values that implement one or more of the hook interfaces.
	Hooks []any
}

// around is what a configuration puts around the calls of both directions.
type around struct {
	unary        []UnaryInterceptor
	streams      []StreamInterceptor
	client       []UnaryInterceptor
	clientStream []ClientStreamInterceptor
	hooks        *hooks
}

// gather collects what plugins and hooks say; a configuration's own interceptors come behind.
func gather(plugins []Plugin, hookValues []any) (around, error) {
	var a around
	var all []any
	for i, p := range plugins {
		empty := p.Server == nil && p.ServerStream == nil && p.Client == nil && p.ClientStream == nil && len(p.Hooks) == 0
		if empty {
			return a, Errorf(InvalidArgument, "weft: plugin %d (%q) of the configuration is empty", i, p.Name)
		}
		a.unary = appendSet(a.unary, p.Server, p.Server != nil)
		a.streams = appendSet(a.streams, p.ServerStream, p.ServerStream != nil)
		a.client = appendSet(a.client, p.Client, p.Client != nil)
		a.clientStream = appendSet(a.clientStream, p.ClientStream, p.ClientStream != nil)
		all = append(all, p.Hooks...)
	}
	var err error
	a.hooks, err = newHooks(append(all, hookValues...))
	return a, err
}

func appendSet[T any](list []T, v T, set bool) []T {
	if set {
		list = append(list, v)
	}
	return list
}
