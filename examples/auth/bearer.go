package main

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/weftrpc/weft"
)

// issuer is an authorization server as in OAuth 2.0, in this process: it issues
// opaque tokens and answers questions about them, as RFC 7662 describes. With a real
// one, introspect is a request over HTTP whose answer is kept for some seconds.
type issuer struct {
	mu     sync.Mutex
	tokens map[string]introspection
}

// introspection is what is known about a token: the fields of RFC 7662.
type introspection struct {
	Active  bool
	Subject string
	Expires time.Time
}

func newIssuer() *issuer { return &issuer{tokens: make(map[string]introspection)} }

// issue makes a token.
func (s *issuer) issue(subject string, lifetime time.Duration) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	token := rand.Text()
	s.tokens[token] = introspection{Subject: subject, Expires: time.Now().Add(lifetime)}
	return token
}

// introspect returns whether a token is valid, and its subject.
func (s *issuer) introspect(token string) introspection {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, known := s.tokens[token]
	info.Active = known && time.Now().Before(info.Expires)
	return info
}

func (s *issuer) verify(token string, _ *weft.CallInfo) (*account, error) {
	info := s.introspect(token)
	if !info.Active {
		return nil, errors.New("the token is unknown or has expired")
	}
	return &account{info.Subject, "a bearer token"}, nil
}

// credential is the client's side: it gets a token for the first call, and a new
// one when that is about to expire.
func (s *issuer) credential(subject string, lifetime time.Duration) func(context.Context, string) (weft.Credential, error) {
	const early = 5 * time.Second
	var mu sync.Mutex
	var token string
	var renew time.Time
	return func(context.Context, string) (weft.Credential, error) {
		mu.Lock()
		defer mu.Unlock()
		if !time.Now().Before(renew) {
			token, renew = s.issue(subject, lifetime), time.Now().Add(lifetime-early)
		}
		return weft.Credential{Scheme: "Bearer", Token: token}, nil
	}
}
