package main

import (
	"crypto/subtle"
	"errors"

	"github.com/weftrpc/weft"
)

// staticToken takes one token that never changes, for a single caller such as a
// job. The client's side is weft.StaticCredential.
func staticToken(token, name string) verifier {
	return func(got string, _ *weft.CallInfo) (*account, error) {
		// In constant time, so that the time taken does not tell how much was right.
		if subtle.ConstantTimeCompare([]byte(got), []byte(token)) != 1 {
			return nil, errors.New("wrong token")
		}
		return &account{name, "a static token"}, nil
	}
}
