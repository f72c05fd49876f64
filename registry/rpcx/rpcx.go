// Package rpcx is how servers of rpcx are written in a registry, so that clients of weft find them, and clients
// of rpcx find servers of weft. The packages etcd, zookeeper, consul and redis below registry
// have a function NewRpcx each, which uses it:
//
//	reg, err := etcd.NewRpcx(etcd.Config{Endpoints: endpoints, Prefix: "rpcx_test"})
//	c, err := cluster.New(&cluster.Config{Registry: reg, Client: &weft.ClientConfig{Wires: []weft.Wire{rpcx.Wire(nil)}}})
//
// A server of a service is a key with a value:
//
//	BasePath/Service/tcp@10.0.0.7:8972    weight=5&group=blue&state=inactive&latitude=52.5&longitude=13.4
//
// Its instance has the ID "tcp@10.0.0.7:8972" and the address "rpcx://10.0.0.7:8972", which door/rpcx's
// wire reaches. Further pairs are its tags.
//
// A server of weft that is published in this way has the whole of its instance in the pair "weft" of its value:
// clients of weft get it back as it was and call it by weft's wire, clients of rpcx see the rest.
package rpcx

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// Base is the BasePath of rpcx's plugins, under which everything lies. A slash in front or behind does not count.
type Base string

// Check tells what is wrong with the path.
func (b Base) Check() error {
	if b.trimmed() == "" {
		return fmt.Errorf("registry/rpcx: the prefix is %q, want the BasePath of rpcx's servers, such as \"rpcx_test\"", string(b))
	}
	return nil
}

func (b Base) trimmed() string { return strings.Trim(string(b), "/") }

// Folder is what the keys of the instances of a service begin with, with a slash behind it and none in front. What would
// mean something in a path is written as in a URL.
func (b Base) Folder(service string) string {
	name := strings.NewReplacer("%", "%25", "/", "%2F").Replace(service)
	if name == "." || name == ".." {
		name = strings.ReplaceAll(name, ".", "%2E")
	}
	return b.trimmed() + "/" + name + "/"
}

// Key is the key of an instance of weft.
func (b Base) Key(i weft.Instance) (string, error) {
	node, err := Node(i.Address)
	return b.Folder(i.Service) + node, err
}

// The pairs of a value that have a meaning.
const (
	keyWeight    = "weight"
	keyState     = "state"
	keyGroup     = "group"
	keyLatitude  = "latitude"
	keyLongitude = "longitude"
	keyWeft      = "weft" // the whole instance of a server of weft, in JSON
	keyGroups    = "groups"
	inactive     = "inactive"
)

// Node is the last part of the key of an instance of weft with an address.
func Node(address string) (string, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	switch scheme {
	case "tcp", "rpcx":
		return "tcp@" + rest, nil
	case "unix", "rpcx+unix":
		return "unix@" + rest, nil
	}
	return "", fmt.Errorf("registry/rpcx: clients of rpcx cannot reach %q, want tcp:// or unix://", address)
}

// addressOf is the address of a server whose key ends with a node.
func addressOf(node string) (string, error) {
	network, rest, ok := strings.Cut(node, "@")
	if !ok {
		return "", fmt.Errorf("registry/rpcx: the key ends with %q, want network@host:port", node)
	}
	scheme := ""
	switch network {
	case "tcp", "tcp4", "tcp6", "reuseport", "iouring":
		scheme = "rpcx"
	case "http":
		scheme = "rpcx+http"
	case "unix":
		return "rpcx+unix://" + rest, nil
	default:
		return "", fmt.Errorf("registry/rpcx: %s: no wire of weft reaches rpcx's network %q", node, network)
	}
	if _, _, err := net.SplitHostPort(rest); err != nil {
		return "", fmt.Errorf("registry/rpcx: %s: %w", node, err)
	}
	return scheme + "://" + rest, nil
}

// maxValue is how many bytes a value can have.
const maxValue = 64 << 10

