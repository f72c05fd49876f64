// Package bridge lets code that the Thrift compiler has generated read and write by the readers
// and writers of package protocol.
package bridge

import (
	"context"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// Read reads a struct by its generated method.
func Read(r *protocol.Reader, v thrift.TStruct) error {
	p, ok := r.Aux.(*tprotocol)
	if !ok {
		p = newProtocol(r, nil)
		r.Aux = p
	}
	err := v.Read(context.Background(), p)
	if r.Err() != nil {
		return r.Err()
	}
	return err
}

// Write writes a struct by its generated method.
func Write(w *protocol.Writer, v thrift.TStruct) error {
	p, ok := w.Aux.(*tprotocol)
	if !ok {
		p = newProtocol(nil, w)
		w.Aux = p
	}
	return v.Write(context.Background(), p)
}

// tprotocol is a thrift.TProtocol of which either half is used.
type tprotocol struct {
	reading
	writing
	single
}

func newProtocol(r *protocol.Reader, w *protocol.Writer) *tprotocol {
	return &tprotocol{reading{r}, writing{w}, single{thrift.NewTBinaryProtocolConf(&octets{r, w}, nil)}}
}

func (*tprotocol) Transport() thrift.TTransport { return nil }

// single has the methods for integers of 8 bits, which stand in a message as a byte in all
// protocols. Their names and types are those of io.ByteReader and io.ByteWriter but in part, which
// go vet takes for a mistake, so they are borrowed.
type single struct{ *thrift.TBinaryProtocol }

// octets is the transport under single.
type octets struct {
	r *protocol.Reader
	w *protocol.Writer
}

// ReadByte implements io.ByteReader.
func (o *octets) ReadByte() (byte, error) { return byte(o.r.I8()), o.r.Err() }

// WriteByte implements io.ByteWriter.
func (o *octets) WriteByte(c byte) error {
	o.w.I8(int8(c))
	return nil
}

func (o *octets) Read([]byte) (int, error) { return 0, errMessage }

func (o *octets) Write([]byte) (int, error) { return 0, errMessage }

func (o *octets) WriteString(string) (int, error) { return 0, errMessage }

func (o *octets) RemainingBytes() uint64 { return 0 }

func (o *octets) Flush(context.Context) error { return nil }

func (o *octets) Open() error { return nil }

func (o *octets) IsOpen() bool { return true }

func (o *octets) Close() error { return nil }
