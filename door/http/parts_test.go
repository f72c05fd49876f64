package http_test

import (
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/http"
)

// TestPartsOfRequests: parts of the messages of streaming calls count against the memory of the server.
func TestPartsOfRequests(t *testing.T) {
	for _, head := range []string{"POST /Stream/Sum HTTP/1.1\r\nContent-Type: application/x-ndjson\r\n", "POST /Stream/Count HTTP/1.1\r\nContent-Type: application/json\r\n"} {
		doortest.PartsOfRequests(t, http.Door(nil), head+"Host: localhost\r\nContent-Length: 4000000\r\n\r\n", func(srv *weft.Server) error {
			if err := weft.HandleServerStream(srv, "Stream.Count", count); err != nil {
				return err
			}
			return weft.HandleClientStream(srv, "Stream.Sum", sum)
		})
	}
}
