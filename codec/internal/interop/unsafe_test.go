//go:build !purego

package interop

const purego = false
