package thrift

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/weftrpc/weft"
)

// Set is a slice that is a set in Thrift, also where no tag can say so: in a container, or as the result of a method.
// Its elements should differ; this is not checked.
type Set[T any] []T

// ThriftSet marks the type.
func (Set[T]) ThriftSet() {}

// BinaryKey is a binary in Thrift as the key of a map, where a []byte cannot stand.
type BinaryKey string

// ThriftBinary marks the type.
func (BinaryKey) ThriftBinary() {}

// UUID is a uuid in Thrift.
type UUID [16]byte

// ThriftUUID marks the type.
func (UUID) ThriftUUID() {}

// String is the usual form, as in 01234567-89ab-cdef-0123-456789abcdef.
func (u UUID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// MarshalText implements encoding.TextMarshaler.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. The dashes may be left out.
func (u *UUID) UnmarshalText(text []byte) error {
	id, err := hex.DecodeString(strings.ReplaceAll(string(text), "-", ""))
	if err != nil || len(id) != len(u) {
		return fmt.Errorf("thrift: %.64q is no uuid: expected 32 hexadecimal digits", text)
	}
	copy(u[:], id)
	return nil
}

// Caller makes the calls of generated clients that have one-way methods: a Client, a Peer, a cluster.Client.
type Caller interface {
	weft.Caller
	// Notify makes a one-way call; see weft.Client.Notify.
	Notify(ctx context.Context, method string, args any, opts ...weft.CallOption) error
}
