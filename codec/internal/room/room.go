// Package room says how much memory the elements of a body may take: 32 MiB and 16 times the length of the body. An element
// may be a byte or two on the wire and a struct of hundreds of bytes in memory.
package room

import "fmt"

const (
	roomFree   = 32 << 20
	roomFactor = 16
)

// For returns how many bytes the elements of a body of that length may take.
func For(length int) int64 { return roomFree + roomFactor*int64(length) }

// Error is the error of a body of that length whose elements take more.
func Error(length int) error {
	return fmt.Errorf("elements take more than %d bytes of memory, which are 32 MiB and 16 times the length of the body", For(length))
}
