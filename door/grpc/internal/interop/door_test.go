package interop

import (
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/door/internal/http2"
)

func TestDoor(t *testing.T) {
	doortest.Run(t, doortest.Kit{
		Scheme:      weft.WireGRPC,
		Door:        func() weft.Door { return grpc.Door(nil) },
		Dial:        dialStock(json.New()),
		Codes:       true,
		TLSProtocol: "h2",
		Garbage: [][]byte{
			[]byte(http2.Preface),
			[]byte(http2.Preface + "garbage that is no frame, and long enough for the header of one"),
			[]byte(http2.Preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x01\x01\x05\x00\x00\x00\x01\xff"),
			[]byte("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"),
		},
	})
}
