package jwt

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/logger"
)

// Token is a token that was fetched.
type Token struct {
	Value   string
	Expires time.Time // the zero time: by its claim exp; without one it does not expire
}

// The defaults of a TokensConfig.
const (
	DefaultEarly = time.Minute
	DefaultRetry = time.Second
)

// TokensConfig configures Tokens.
type TokensConfig struct {
	// Fetch gets a new token: TokenFile, ClientCredentials, or a function of the program. Its context
	// ends after ten seconds.
	Fetch func(ctx context.Context) (Token, error)
	// Early is how long before a token expires the next one is fetched, but not before half of its
	// time has passed. 0: DefaultEarly.
	Early time.Duration
	// Retry is the least time between two fetches. 0: DefaultRetry.
	Retry time.Duration
	// Logger gets what an operator should know: a token that could not be fetched while the last one
	// is still good. nil: warnings and errors go to slog.Default(). slog.New(slog.DiscardHandler)
	// silences it.
	Logger *slog.Logger
}

// Tokens gives calls a token that is fetched anew in time: in the background while the last one is
// still good, so that no call waits. Its methods may be called from any goroutine.
type Tokens struct {
	cfg  TokensConfig
	life context.Context
	end  context.CancelFunc
	all  sync.WaitGroup

	mu       sync.Mutex
	token    Token
	renew    time.Time     // when the next one is to be fetched; the zero time: never
	underway chan struct{} // closed when the fetch has ended; nil: there is none
	err      error         // of the last fetch
	last     time.Time     // when the last fetch began
	closed   bool
}

// NewTokens makes Tokens. Nothing is fetched before the first call. They must be closed.
func NewTokens(cfg *TokensConfig) (*Tokens, error) {
	t := &Tokens{}
	if cfg != nil {
		t.cfg = *cfg
	}
	switch c := &t.cfg; {
	case c.Fetch == nil:
		return nil, weft.Errorf(weft.InvalidArgument, "jwt: TokensConfig.Fetch is nil: it must say where tokens come from")
	case c.Early < 0 || c.Retry < 0:
		return nil, weft.Errorf(weft.InvalidArgument, "jwt: TokensConfig.Early is %v and Retry %v, want 0 or more", c.Early, c.Retry)
	}
	t.cfg.Early, t.cfg.Retry = orDefault(t.cfg.Early, DefaultEarly), orDefault(t.cfg.Retry, DefaultRetry)
	t.cfg.Logger = logger.OrDefault(t.cfg.Logger)
	t.life, t.end = context.WithCancel(context.Background())
	return t, nil
}

// Close ends a fetch that is under way. Later calls get the last token while it is good.
func (t *Tokens) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.end()
	t.all.Wait()
}

// Credential is for ClientConfig.Credential.
func (t *Tokens) Credential(ctx context.Context, _ string) (weft.Credential, error) {
	return t.ConnCredential(ctx)
}

// ConnCredential is for ClientConfig.ConnCredential.
func (t *Tokens) ConnCredential(ctx context.Context) (weft.Credential, error) {
	token, err := t.Token(ctx)
	if err != nil {
		return weft.Credential{}, err
	}
	return weft.Credential{Scheme: "Bearer", Token: token}, nil
}

// Token is a token that is good now. It waits for one only if there is none.
func (t *Tokens) Token(ctx context.Context) (string, error) {
	for {
		t.mu.Lock()
		now := time.Now()
		good := t.goodLocked(now)
		if !good || !t.renew.IsZero() && !now.Before(t.renew) {
			t.fetchLocked(now)
		}
		if good {
			value := t.token.Value
			t.mu.Unlock()
			return value, nil
		}
		done, err := t.underway, t.err
		closed := t.closed
		t.mu.Unlock()
		switch {
		case closed:
			return "", weft.Errorf(weft.Canceled, "jwt: the source of tokens is closed")
		case done == nil: // the last fetch failed a moment ago
			return "", weft.Errorf(weft.Unavailable, "jwt: fetch a token: %w", err)
		}
		select {
		case <-done:
		case <-ctx.Done():
			return "", weft.Errorf(weft.CodeOf(ctx.Err()), "jwt: while a token was fetched: %w", ctx.Err())
		}
	}
}

