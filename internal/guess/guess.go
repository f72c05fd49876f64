// Package guess names the protocol of a connection by its first bytes, for people.
package guess

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"syscall"
)

// Protocol names the protocol that begins with these bytes, for people, and the package
// of its door if there is one.
func Protocol(b []byte) (what, door string) {
	begins := func(s string) bool { return bytes.HasPrefix(b, []byte(s)) }
	switch {
	case begins("PRI * HTTP/2"):
		return "HTTP/2 or gRPC", "door/grpc"
	case begins("CONNECT /_goRPC_"):
		return "net/rpc over HTTP", "door/netrpc"
	case begins("GET "), begins("POST "), begins("PUT "), begins("HEAD "), begins("PATCH "), begins("DELETE "), begins("OPTIONS "), begins("CONNECT "):
		return "HTTP/1", "door/http"
	case begins("PROXY "), begins("\r\n\r\n\x00\r\nQUIT\n"):
		return "the PROXY protocol of a load balancer, which this server does not read", ""
	case len(b) > 1 && b[0] == 0x16 && b[1] == 3:
		return "TLS, and this listener is plaintext; set ServerConfig.TLS", ""
	case begins("SSH-"):
		return "SSH", ""
	case len(b) > 4 && bytes.Contains(b[:min(len(b), 32)], []byte("Request")) && (b[0] < 0x80 || b[0] > 0xf7):
		return "gob of net/rpc", "door/netrpc"
	case b[0] == '{' || b[0] == '[':
		return "JSON, perhaps JSON-RPC", "door/jsonrpc"
	case len(b) > 1 && (b[0] == 0x80 && b[1] == 1 || b[0] == 0x82):
		return "Thrift without frames", "door/thrift"
	case len(b) > 5 && b[0] == 0 && (b[4] == 0x80 && b[5] == 1 || b[4] == 0x82):
		return "Thrift with frames", "door/thrift"
	case begins("\xda\xbb"):
		return "Dubbo", ""
	case begins("\xf1\xf1"):
		return "Motan", ""
	case b[0] == 8:
		return "rpcx", "door/rpcx"
	}
	return fmt.Sprintf("no protocol that is known here: it began with %q", b[:min(len(b), 16)]), ""
}

// TLSError explains a TLS handshake that failed because the peer does not speak
// TLS.
func TLSError(err error) error {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return fmt.Errorf("the peer does not speak TLS: %w", err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("the peer closed the connection; it may not speak TLS: %w", err)
	}
	return err
}
