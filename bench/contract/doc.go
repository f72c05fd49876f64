// Package contract is what a program must understand to be measured as a peer,
// whatever language it is written in: three commands with flags, and lines of
// JSON on its standard output. CONTRACT.md of the bench module has it in full,
// with a session shown line by line; a Go peer gets all of it from
// [github.com/weftrpc/weft/bench/harness.Main].
package contract
