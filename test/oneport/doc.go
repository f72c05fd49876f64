// Package oneport proves that every wire there is can be spoken on one port at the same time, in
// plaintext and over TLS, among connections that speak none. It has only tests.
package oneport
