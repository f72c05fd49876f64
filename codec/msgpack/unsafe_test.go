//go:build !purego

package msgpack

const purego = false
