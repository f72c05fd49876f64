//go:build !race && !purego

package shop

const allocates = false
