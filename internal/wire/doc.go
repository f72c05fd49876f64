// Package wire is weft's own protocol as bytes: it appends frames to a slice and
// parses them out of one. It starts no goroutine, opens no connection and reads
// no clock. docs/PROTOCOL.md describes the same bytes in words; the vectors in
// testdata/vectors hold both to it.
package wire
