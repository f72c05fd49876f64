package grpcpeer

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/weftrpc/weft/bench/msg"
)

// forced is the codec to set in place of grpc-go's own, which is google's
// protobuf, or nil for that.
func forced(codec msg.Codec) encoding.CodecV2 {
	switch codec {
	case msg.VT:
		return vtCodec{}
	case msg.Raw:
		return rawCodec{}
	}
	return nil
}

// fast is what vtprotobuf generates for a message.
type fast interface {
	SizeVT() int
	MarshalVT() ([]byte, error)
	MarshalToSizedBufferVT([]byte) (int, error)
	UnmarshalVT([]byte) error
	Reset()
}

// vtCodec encodes with vtprotobuf's code, in buffers of grpc-go's pool where
// those are used at all (from 1 KiB on).
type vtCodec struct{}

func (vtCodec) Name() string { return "proto" }

func (vtCodec) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.(fast)
	if !ok {
		return nil, fmt.Errorf("encode %T, which vtprotobuf has generated nothing for", v)
	}
	size := message.SizeVT()
	if mem.IsBelowBufferPoolingThreshold(size) {
		encoded, err := message.MarshalVT()
		return mem.BufferSlice{mem.SliceBuffer(encoded)}, err
	}
	pool := mem.DefaultBufferPool()
	buffer := pool.Get(size)
	if _, err := message.MarshalToSizedBufferVT((*buffer)[:size]); err != nil {
		pool.Put(buffer)
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(buffer, pool)}, nil
}

func (vtCodec) Unmarshal(data mem.BufferSlice, v any) error {
	message, ok := v.(fast)
	if !ok {
		return fmt.Errorf("decode into %T, which vtprotobuf has generated nothing for", v)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	message.Reset()
	return message.UnmarshalVT(buffer.ReadOnlyData())
}

// rawBody is a message of the raw codec.
type rawBody struct{ bytes []byte }

// rawCodec passes bytes through. Decoding copies them, into the slice that is
// there if it is long enough, since grpc-go takes its buffers back.
type rawCodec struct{}

func (rawCodec) Name() string { return "raw" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	body, ok := v.(*rawBody)
	if !ok {
		return nil, fmt.Errorf("encode %T, want %T", v, body)
	}
	return mem.BufferSlice{mem.SliceBuffer(body.bytes)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	body, ok := v.(*rawBody)
	if !ok {
		return fmt.Errorf("decode into %T, want %T", v, body)
	}
	length := data.Len()
	if cap(body.bytes) < length {
		body.bytes = make([]byte, length)
	}
	body.bytes = body.bytes[:length]
	data.CopyTo(body.bytes)
	return nil
}
