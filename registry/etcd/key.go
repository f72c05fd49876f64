package etcd

import (
	"fmt"
	"net/url"
)

// layout is the prefix of all keys, and knows what they look like.
type layout string

// service is what the keys of all instances of a service begin with.
func (l layout) service(name string) string { return l.instances() + url.PathEscape(name) + "/" }

// instances is what the keys of all instances begin with.
func (l layout) instances() string { return string(l) + "/instances/" }

func (l layout) instance(service, id string) string { return l.service(service) + url.PathEscape(id) }

func (l layout) document(name string) string { return string(l) + "/documents/" + url.PathEscape(name) }

// unescape returns the name that a part of a key stands for. There is one way to
// write a name, so that no two keys stand for the same.
func unescape(part string) (string, error) {
	name, err := url.PathUnescape(part)
	if err == nil && url.PathEscape(name) != part {
		err = fmt.Errorf("%q would be written %q", name, url.PathEscape(name))
	}
	if err != nil {
		return "", fmt.Errorf("etcd: key part %q is not an escaped name: %w", part, err)
	}
	return name, nil
}
