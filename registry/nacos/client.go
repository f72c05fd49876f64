package nacos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// client speaks Nacos' HTTP API.
type client struct {
	bases              []*url.URL    // of the servers
	turn               atomic.Uint32 // the index of the one that is asked, modulo their number
	http               http.Client
	username, password string
	session            chan session // holds the one there is, unless a goroutine has taken it to log in
	most               int64        // bytes of an answer; maxReply
}

// session is what a login gives.
type session struct {
	token          string
	since, expires time.Time
}

const (
	dialTimeout = 5 * time.Second
	idleTimeout = 90 * time.Second
	pingAfter   = 3 * time.Second // silence, and again for the answer
	idlePerHost = 16              // connections that are kept for the next operation
)

func newClient(cfg Config) (*client, error) {
	if cfg.Username == "" && cfg.Password != "" {
		return nil, errors.New("there is a Config.Password and no Username")
	}
	c := &client{username: cfg.Username, password: cfg.Password, session: make(chan session, 1), most: maxReply}
	c.session <- session{}
	addresses := cfg.Addresses
	if len(addresses) == 0 {
		addresses = []string{DefaultAddress}
	}
	for _, address := range addresses {
		base, err := parse(address, cfg.TLS != nil)
		if err != nil {
			return nil, err
		}
		c.bases = append(c.bases, base)
	}
	// Nacos does not redirect. A server that does must not get the token.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http.Transport = &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:     cfg.TLS.Clone(),
		TLSHandshakeTimeout: dialTimeout,
		MaxIdleConnsPerHost: idlePerHost,
		IdleConnTimeout:     idleTimeout,
		ForceAttemptHTTP2:   true,
		// All goes over one connection of HTTP/2, whose loss nothing else would notice.
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter},
	}
	return c, nil
}

// parse makes a URL of an address, with a path that does not end in a slash.
func parse(address string, secure bool) (*url.URL, error) {
	full := address
	if !strings.Contains(address, "://") {
		full = "http://" + address + "/nacos"
	}
	u, err := url.Parse(full)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("address %q is neither host:port nor a URL with http or https", address)
	}
	if secure {
		u.Scheme = "https" // also for a URL with http: TLS that is asked for is TLS
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// Nacos' codes, of com.alibaba.nacos.api.model.v2.ErrorCode.
const (
	codeDatabase   = 10002
	codeNoResource = 20004
	codeConflict   = 20005
	codeNoInstance = 21003
)

// refusal is an answer of Nacos that is no success.
type refusal struct {
	status  int // of HTTP
	code    int // of Nacos, 0: none
	message string
	locked  bool // Nacos' database has undone the request because of another one
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("Nacos answers with status %d", r.status)
	if r.code != 0 {
		text += fmt.Sprintf(" and code %d", r.code)
	}
	if r.message != "" {
		text += ": " + r.message
	}
	if r.denied() {
		text += "; check Config.Username and Password, and that this user may read and write the group"
	}
	return text
}

func (r *refusal) denied() bool {
	return r.status == http.StatusForbidden || r.status == http.StatusUnauthorized
}

// refused reports whether an error is an answer of Nacos with this code.
func refused(err error, code int) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.code == code
}

// lockError reports whether Derby or MySQL says that another transaction has a lock.
func lockError(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "deadlock") || strings.Contains(message, "lock could not be obtained") ||
		strings.Contains(message, "lock wait timeout")
}

const (
	maxReply   = 32 << 20 // bytes: a list of tens of thousands of instances has fewer
	maxMessage = 300      // bytes of a reply that are shown in an error
)

// request is one question.
type request struct {
	method, path string
	form         url.Values
	casMD5       string // for a configuration: replace only what has this sum
}

const (
	lockTries = 5                     // of a request that Nacos' database undoes
	lockPause = 20 * time.Millisecond // after the first of them; then twice as long each time
)

