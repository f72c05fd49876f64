package zookeeper

import (
	"fmt"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/rpcx"
)

// NewRpcx makes a registry of what servers of rpcx publish in ZooKeeper, in the layout of its plugin: see package
// rpcx below registry. Prefix is their BasePath, and must be named. Servers of weft that register with it are
// found by clients of rpcx. It keeps no documents.
func NewRpcx(cfg Config) (*registry.Registry, error) {
	d, err := newRpcxDriver(cfg)
	if err != nil {
		return nil, err
	}
	// Without the methods of registry.Documents.
	return registry.New("zookeeper "+strings.Join(d.servers, ",")+d.prefix+" (rpcx)", struct{ registry.Driver }{d}, &cfg.Registry)
}

func newRpcxDriver(cfg Config) (*driver, error) {
	fleet := rpcx.Base(cfg.Prefix)
	if err := fleet.Check(); err != nil {
		return nil, err
	}
	cfg.Prefix = "/" + strings.Trim(cfg.Prefix, "/")
	d, err := newDriver(cfg)
	if err != nil {
		return nil, err
	}
	d.fleet = fleet
	return d, nil
}

// instancePath is the path of an instance.
func (d *driver) instancePath(i weft.Instance) (string, error) {
	if d.fleet == "" {
		return d.servicePath(i.Service) + "/" + escape(i.ID), nil
	}
	node, err := rpcx.Node(i.Address)
	if err == nil && strings.Contains(node, "/") {
		err = fmt.Errorf("zookeeper: rpcx cannot have %q as the name of a node", node)
	}
	return d.servicePath(i.Service) + "/" + node, err
}

// nodeOf is the path and the value of an instance.
func (d *driver) nodeOf(i weft.Instance) (path string, value []byte, err error) {
	if path, err = d.instancePath(i); err != nil {
		return "", nil, err
	}
	if d.fleet != "" {
		value, err = rpcx.Encode(i)
	} else {
		value, err = registry.Encode(i)
	}
	return path, value, err
}

// emitFleet is emit in the layout of rpcx.
func (r *roll) emitFleet() {
	revision := uint64(r.changed)
	entries := make([]rpcx.Entry, 0, len(r.entries))
	for _, e := range r.entries {
		revision = max(revision, uint64(e.changed))
		entries = append(entries, rpcx.Entry{Node: e.id, Revision: uint64(e.changed), Instance: e.instance, Err: e.err})
	}
	list := rpcx.List(entries)
	list.Revision = revision
	r.to(list)
}
