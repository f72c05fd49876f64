package drpcpeer

import (
	"google.golang.org/protobuf/proto"
	"storj.io/drpc"

	"github.com/weftrpc/weft/bench/msg"
)

// encoding is the codec as drpc wants it. Both have the method MarshalAppend,
// which drpc takes instead of Marshal, so that it encodes into its own memory.
func encoding(codec msg.Codec) drpc.Encoding {
	if codec == msg.VT {
		return vtEncoding{}
	}
	return googleEncoding{}
}

type googleEncoding struct{}

func (googleEncoding) Marshal(m drpc.Message) ([]byte, error) {
	return proto.Marshal(m.(proto.Message))
}

func (googleEncoding) MarshalAppend(out []byte, m drpc.Message) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(out, m.(proto.Message))
}

func (googleEncoding) Unmarshal(b []byte, m drpc.Message) error {
	return proto.Unmarshal(b, m.(proto.Message))
}

type vtEncoding struct{}

func (vtEncoding) Marshal(m drpc.Message) ([]byte, error) { return m.(msg.Fast).MarshalVT() }

func (vtEncoding) MarshalAppend(out []byte, m drpc.Message) ([]byte, error) {
	return msg.AppendVT(out, m.(msg.Fast))
}

func (vtEncoding) Unmarshal(b []byte, m drpc.Message) error {
	message := m.(msg.Fast)
	message.Reset()
	return message.UnmarshalVT(b)
}
