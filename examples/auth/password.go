package main

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/weftrpc/weft"
)

// users are the known users, with the hashes of their passwords. A check is slow
// on purpose: a server with many calls checks a password once, in AuthenticateConn,
// or issues a token for it.
type users map[string]secret

// secret is a salted hash of a password.
type secret struct{ salt, hash []byte }

const rounds = 600_000

func newUsers(passwords map[string]string) (users, error) {
	u := make(users)
	for name, password := range passwords {
		salt := []byte(rand.Text())
		hash, err := pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
		if err != nil {
			return nil, err
		}
		u[name] = secret{salt, hash}
	}
	return u, nil
}

// verify takes a token of HTTP's Basic authentication.
func (u users) verify(token string, _ *weft.CallInfo) (*account, error) {
	plain, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return nil, errors.New("user and password are not in base64")
	}
	name, password, _ := strings.Cut(string(plain), ":")
	want := u[name] // of an unknown user: nothing, which no hash equals
	hash, err := pbkdf2.Key(sha256.New, password, want.salt, rounds, sha256.Size)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare(hash, want.hash) != 1 {
		return nil, errors.New("wrong user or password")
	}
	return &account{name, "user and password"}, nil
}

// password is the client's side.
func password(name, password string) func(context.Context, string) (weft.Credential, error) {
	return weft.StaticCredential("Basic", base64.StdEncoding.EncodeToString([]byte(name+":"+password)))
}
