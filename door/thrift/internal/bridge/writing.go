package bridge

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// writing has the methods that write.
type writing struct{ w *protocol.Writer }

func (writing) WriteMessageBegin(context.Context, string, thrift.TMessageType, int32) error {
	return errMessage
}

func (writing) WriteMessageEnd(context.Context) error { return errMessage }

func (p writing) WriteStructBegin(context.Context, string) error {
	p.w.Begin()
	return nil
}

func (p writing) WriteStructEnd(context.Context) error {
	p.w.End()
	return nil
}

func (p writing) WriteFieldBegin(_ context.Context, _ string, t thrift.TType, id int16) error {
	p.w.Field(protocol.Type(t), id)
	return nil
}

func (writing) WriteFieldEnd(context.Context) error { return nil }

func (p writing) WriteFieldStop(context.Context) error {
	p.w.Stop()
	return nil
}

func (p writing) WriteMapBegin(_ context.Context, key, value thrift.TType, size int) error {
	p.w.Map(protocol.Type(key), protocol.Type(value), size)
	return nil
}

func (writing) WriteMapEnd(context.Context) error { return nil }

func (p writing) WriteListBegin(_ context.Context, t thrift.TType, size int) error {
	p.w.List(protocol.Type(t), size)
	return nil
}

func (writing) WriteListEnd(context.Context) error { return nil }

func (p writing) WriteSetBegin(ctx context.Context, t thrift.TType, size int) error {
	return p.WriteListBegin(ctx, t, size)
}

func (writing) WriteSetEnd(context.Context) error { return nil }

func (p writing) WriteBool(_ context.Context, v bool) error {
	p.w.Bool(v)
	return nil
}

func (p writing) WriteI16(_ context.Context, v int16) error {
	p.w.I16(v)
	return nil
}

func (p writing) WriteI32(_ context.Context, v int32) error {
	p.w.I32(v)
	return nil
}

func (p writing) WriteI64(_ context.Context, v int64) error {
	p.w.I64(v)
	return nil
}

func (p writing) WriteDouble(_ context.Context, v float64) error {
	p.w.Double(v)
	return nil
}

func (p writing) WriteString(_ context.Context, v string) error {
	p.w.Text(v)
	return nil
}

func (p writing) WriteBinary(_ context.Context, v []byte) error {
	p.w.Bytes(v)
	return nil
}

func (p writing) WriteUUID(_ context.Context, v thrift.Tuuid) error {
	p.w.UUID(v)
	return nil
}

func (writing) Flush(context.Context) error { return nil }
