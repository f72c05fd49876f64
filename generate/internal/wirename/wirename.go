// Package wirename finds services that a server would not register, by the names of their methods on the wire.
package wirename

import (
	"fmt"
	"path/filepath"

	"github.com/weftrpc/weft/internal/wire"
)

// Methods are those of one run, of which a Go package has each once. The value is where they are.
type Methods map[Method]string

// Method is a method in the Go package of a folder.
type Method struct{ Folder, Service, Name string }

// Add notes the methods of a service, which is at a place. The error is for the first that a server would not register.
func (m Methods) Add(place, folder, service string, methods []string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	for _, name := range methods {
		if err := wire.CheckServiceMethod(service+"."+name, true); err != nil {
			return fmt.Errorf("%s: a server does not register the service %q: %w", place, service, err)
		}
		method := Method{folder, service, name}
		if other, ok := m[method]; ok {
			return fmt.Errorf("%s: the service at %s has the method %s.%s too, of which a server registers one: rename a service, or one of its methods", place, other, service, name)
		}
		m[method] = place
	}
	return nil
}
