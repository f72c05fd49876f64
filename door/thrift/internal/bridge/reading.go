package bridge

import (
	"context"
	"errors"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// reading has the methods that read.
type reading struct{ r *protocol.Reader }

var errMessage = errors.New("thrift: a struct does not begin a message")

func (reading) ReadMessageBegin(context.Context) (string, thrift.TMessageType, int32, error) {
	return "", 0, 0, errMessage
}

func (reading) ReadMessageEnd(context.Context) error { return errMessage }

func (p reading) ReadStructBegin(context.Context) (string, error) {
	p.r.Enter()
	return "", p.r.Err()
}

func (p reading) ReadStructEnd(context.Context) error {
	p.r.Leave()
	return p.r.Err()
}

func (p reading) ReadFieldBegin(context.Context) (string, thrift.TType, int16, error) {
	t, id := p.r.Field()
	return "", thrift.TType(t), id, p.r.Err()
}

func (p reading) ReadFieldEnd(context.Context) error { return nil }

func (p reading) ReadMapBegin(context.Context) (key, value thrift.TType, size int, err error) {
	p.r.Enter()
	k, v, n := p.r.Map()
	p.r.Grow(int64(n) * mapRoom)
	return thrift.TType(k), thrift.TType(v), n, p.r.Err()
}

// Generated code makes room for all elements of a container at once.
const (
	elemRoom = 24
	mapRoom  = 64
)

func (p reading) ReadMapEnd(context.Context) error {
	p.r.Leave()
	return p.r.Err()
}

func (p reading) ReadListBegin(context.Context) (thrift.TType, int, error) {
	p.r.Enter()
	t, n := p.r.List()
	if t > protocol.I64 { // what is larger in Go than in a message
		p.r.Grow(int64(n) * elemRoom)
	}
	return thrift.TType(t), n, p.r.Err()
}

func (p reading) ReadListEnd(context.Context) error {
	p.r.Leave()
	return p.r.Err()
}

func (p reading) ReadSetBegin(ctx context.Context) (thrift.TType, int, error) {
	return p.ReadListBegin(ctx)
}

func (p reading) ReadSetEnd(ctx context.Context) error { return p.ReadListEnd(ctx) }

func (p reading) ReadBool(context.Context) (bool, error) { return p.r.Bool(), p.r.Err() }

func (p reading) ReadI16(context.Context) (int16, error) { return p.r.I16(), p.r.Err() }

func (p reading) ReadI32(context.Context) (int32, error) { return p.r.I32(), p.r.Err() }

func (p reading) ReadI64(context.Context) (int64, error) { return p.r.I64(), p.r.Err() }

func (p reading) ReadDouble(context.Context) (float64, error) { return p.r.Double(), p.r.Err() }

func (p reading) ReadString(context.Context) (string, error) { return p.r.Text(), p.r.Err() }

func (p reading) ReadBinary(context.Context) ([]byte, error) {
	b := p.r.Bytes()
	return append(make([]byte, 0, len(b)), b...), p.r.Err()
}

func (p reading) ReadUUID(context.Context) (thrift.Tuuid, error) { return p.r.UUID(), p.r.Err() }

func (p reading) Skip(_ context.Context, t thrift.TType) error {
	p.r.Skip(protocol.Type(t))
	return p.r.Err()
}
