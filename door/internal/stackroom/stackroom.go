// Package stackroom reads from connections in a way that keeps the stack of the goroutine large enough for the call that comes next.
package stackroom

import (
	"io"
	"runtime"
)

// Read reads from r, for a goroutine that waits for a client and then decodes its request or runs its call.
//
// The garbage collector halves a stack of which less than a quarter is in use, as it would be that of such a goroutine. The call
// then begins with growing it again, some microseconds. So something large is in use while the goroutine waits.
func Read(r io.Reader, p []byte) (int, error) { return read(r, p, false) }

// read has a large frame, though nothing is in it: it is not cleared where it is not reached.
//
//go:noinline
func read(r io.Reader, p []byte, never bool) (int, error) {
	if never {
		var frame [2 << 10]byte
		runtime.KeepAlive(&frame)
	}
	return r.Read(p)
}
