//go:build purego

package msgpack

const purego = true
