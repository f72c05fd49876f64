package nacos

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/registry/registrytest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// server is a Nacos of one node.
type server struct {
	*registrytest.Process
	address string
}

func startNacos(t *testing.T, options ...string) server {
	t.Helper()
	// It takes these ports too.
	data, port := t.TempDir(), strconv.Itoa(registrytest.FreePort(t, -1000, 1000, 1001))
	s := server{address: "127.0.0.1:" + port}
	s.Process = registrytest.NewProcess(t, registrytest.Program{
		Name: "nacos",
		Path: registrytest.Find(t, "nacos"),
		Args: append([]string{
			data, port, "--logging.level.root=ERROR", "--spring.main.banner-mode=off",
			"--db.pool.config.connectionTimeout=120000", // ms; a busy machine exceeds the 3 s that Nacos gives its database
		}, options...),
		Data:   data,
		Ready:  s.serves,
		Within: 4 * time.Minute, // Java needs six seconds of a processor for it
		Tries:  5,               // it may end by itself on a busy machine
	})
	return s
}

// serves reports whether Nacos answers, and be it that one has to log in.
func (s server) serves(ctx context.Context) error {
	status, body, err := s.ask(ctx, http.MethodGet, instancePath+"/list", "", url.Values{"serviceName": {"x"}})
	if err == nil && status != http.StatusOK && status != http.StatusForbidden {
		err = errors.New(body)
	}
	return err
}

// ask makes one request, as other programs do.
func (s server) ask(ctx context.Context, method, path, token string, form url.Values) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.address+"/nacos"+path+"?"+form.Encode(), nil)
	if err != nil {
		return 0, "", err
	}
	request.Close = true
	request.Header.Set("accessToken", token)
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(text), err
}

// must makes one request that has to go well.
func (s server) must(t *testing.T, method, path, token string, form url.Values) (body string) {
	t.Helper()
	status, body, err := s.ask(t.Context(), method, path, token, form)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s %s: status %d, error %v: %s", method, path, status, err, body)
	}
	return body
}

// driver makes a driver that the test closes at its end.
func (s server) driver(t *testing.T) *driver {
	t.Helper()
	return openDriver(t, Config{Addresses: []string{s.address}})
}

// impatient makes a driver that asks as often as Nacos has something new, which is half
// a second after a change.
func (s server) impatient(t *testing.T) *driver {
	t.Helper()
	d := s.driver(t)
	d.pollEvery = 200 * time.Millisecond
	return d
}

func openDriver(t *testing.T, cfg Config) *driver {
	t.Helper()
	d, err := newDriver(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// patience is how long anything may take that must go well. Nacos applies a registration
// later than it answers, and its lists are half a second old.
const patience = time.Minute
