package httpconn

import (
	"sync/atomic"

	"github.com/weftrpc/weft"
)

// Method is the method of an address, which is looked up once. The zero value is ready; it may be used concurrently.
type Method struct {
	found atomic.Pointer[weft.DoorMethod]
}

// Of is the method of a name, the same in each call; nil: there is none.
func (m *Method) Of(c *weft.DoorConn, name string) *weft.DoorMethod {
	found := m.found.Load()
	if found == nil {
		found = c.Method(name)
		m.found.Store(found)
	}
	return found
}
