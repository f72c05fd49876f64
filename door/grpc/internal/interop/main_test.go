package interop

import (
	"testing"

	"google.golang.org/grpc/encoding"

	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) {
	encoding.RegisterCodec(grpcCodec{msgpack.New()}) // before any server of grpc-go reads what is registered
	leak.Main(m)
}