func (t *Tokens) goodLocked(now time.Time) bool {
	return t.token.Value != "" && (t.token.Expires.IsZero() || now.Before(t.token.Expires))
}

// fetchLocked begins a fetch, unless one is under way or the last one began a moment ago.
func (t *Tokens) fetchLocked(now time.Time) {
	if t.underway != nil || t.closed || !t.last.IsZero() && now.Sub(t.last) < t.cfg.Retry {
		return
	}
	done := make(chan struct{})
	t.underway, t.last = done, now
	t.all.Go(func() {
		ctx, cancel := context.WithTimeout(t.life, fetchTimeout)
		defer cancel()
		token, err := contained(ctx, t.cfg.Fetch)
		if err == nil {
			token, err = complete(token)
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.underway = nil
		defer close(done)
		if t.err = err; err == nil {
			t.keepLocked(token)
		} else if t.goodLocked(time.Now()) && t.life.Err() == nil {
			t.cfg.Logger.Warn("jwt: a token could not be fetched; the last one is good for a while", "until", t.token.Expires, "error", err)
		}
	})
}

func (t *Tokens) keepLocked(token Token) {
	t.token, t.renew = token, time.Time{}
	if !token.Expires.IsZero() {
		left := time.Until(token.Expires)
		t.renew = token.Expires.Add(-min(t.cfg.Early, left/2))
	}
}

// complete checks a token and finds when it expires.
func complete(token Token) (Token, error) {
	token.Value = strings.TrimSpace(token.Value)
	if token.Value == "" || strings.ContainsAny(token.Value, " \t\r\n") {
		return token, weft.Errorf(weft.Unauthenticated, "the token is empty, or has spaces")
	}
	if token.Expires.IsZero() {
		token.Expires = expiryOf(token.Value)
	}
	if !token.Expires.IsZero() && !time.Now().Before(token.Expires) {
		return token, weft.Errorf(weft.Unauthenticated, "the token expired at %v", token.Expires)
	}
	return token, nil
}

// expiryOf is the claim exp of a token; the zero time for one that is opaque, or has none. Its
// signature is for the server to verify.
func expiryOf(token string) time.Time {
	var all []jose.SignatureAlgorithm
	for _, name := range algorithms() {
		all = append(all, jose.SignatureAlgorithm(name))
	}
	parsed, err := jwt.ParseSigned(token, all)
	if err != nil {
		return time.Time{}
	}
	var c jwt.Claims
	if parsed.UnsafeClaimsWithoutVerification(&c) != nil || c.Expiry == nil {
		return time.Time{}
	}
	return c.Expiry.Time()
}

// Plugin makes a unary call once more with a new token when the server has refused it as
// unauthenticated, as it does when its clock is ahead or its keys have changed. A call that is refused
// was not run. It is for the Plugins of a client of one server, or of Config.Client of a cluster.
func (t *Tokens) Plugin() weft.Plugin {
	return weft.Plugin{Name: "jwt", Client: func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		t.mu.Lock()
		used := t.token.Value
		t.mu.Unlock()
		reply, err := next(ctx, info, req)
		if err == nil || !refused(err) || !t.forget(used) {
			return reply, err
		}
		return next(ctx, info, req)
	}}
}

// forget forgets a token that a server has refused. It is false when that cannot help: there was none,
// or the token is so new that another would hardly be better.
func (t *Tokens) forget(used string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case used == "" || t.closed:
		return false
	case t.token.Value != used: // there is a new one already
		return t.goodLocked(time.Now())
	case time.Since(t.last) < t.cfg.Retry:
		return false
	}
	t.token = Token{}
	return true
}
