package consul

import (
	"errors"
	"io"
	"net/http"
)

const (
	// maxReply is how many bytes an answer of Consul can have: the list of a service
	// with tens of thousands of instances has fewer.
	maxReply = 32 << 20
	// maxComplaint is how many one can have that is an error, which is shown as it is.
	maxComplaint = 4 << 10
)

// limited bounds the answers that Consul's client library reads, which it does to the
// end.
type limited struct {
	*http.Transport
	most int64 // bytes; maxReply
}

func (l limited) RoundTrip(request *http.Request) (*http.Response, error) {
	reply, err := l.Transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	limit := l.most
	if reply.StatusCode != http.StatusOK {
		limit = maxComplaint
	}
	reply.Body = &limitedBody{reply.Body, limit}
	return reply, nil
}

var errTooLong = errors.New("the answer has more bytes than are allowed")

// limitedBody is a body that fails instead of going on after so many bytes.
type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLong
	}
	// One byte more than is left tells an answer that is too long from one that ends.
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	b.left -= int64(n)
	return n, err
}
