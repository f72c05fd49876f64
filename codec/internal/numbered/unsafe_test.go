//go:build !purego

package numbered

const purego = false