// Encode is the value of an instance of weft.
func Encode(i weft.Instance) ([]byte, error) {
	whole, err := registry.Encode(i)
	if err != nil {
		return nil, err
	}
	values := url.Values{keyWeft: {string(whole)}}
	put := func(key, value string) {
		if value != "" {
			values.Set(key, value)
		}
	}
	for key, value := range i.Tags {
		switch key {
		case keyWeft, keyWeight, keyState, keyGroup, keyLatitude, keyLongitude: // a tag has another meaning
		default:
			put(key, value)
		}
	}
	put(keyGroup, i.Group)
	if i.Weight != 0 {
		put(keyWeight, strconv.Itoa(max(i.Weight, 0)))
	}
	if i.State != weft.On {
		put(keyState, inactive)
	}
	if p := i.Position; p != nil {
		put(keyLatitude, strconv.FormatFloat(p.Latitude, 'g', -1, 64))
		put(keyLongitude, strconv.FormatFloat(p.Longitude, 'g', -1, 64))
	}
	value := values.Encode()
	if len(value) > maxValue {
		return nil, fmt.Errorf("registry/rpcx: instance %q of %s has a value of %d bytes, at most %d are allowed", i.ID, i.Service, len(value), maxValue)
	}
	return []byte(value), nil
}

// Decode is the instance of a key that ends with a node, and its value.
func Decode(service, node string, value []byte) (weft.Instance, error) {
	if len(value) > maxValue {
		return weft.Instance{}, fmt.Errorf("registry/rpcx: %s of %s has a value of %d bytes, at most %d are allowed", node, service, len(value), maxValue)
	}
	values, err := url.ParseQuery(string(value))
	if err != nil {
		return weft.Instance{}, fmt.Errorf("registry/rpcx: %s of %s: the value is not of the form a=b&c=d: %w", node, service, err)
	}
	if whole := values.Get(keyWeft); whole != "" {
		return decodeWhole(service, node, whole)
	}
	i := weft.Instance{Service: service, ID: node}
	if i.Address, err = addressOf(node); err != nil {
		return i, err
	}
	for key, all := range values {
		if err := set(&i, key, all); err != nil {
			return i, fmt.Errorf("registry/rpcx: %s of %s: %s is %q: %w", node, service, key, all[0], err)
		}
	}
	return i, i.Check()
}

// set takes one pair of a value over.
func set(i *weft.Instance, key string, all []string) (err error) {
	value := all[0]
	position := func() *weft.Position {
		if i.Position == nil {
			i.Position = new(weft.Position)
		}
		return i.Position
	}
	tag := func(key, value string) {
		if i.Tags == nil {
			i.Tags = make(map[string]string)
		}
		i.Tags[key] = value
	}
	switch key {
	case keyWeight:
		if i.Weight, err = strconv.Atoi(value); i.Weight == 0 {
			i.Weight = -1 // weft's 0 is the default
		}
	case keyState:
		if value == inactive {
			i.State = weft.Off
		}
	case keyGroup:
		i.Group = value
		if len(all) > 1 {
			tag(keyGroups, strings.Join(all, ","))
		}
	case keyLatitude:
		position().Latitude, err = strconv.ParseFloat(value, 64)
	case keyLongitude:
		position().Longitude, err = strconv.ParseFloat(value, 64)
	case "tps", "calls", "connections": // figures that rpcx's servers write again and again
	default:
		tag(key, value)
	}
	return err
}

func decodeWhole(service, node, whole string) (weft.Instance, error) {
	var i weft.Instance
	if err := json.Unmarshal([]byte(whole), &i); err != nil {
		return i, fmt.Errorf("registry/rpcx: %s of %s: the pair weft: %w", node, service, err)
	}
	if own, err := Node(i.Address); err != nil || own != node || i.Service != service {
		return i, fmt.Errorf("registry/rpcx: what is registered as %s of %s says it is %q of %s", node, service, i.Address, i.Service)
	}
	return i, i.Check()
}