// call asks Nacos, and decodes the data of its answer, if data is not nil. When requests that
// come at the same time lock out each other in Nacos' database, it undoes one of them, and call
// asks again.
func (c *client) call(ctx context.Context, r request, data any) error {
	for try := 1; ; try++ {
		err := c.once(ctx, r, data)
		if refusal, ok := errors.AsType[*refusal](err); !ok || !refusal.locked || try == lockTries {
			return err
		}
		timer := time.NewTimer(lockPause<<(try-1) + rand.N(lockPause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// once asks Nacos. When the token of the last login is refused, which a server that was set up
// anew does, it logs in and asks once more.
func (c *client) once(ctx context.Context, r request, data any) error {
	token, err := c.login(ctx)
	if err != nil {
		return err
	}
	body, err := c.send(ctx, r, token)
	if refusal, ok := errors.AsType[*refusal](err); ok && refusal.denied() && c.forget(ctx, token) {
		if token, err = c.login(ctx); err != nil {
			return err
		}
		body, err = c.send(ctx, r, token)
	}
	if err != nil {
		return err
	}
	var reply struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return fmt.Errorf("an answer that is none of Nacos: %w: %q", err, beginning(body))
	}
	if reply.Code != 0 {
		return &refusal{status: http.StatusOK, code: reply.Code, message: beginning([]byte(reply.Message))}
	}
	if data == nil {
		return nil
	}
	if err := json.Unmarshal(reply.Data, data); err != nil {
		return fmt.Errorf("an answer that is none of Nacos: %w: %q", err, beginning(body))
	}
	return nil
}

// send makes one HTTP request. When it fails because of the server, the next one is
// another server's.
func (c *client) send(ctx context.Context, r request, token string) ([]byte, error) {
	turn := c.turn.Load()
	request, err := r.http(ctx, c.bases[turn%uint32(len(c.bases))], token)
	if err != nil {
		return nil, err
	}
	reply, err := c.http.Do(request)
	if err != nil {
		c.turn.CompareAndSwap(turn, turn+1)
		return nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, c.most+1))
	switch {
	case err != nil:
		c.turn.CompareAndSwap(turn, turn+1)
		return nil, err
	case int64(len(text)) > c.most:
		return nil, fmt.Errorf("the answer of %s has more than the %d bytes that are allowed", request.URL.Host, c.most)
	case reply.StatusCode == http.StatusOK:
		return text, nil
	}
	refusal := refuse(reply.StatusCode, text)
	if refusal.code == 0 && refusal.status >= http.StatusInternalServerError {
		c.turn.CompareAndSwap(turn, turn+1)
	}
	return nil, refusal
}

// http is the request to one server.
func (r request) http(ctx context.Context, base *url.URL, token string) (*http.Request, error) {
	u := *base
	u.Path += r.path
	var body io.Reader
	if r.method == http.MethodPost {
		body = strings.NewReader(r.form.Encode())
	} else {
		u.RawQuery = r.form.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	}
	if token != "" {
		request.Header.Set("accessToken", token)
	}
	if r.casMD5 != "" {
		request.Header.Set("casMd5", r.casMD5)
	}
	return request, nil
}

// refuse makes an error of an answer: Nacos' own JSON, that of the web server under it,
// or plain text.
func refuse(status int, text []byte) *refusal {
	var reply struct {
		Code           int
		Message, Error string
		Data           any
	}
	r := &refusal{status: status, message: beginning(text)}
	if json.Unmarshal(text, &reply) != nil {
		return r
	}
	var parts []string
	for _, part := range []string{reply.Error, reply.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if reply.Data != nil {
		parts = append(parts, fmt.Sprint(reply.Data))
	}
	message := strings.Join(parts, ": ")
	r.code, r.message, r.locked = reply.Code, beginning([]byte(message)), reply.Code == codeDatabase && lockError(message)
	return r
}

// beginning is what an error shows of a text.
func beginning(text []byte) string {
	return strings.ToValidUTF8(strings.TrimSpace(string(text[:min(len(text), maxMessage)])), "?")
}

// login returns the token of the user, "" if there is none to log in. Of many that need
// a new one, the first logs in and the others wait.
func (c *client) login(ctx context.Context) (string, error) {
	if c.username == "" {
		return "", nil
	}
	var s session
	select {
	case s = <-c.session:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { c.session <- s }()
	if time.Now().Before(s.expires) {
		return s.token, nil
	}
	fresh, err := c.logIn(ctx)
	if err != nil {
		return "", fmt.Errorf("log in as %q: %w", c.username, err)
	}
	s = fresh
	return s.token, nil
}

func (c *client) logIn(ctx context.Context) (session, error) {
	form := url.Values{"username": {c.username}, "password": {c.password}}
	body, err := c.send(ctx, request{method: http.MethodPost, path: "/v3/auth/user/login", form: form}, "")
	if r, ok := errors.AsType[*refusal](err); ok && !r.denied() {
		// To a wrong password Nacos 3.1 answers with a 500 that says nothing.
		return session{}, fmt.Errorf("%w; check Config.Username and Password", err)
	}
	if err != nil {
		return session{}, err
	}
	var reply struct {
		AccessToken string
		TokenTTL    int64 // seconds
	}
	if err := json.Unmarshal(body, &reply); err != nil || reply.AccessToken == "" {
		return session{}, fmt.Errorf("the answer has no token: %q", beginning(body))
	}
	now := time.Now()
	// A tenth early: the clocks differ.
	return session{reply.AccessToken, now, now.Add(time.Duration(reply.TokenTTL) * time.Second * 9 / 10)}, nil
}

// loginEvery is the least time between two logins: the token of a user without a right
// is refused again and again, and a login costs Nacos the hash of a password.
const loginEvery = 10 * time.Second

// forget drops a token that was refused, and reports whether the next call has
// another one.
func (c *client) forget(ctx context.Context, token string) bool {
	if token == "" {
		return false
	}
	var s session
	select {
	case s = <-c.session:
	case <-ctx.Done():
		return false
	}
	defer func() { c.session <- s }()
	switch {
	case s.token != token: // another goroutine has logged in
		return true
	case time.Since(s.since) < loginEvery:
		return false
	}
	s.expires = time.Time{}
	return true
}
