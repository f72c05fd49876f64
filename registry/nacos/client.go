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
	session            chan session // holds the last one, unless a goroutine has taken it to log in
	most               int64        // bytes of an answer; maxReply
}

// session is what a login gives.
type session struct {
	token          string
	since, expires time.Time
	refused        error // why Nacos refuses the login; nil: it does not
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
	text := fmt.Sprintf("the answer has status %d", r.status)
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

// ofLogin reports whether a login was refused. To a wrong password Nacos 3.1 answers with a 500 that says nothing.
func (r *refusal) ofLogin() bool {
	return r.denied() || r.code != 0 || r.status == http.StatusInternalServerError
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

// repeated is the error of a request that was sent again after Nacos' database had undone it, or was said to have.
type repeated struct{ error }

func (r *repeated) Unwrap() error { return r.error }

// call asks Nacos, and decodes the data of its answer, if data is not nil. When requests that
// come at the same time lock out each other in Nacos' database, it undoes one of them, and call
// asks again; an error that it returns then is a repeated one.
func (c *client) call(ctx context.Context, r request, data any) error {
	for try := 1; ; try++ {
		err := c.once(ctx, r, data)
		if err != nil && try > 1 {
			err = &repeated{err}
		}
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
	read := func(body []byte) error { return readAnswer(body, data) }
	err = c.send(ctx, r, token, read)
	if refusal, ok := errors.AsType[*refusal](err); ok && refusal.denied() && c.forget(ctx, token) {
		if token, err = c.login(ctx); err != nil {
			return err
		}
		err = c.send(ctx, r, token, read)
	}
	return err
}

// foreignError is an answer that Nacos does not give.
type foreignError struct{ why string }

func (e *foreignError) Error() string { return "an answer that is none of Nacos: " + e.why }

func foreignAnswer(err error, body []byte) error {
	return &foreignError{fmt.Sprintf("%v: %q", err, beginning(body))}
}

var errNoCode = errors.New("it has no code")

// readAnswer reads what Nacos answers, and the data of it if data is not nil.
func readAnswer(body []byte, data any) error {
	var reply struct {
		Code    *int
		Message string
		Data    json.RawMessage
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return foreignAnswer(err, body)
	}
	switch {
	case reply.Code == nil:
		return foreignAnswer(errNoCode, body)
	case *reply.Code != 0:
		return &refusal{status: http.StatusOK, code: *reply.Code, message: beginning([]byte(reply.Message))}
	case data == nil:
		return nil
	}
	if err := json.Unmarshal(reply.Data, data); err != nil {
		return foreignAnswer(err, body)
	}
	return nil
}

// unusable are the reasons why servers cannot be used, one for each that was asked.
type unusable []error

func (u unusable) Error() string {
	text := make([]string, len(u))
	for i, err := range u {
		text[i] = err.Error()
	}
	return strings.Join(text, "; ")
}

func (u unusable) Unwrap() []error { return u }

// send asks one server, and hands read the body of a success. When that server cannot be used, it asks the next one, with which
// later requests begin. A change of a configuration that may have been made is not asked for twice: the second one would conflict with the
// first.
func (c *client) send(ctx context.Context, r request, token string, read func(body []byte) error) error {
	var failed unusable
	first := c.turn.Load()
	for turn := first; turn-first < uint32(len(c.bases)); turn++ {
		base := c.bases[turn%uint32(len(c.bases))]
		done, err := c.ask(ctx, base, r, token, read)
		if done == answered || errors.Is(ctx.Err(), context.Canceled) {
			return err
		}
		c.turn.CompareAndSwap(turn, turn+1)
		failed = append(failed, fmt.Errorf("%s: %w", base.Host, err))
		if done == maybeDone && r.casMD5 != "" || ctx.Err() != nil {
			break
		}
	}
	return failed
}

// outcome is what became of a request to one server.
type outcome int

const (
	answered  outcome = iota // by Nacos
	notDone                  // the server cannot be used
	maybeDone                // the server cannot be used, and may have done what it was asked
)

// ask makes one HTTP request.
func (c *client) ask(ctx context.Context, base *url.URL, r request, token string, read func(body []byte) error) (outcome, error) {
	request, err := r.http(ctx, base, token)
	if err != nil {
		return answered, err
	}
	reply, err := c.http.Do(request)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // the URL has the whole form
		}
		if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
			return notDone, err
		}
		return maybeDone, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, c.most+1))
	switch {
	case err != nil:
		return maybeDone, err
	case int64(len(text)) > c.most:
		return maybeDone, fmt.Errorf("the answer has more than the %d bytes that are allowed", c.most)
	case reply.StatusCode == http.StatusOK:
		err := read(text)
		if _, ok := errors.AsType[*foreignError](err); ok {
			return notDone, err
		}
		return answered, err
	}
	refusal := refuse(reply.StatusCode, text)
	switch {
	case refusal.code != 0:
		return answered, refusal
	case refusal.status >= http.StatusInternalServerError:
		return maybeDone, refusal
	case refusal.denied():
		return answered, refusal // Nacos' answer to a login may have no code
	}
	return notDone, refusal // a proxy, another server, or Nacos before version 3
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
		return s.token, s.refused
	}
	fresh, err := c.logIn(ctx)
	if err != nil {
		err = fmt.Errorf("log in as %q: %w", c.username, err)
		if r, ok := errors.AsType[*refusal](err); ok && r.ofLogin() {
			s = session{refused: err, expires: time.Now().Add(refusedFor)}
		}
		return "", err
	}
	s = fresh
	return s.token, nil
}

func (c *client) logIn(ctx context.Context) (session, error) {
	form := url.Values{"username": {c.username}, "password": {c.password}}
	var reply struct {
		AccessToken string
		TokenTTL    int64 // seconds
	}
	err := c.send(ctx, request{method: http.MethodPost, path: "/v3/auth/user/login", form: form}, "", func(body []byte) error {
		if err := json.Unmarshal(body, &reply); err != nil || reply.AccessToken == "" {
			return &foreignError{fmt.Sprintf("it has no token: %q", beginning(body))}
		}
		return nil
	})
	if r, ok := errors.AsType[*refusal](err); ok && r.ofLogin() && !r.denied() {
		return session{}, fmt.Errorf("%w; check Config.Username and Password", err)
	}
	if err != nil {
		return session{}, err
	}
	now := time.Now()
	// A tenth early: the clocks differ.
	return session{token: reply.AccessToken, since: now, expires: now.Add(time.Duration(reply.TokenTTL) * time.Second * 9 / 10)}, nil
}

// loginEvery is the least time between two logins: the token of a user without a right
// is refused again and again, and a login costs Nacos the hash of a password.
const loginEvery = 10 * time.Second

// refusedFor is how long the refusal of a login counts, for the same reason: a client may have
// a thousand watches, each of which tries again every few seconds.
const refusedFor = 2 * time.Second

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
