package keyed

import (
	"slices"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// DefaultMaxKeys is how many keys an entry of a Config tells apart where MaxKeys is 0.
const DefaultMaxKeys = 10_000

// Config is what the configurations of the plugins that count calls by key have in common.
type Config struct {
	Plugin      string // the name of the plugin, for errors
	List        string // the field with the entries, such as "Limits"
	Entries     int    // how many there are
	MaxKeys     int    // how many keys each entry tells apart; 0: DefaultMaxKeys
	OwnServices bool   // whether calls of the services that weft registers count for every entry
}

// Keys checks the configuration, and returns how many keys each entry tells apart.
func (c Config) Keys() (int, error) {
	switch {
	case c.Entries == 0:
		return 0, weft.Errorf(weft.InvalidArgument, "%s: Config.%s is empty, want one or more", c.Plugin, c.List)
	case c.MaxKeys < 0:
		return 0, weft.Errorf(weft.InvalidArgument, "%s: Config.MaxKeys is %d, want 0 (%d) or more", c.Plugin, c.MaxKeys, DefaultMaxKeys)
	case c.MaxKeys == 0:
		return DefaultMaxKeys, nil
	}
	return c.MaxKeys, nil
}

// Wrong is the error of an entry.
func (c Config) Wrong(entry int, format string, args ...any) error {
	return weft.Errorf(weft.InvalidArgument, "%s: Config.%s[%d]: "+format, append([]any{c.Plugin, c.List, entry}, args...)...)
}

// Scope checks what an entry says of the calls that it counts.
func (c Config) Scope(entry int, by By, methods []string) (Scope, error) {
	if !by.known() {
		return Scope{}, c.Wrong(entry, "By is %q, want server, service, method, principal or address", by)
	}
	patterns := match.Methods(slices.Clone(methods))
	if err := patterns.Check(); err != nil {
		return Scope{}, c.Wrong(entry, "Methods: %w", err)
	}
	return Scope{By: by, methods: patterns, own: c.OwnServices}, nil
}

// Scope says which calls are counted, and by what.
type Scope struct {
	By      By
	methods match.Methods
	own     bool // those of the services that weft registers are counted too
}

// Has reports whether calls of a method are counted. Those of the services that weft registers are
// where the patterns name the method or its service.
func (s Scope) Has(method string) bool {
	return s.methods.Has(method) && (s.own || !match.Own(method) || s.methods.Names(method))
}

// Wait is a time to wait as the text of a refusal has it: rounded up to seconds, below a second to
// milliseconds.
func Wait(d time.Duration) time.Duration {
	unit := time.Second
	if d < unit {
		unit = time.Millisecond
	}
	return (d + unit - 1).Truncate(unit)
}
