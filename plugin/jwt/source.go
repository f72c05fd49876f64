package jwt

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
)

// mostBytes is how many bytes of a file or an answer are read.
const mostBytes = 1 << 20

// File is for Issuer.Keys: the JSON Web Key Set in a file, which may be replaced.
func File(path string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return readFile(path) }
}

// readFile reads a file of a bounded size.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, path)
}

func readAll(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(b) > mostBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", name, mostBytes)
	}
	return b, nil
}

// URL is for Issuer.Keys: the JSON Web Key Set at a URL, which must be of https unless it is of this
// machine. client may be nil: then one that follows no redirect away from https.
func URL(address string, client *http.Client) func(context.Context) ([]byte, error) {
	client = orSafe(client)
	return func(ctx context.Context) ([]byte, error) {
		if err := checkURL(address); err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", "application/jwk-set+json, application/json")
		return do(client, req)
	}
}

// do sends a request and reads the answer.
func do(client *http.Client, req *http.Request) ([]byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := readAll(resp.Body, req.URL.Redacted())
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers with %s", req.URL.Redacted(), resp.Status)
	}
	return b, err
}

// orSafe is a client, or else one that checks redirects.
func orSafe(client *http.Client) *http.Client {
	if client != nil {
		return client
	}
	return &http.Client{Timeout: fetchTimeout, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return fmt.Errorf("%d redirects", len(via))
		}
		return checkURL(req.URL.String())
	}}
}

// checkURL refuses addresses whose answers are not protected on their way.
func checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return fmt.Errorf("the URL %q is neither of https nor, with http, of this machine", u.Redacted())
	}
	return nil
}
