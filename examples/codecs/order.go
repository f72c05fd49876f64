package main

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/weftrpc/weft/examples/codecs/internal/orderpb"
)

// Order is the message: plain Go, which is all that json, msgpack, gob and the
// codec in xml.go ask for.
type Order struct {
	ID       uint32
	Customer string
	Items    []Item
}

// Item is a line of an order.
type Item struct {
	Name         string
	Count, Cents uint32
}

// newOrder makes an order with so many lines.
func newOrder(lines int) *Order {
	o := &Order{ID: 4711, Customer: "Ada Lovelace"}
	for i := range lines {
		o.Items = append(o.Items, Item{fmt.Sprintf("spool of yarn no. %d", i+1), uint32(i%5 + 1), 499})
	}
	return o
}

// proto is the order as the type that protoc has generated.
func (o *Order) proto() *orderpb.Order {
	p := &orderpb.Order{Id: o.ID, Customer: o.Customer}
	for _, it := range o.Items {
		p.Items = append(p.Items, &orderpb.Item{Name: it.Name, Count: it.Count, Cents: it.Cents})
	}
	return p
}

// The three methods that follow are those of the codec gencode, in its format.

// Size is the number of bytes that Marshal writes.
func (o *Order) Size() uint64 { return uint64(len(o.append(nil))) }

// Marshal writes the order into buf, if it has room.
func (o *Order) Marshal(buf []byte) ([]byte, error) { return o.append(buf[:0]), nil }

func (o *Order) append(b []byte) []byte {
	b = appendString(binary.LittleEndian.AppendUint32(b, o.ID), o.Customer)
	b = binary.AppendUvarint(b, uint64(len(o.Items)))
	for _, it := range o.Items {
		b = appendString(b, it.Name)
		b = binary.LittleEndian.AppendUint32(b, it.Count)
		b = binary.LittleEndian.AppendUint32(b, it.Cents)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Unmarshal reads an order and returns how many bytes it had. Unlike generated
// code it checks every length.
func (o *Order) Unmarshal(buf []byte) (uint64, error) {
	r := reader{rest: buf}
	*o = Order{ID: r.uint32(), Customer: r.string()}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		o.Items = append(o.Items, Item{r.string(), r.uint32(), r.uint32()})
	}
	return uint64(len(buf) - len(r.rest)), r.err
}

// reader takes values off the front of bytes until one does not fit.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.err, r.rest = io.ErrUnexpectedEOF, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) string() string { return string(r.take(r.uvarint())) }

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.err, r.rest = io.ErrUnexpectedEOF, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}
