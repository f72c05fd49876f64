package connectpeer

import (
	"connectrpc.com/connect"

	"github.com/weftrpc/weft/bench/msg"
)

// handlerOptions are those of a server. Gzip is connect's default, for replies of
// any size; no other peer compresses.
func handlerOptions(codec msg.Codec) []connect.HandlerOption {
	options := []connect.HandlerOption{connect.WithCompression("gzip", nil, nil)}
	if codec == msg.VT {
		options = append(options, connect.WithCodec(vtCodec{}))
	}
	return options
}

// clientOptions are those of a client.
func clientOptions(codec msg.Codec) []connect.ClientOption {
	options := []connect.ClientOption{connect.WithAcceptCompression("gzip", nil, nil)}
	if codec == msg.VT {
		options = append(options, connect.WithCodec(vtCodec{}))
	}
	return options
}

// vtCodec encodes with vtprotobuf's code. Connect takes MarshalAppend instead of
// Marshal, to encode into buffers of its pool.
type vtCodec struct{}

func (vtCodec) Name() string { return "proto" }

func (vtCodec) Marshal(m any) ([]byte, error) { return m.(msg.Fast).MarshalVT() }

func (vtCodec) MarshalAppend(out []byte, m any) ([]byte, error) {
	return msg.AppendVT(out, m.(msg.Fast))
}

func (vtCodec) Unmarshal(b []byte, m any) error {
	message := m.(msg.Fast)
	message.Reset()
	return message.UnmarshalVT(b)
}
