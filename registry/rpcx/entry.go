package rpcx

import (
	"cmp"
	"slices"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// Entry is a key of a registry with its value, decoded.
type Entry struct {
	// Node is the last part of the key.
	Node string
	// Revision is greater the later the value was written.
	Revision uint64
	// Instance is what the entry stands for, if Err is nil.
	Instance weft.Instance
	// Err is why the entry is no instance.
	Err error
}

// Read decodes a value that was found under a node of a service.
func Read(service, node string, value []byte, revision uint64) Entry {
	e := Entry{Node: node, Revision: revision}
	e.Instance, e.Err = Decode(service, node, value)
	return e
}

// List makes a list of entries, which it sorts. An instance of weft that has moved to another address has
// two keys until the older one expires: the later one counts.
func List(entries []Entry) registry.List {
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), cmp.Compare(a.Node, b.Node))
	})
	var list registry.List
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		switch {
		case e.Err != nil:
			list.Invalid = append(list.Invalid, registry.Invalid{ID: e.Node, Err: e.Err})
		case !seen[e.Instance.ID]:
			seen[e.Instance.ID] = true
			list.Instances = append(list.Instances, e.Instance.Clone())
		}
	}
	return list
}
