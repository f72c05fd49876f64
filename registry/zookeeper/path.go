package zookeeper

import (
	"fmt"
	"net/url"
	"strings"
)

// The folders below the prefix.
const (
	instances = "/instances/"
	documents = "/documents/"
)

// checkPrefix reports whether a path is one that ZooKeeper takes.
func checkPrefix(prefix string) error {
	parts := strings.Split(prefix, "/")
	if len(parts) < 2 || parts[0] != "" {
		return fmt.Errorf("zookeeper: Prefix %q, want a path such as %q", prefix, DefaultPrefix)
	}
	for _, p := range parts[1:] {
		if p == "" || escape(p) != p {
			return fmt.Errorf("zookeeper: Prefix %q has a part %q, want letters, digits and -_.~$&+=:@ between slashes", prefix, p)
		}
	}
	return nil
}

// servicePath is the folder of the instances of a service.
func (d *driver) servicePath(service string) string {
	if d.fleet != "" {
		return "/" + strings.TrimSuffix(d.fleet.Folder(service), "/")
	}
	return d.prefix + instances + escape(service)
}

func (d *driver) documentPath(name string) string {
	return d.prefix + documents + escape(name)
}

// escape makes one part of a path of any text but the empty one.
func escape(name string) string {
	if name == "." || name == ".." {
		return strings.ReplaceAll(name, ".", "%2E") // they mean something in a path
	}
	return url.PathEscape(name)
}

// unescape undoes escape. Of the many ways to encode a text only that of escape is
// taken, so that no two nodes mean the same.
func unescape(part string) (string, error) {
	name, err := url.PathUnescape(part)
	if err != nil || escape(name) != part {
		return "", fmt.Errorf("zookeeper: the node %q is not named as an instance is", part)
	}
	return name, nil
}

// parent is the path of the node above; "" above the first.
func parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }
