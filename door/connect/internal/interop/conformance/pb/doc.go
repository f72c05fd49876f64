// Package pb has the messages of Connect's conformance suite, as connectrpc.com/conformance v1.0.7 has
// generated them: its own package is internal. They are under the Apache License 2.0, by The Connect Authors.
package pb
