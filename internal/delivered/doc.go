// Package delivered tells whether what was sent on a connection has arrived.
package delivered
