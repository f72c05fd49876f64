// Package match is how plugins choose calls: by patterns of method names, and by the names of
// principals.
package match

import (
	"fmt"
	"slices"
	"strings"
)

// Methods are patterns of method names: "Arith.Mul", "Arith.*" for a service, "*" for all.
type Methods []string

// Check tells what is wrong with the patterns.
func (m Methods) Check() error {
	for _, p := range m {
		service, isService := strings.CutSuffix(p, ".*")
		switch {
		case p == "*":
		case isService && service != "" && !strings.Contains(service, "*"):
		case !isService && strings.Contains(p, ".") && !strings.Contains(p, "*"):
		default:
			return fmt.Errorf("the method %q is none of Service.Method, Service.* and *", p)
		}
	}
	return nil
}

// Has reports whether a method is among them. No patterns have every method.
func (m Methods) Has(method string) bool {
	return len(m) == 0 || slices.Contains(m, "*") || m.Names(method)
}

// Names reports whether a pattern names a method or its service; "*" does not.
func (m Methods) Names(method string) bool {
	for _, p := range m {
		if p == method {
			return true
		}
		if service, ok := strings.CutSuffix(p, ".*"); ok && Service(method) == service {
			return true
		}
	}
	return false
}

// Own reports whether a method is one of the services that weft registers for operators and tools:
// health, administration, reflection.
func Own(method string) bool {
	if !strings.HasPrefix(method, "weft.") && !strings.HasPrefix(method, "grpc.") {
		return false
	}
	switch Service(method) {
	case "weft.Admin", "weft.v1.Health", "grpc.health.v1.Health",
		"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection":
		return true
	}
	return false
}

// Service is the service of a method.
func Service(method string) string {
	if dot := strings.LastIndexByte(method, '.'); dot > 0 {
		return method[:dot]
	}
	return method
}

// Principal is the name of a principal: a string is its own, and others have a method String.
// ok is false for one without a name.
func Principal(p any) (name string, ok bool) {
	switch p := p.(type) {
	case string:
		return p, p != ""
	case fmt.Stringer:
		name = p.String()
		return name, name != ""
	}
	return "", false
}

// Credential reports whether a key of metadata carries a credential: that of a call, that for administration, or what the HTTP door
// takes from a browser or a proxy.
func Credential(key string) bool {
	switch strings.ToLower(key) {
	case "authorization", "admin-authorization", "proxy-authorization", "cookie":
		return true
	}
	return false
}
