//go:build race || purego

package shop

// allocates says that other things than the code under test allocate, or that strings are
// copied.
const allocates = true
