package gob_test

import (
	"bufio"
	"bytes"
	stdgob "encoding/gob"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/rpc"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/codec/gob"
)

const limit = 1 << 20

// streamed returns values of many types, some of them again and again.
func streamed() []any {
	var all []any
	for i := range 3 {
		all = append(all, &rpc.Request{ServiceMethod: "S.M", Seq: uint64(i)}, codectest.Sample(), &rpc.Request{}, nested(),
			&Tree{i, &Tree{i, nil, nil}, nil}, new(int), new("text"), &map[string][]Tree{"a": {{}}}, &[]any{i, Leaf{"x"}, nil, Box{Many{[]any{Leaf{"y"}}}}},
			&Box{Box{Leaf{"z"}}}, big.NewInt(5), &Outer{}, &struct{}{})
	}
	return all
}

// TestReader has a stream of encoding/gob become bodies, which are decoded after
// all were read, in the opposite order.
func TestReader(t *testing.T) {
	var stream bytes.Buffer
	enc, sent := stdgob.NewEncoder(&stream), streamed()
	for _, v := range sent {
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	r, c := gob.NewReader(&stream, limit), gob.New()
	var bodies [][]byte
	for range sent {
		body, err := r.Next([]byte("head"))
		if err != nil || string(body[:4]) != "head" {
			t.Fatal(err)
		}
		bodies = append(bodies, body[4:])
	}
	if _, err := r.Next(nil); err != io.EOF {
		t.Errorf("behind the last value: %v, want io.EOF", err)
	}
	for i := len(sent) - 1; i >= 0; i-- {
		same(t, c, bodies[i], sent[i])
	}
}

// same fails t unless body decodes to what sent points to.
func same(t *testing.T, c codec.Codec, body []byte, sent any) {
	t.Helper()
	got, want := reflect.New(reflect.TypeOf(sent).Elem()).Interface(), reflect.New(reflect.TypeOf(sent).Elem()).Interface()
	if err := c.Decode(body, got); err != nil {
		t.Fatalf("Decode into a %T: %v", got, err)
	}
	var alone bytes.Buffer // gob does not tell an empty slice from none
	if err := stdgob.NewEncoder(&alone).Encode(sent); err != nil {
		t.Fatal(err)
	}
	if err := stdgob.NewDecoder(&alone).Decode(want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

// TestWriter has bodies become a stream, which encoding/gob reads, and a Reader.
func TestWriter(t *testing.T) {
	var w gob.Writer
	var stream []byte
	c, sent := gob.New(), streamed()
	for _, v := range sent {
		body, err := c.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		before := len(stream)
		if stream, err = w.Append(stream, body); err != nil {
			t.Fatal(err)
		}
		if len(stream)-before > len(body) {
			t.Errorf("a body of %d bytes takes %d of the stream", len(body), len(stream)-before)
		}
	}
	dec, r := stdgob.NewDecoder(bytes.NewReader(stream)), gob.NewReader(bytes.NewReader(stream), limit)
	for _, v := range sent {
		if err := dec.DecodeValue(reflect.New(reflect.TypeOf(v).Elem())); err != nil {
			t.Fatalf("encoding/gob: %T: %v", v, err)
		}
		body, err := r.Next(nil)
		if err != nil {
			t.Fatal(err)
		}
		same(t, c, body, v)
	}
	if n := bytes.Count(stream, []byte("ServiceMethod")); n != 1 {
		t.Errorf("the header is described %d times", n)
	}
}

func TestWriterRefuses(t *testing.T) {
	c := gob.New()
	body, err := c.Append(nil, &Tree{Value: 1})
	if err != nil {
		t.Fatal(err)
	}
	var w gob.Writer
	stream, err := w.Append(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	foreign := bytes.Replace(body, []byte("Right"), []byte("Wrong"), 1)
	for name, bad := range map[string][]byte{
		"another type with the number 6": foreign,
		"are left":                       body[:len(body)-1],
		"bytes behind":                   append(bytes.Clone(body), 0),
		"is not described":               {3, 0xff, 0xfe, 0},
	} {
		out, err := w.Append(stream, bad)
		if err == nil || len(out) != len(stream) || !strings.Contains(err.Error(), strings.TrimSuffix(name, " 6")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if stream, err = w.Append(stream, body); err != nil {
		t.Fatal(err)
	}
	dec := stdgob.NewDecoder(bytes.NewReader(stream))
	for range 2 {
		var got Tree
		if err := dec.Decode(&got); err != nil || got.Value != 1 {
			t.Error(got, err)
		}
	}
}

// TestReaderCut has a stream end at every byte.
func TestReaderCut(t *testing.T) {
	var stream bytes.Buffer
	enc := stdgob.NewEncoder(&stream)
	ends := map[int]bool{0: true}
	for _, v := range streamed()[:13] {
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		ends[stream.Len()] = true
	}
	for n := range stream.Bytes() {
		r := gob.NewReader(bytes.NewReader(stream.Bytes()[:n]), limit)
		var err error
		for err == nil {
			_, err = r.Next(nil)
		}
		if want := io.ErrUnexpectedEOF; ends[n] != (err == io.EOF) || !ends[n] && !errors.Is(err, want) {
			t.Errorf("cut at %d, the end of a value: %v: %v", n, ends[n], err)
		}
		if _, again := r.Next(nil); again != err {
			t.Errorf("cut at %d: then %v, want %v again", n, again, err)
		}
	}
}

// endless delivers one piece again and again, with a number in it that counts.
type endless struct {
	piece func(i int) []byte
	i     int
	rest  []byte
}

func (e *endless) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		e.rest = e.piece(e.i)
		e.i++
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestReaderLimits(t *testing.T) {
	for name, test := range map[string]struct {
		piece func(i int) []byte
		want  string
	}{
		"long message":    {func(int) []byte { return []byte{0xfc, 0x7f, 0, 0, 0, 6, 0} }, "longer than the limit, 1048576 bytes"},
		"claimed message": {func(int) []byte { return []byte{0xf8, 0xff, 0, 0, 0, 0, 0, 0, 0, 6, 0} }, "longer than the limit"},
		"long number":     {func(int) []byte { return []byte{0x80} }, "number of 128 bytes"},
		"empty messages":  {func(int) []byte { return []byte{0} }, "empty message"},
		"descriptions": {func(i int) []byte { // slices of int, of rising numbers
			number := 2*(64+i-1) + 1
			return []byte{9, 0xfd, byte(number >> 16), byte(number >> 8), byte(number), 2, 2, 4, 0, 0}
		}, "descriptions of types take more than 262144 bytes"},
		"no end": {func(i int) []byte {
			if i == 0 {
				return []byte{5, 0x10, 0, 1, 'x', 0x10}
			}
			return []byte{1, 0x10}
		}, "interface holds an interface"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := gob.NewReader(&endless{piece: test.piece}, limit)
			var err error
			for i := 0; err == nil && i < 100_000; i++ {
				_, err = r.Next(nil)
			}
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if strings.Contains(test.want, "longer") && !errors.Is(err, gob.ErrTooLarge) {
				t.Errorf("%v is not ErrTooLarge", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("%d bytes were allocated", used)
			}
		})
	}
}

// Arith is a service of net/rpc.
type Arith struct{}

type Product struct{ C int }

func (Arith) Mul(args *Args, reply *Product) error {
	if args.B == 0 {
		return errors.New("nothing to multiply by")
	}
	reply.C = args.A * args.B
	return nil
}

// TestServesNetRPC has the client of net/rpc call a server made of a Reader and a
// Writer, which skips the arguments of a method that it does not have.
func TestServesNetRPC(t *testing.T) {
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- serveNetRPC(far) }() // ends with the connection
	client := rpc.NewClient(near)
	for i := range 20 {
		var reply Product
		if err := client.Call("Arith.Mul", &Args{i, 3}, &reply); err != nil || reply.C != 3*i {
			t.Fatal(reply, err)
		}
		if err := client.Call("Arith.Div", codectest.Sample(), &reply); err == nil || err.Error() != "rpc: can't find method Arith.Div" {
			t.Fatal(err)
		}
	}
	client.Close()
	if err := <-served; err != io.EOF {
		t.Error(err)
	}
}

func serveNetRPC(conn net.Conn) error {
	defer conn.Close()
	c, r, w := gob.New(), gob.NewReader(bufio.NewReader(conn), limit), new(gob.Writer)
	var in, out []byte
	for {
		var request rpc.Request
		var args Args
		var err error
		if in, err = r.Next(in[:0]); err != nil {
			return err
		}
		if err := c.Decode(in, &request); err != nil {
			return err
		}
		if in, err = r.Next(in[:0]); err != nil {
			return err
		}
		response, reply := rpc.Response{ServiceMethod: request.ServiceMethod, Seq: request.Seq}, any(struct{}{})
		if request.ServiceMethod != "Arith.Mul" {
			response.Error = "rpc: can't find method " + request.ServiceMethod
		} else if err := c.Decode(in, &args); err != nil {
			return err
		} else {
			reply = &Product{args.A * args.B}
		}
		out = out[:0]
		for _, v := range []any{&response, reply} {
			body, err := c.Append(nil, v)
			if err != nil {
				return err
			}
			if out, err = w.Append(out, body); err != nil {
				return err
			}
		}
		if _, err := conn.Write(out); err != nil {
			return err
		}
	}
}

// TestCallsNetRPC has a client made of a Writer and a Reader call a server of
// net/rpc.
func TestCallsNetRPC(t *testing.T) {
	near, far := net.Pipe()
	server := rpc.NewServer()
	if err := server.Register(Arith{}); err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { server.ServeConn(far); close(served) }() // ends with the connection
	c, r, w := gob.New(), gob.NewReader(near, limit), new(gob.Writer)
	for i := range 20 {
		var stream []byte
		for _, v := range []any{&rpc.Request{ServiceMethod: "Arith.Mul", Seq: uint64(i)}, &Args{7, i % 2}} {
			body, err := c.Append(nil, v)
			if err != nil {
				t.Fatal(err)
			}
			if stream, err = w.Append(stream, body); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := near.Write(stream); err != nil {
			t.Fatal(err)
		}
		var response rpc.Response
		var reply Product
		for _, v := range []any{&response, &reply} {
			body, err := r.Next(nil)
			if err == nil && (v == any(&response) || response.Error == "") {
				err = c.Decode(body, v)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if response.Seq != uint64(i) || i%2 == 1 && reply.C != 7 || i%2 == 0 && response.Error != "nothing to multiply by" {
			t.Fatal(i, response, reply)
		}
	}
	near.Close()
	<-served
}

// FuzzReader has any bytes as a stream. Sound bodies that come out of it are
// brought back into a stream by a Writer.
func FuzzReader(f *testing.F) {
	var stream bytes.Buffer
	enc := stdgob.NewEncoder(&stream)
	for _, v := range streamed()[:13] {
		if err := enc.Encode(v); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(stream.Bytes())
	f.Fuzz(func(t *testing.T, stream []byte) {
		r, c := gob.NewReader(bytes.NewReader(stream), 1<<16), gob.New()
		var w gob.Writer
		var again []byte
		var bodies [][]byte
		for {
			body, err := r.Next(nil)
			if err != nil {
				break
			}
			for _, v := range []any{new(any), new(rpc.Request), new(Tree), new(Outer)} {
				_ = c.Decode(body, v)
			}
			if again, err = w.Append(again, body); err == nil {
				bodies = append(bodies, body)
			}
		}
		r = gob.NewReader(bytes.NewReader(again), 1<<20)
		for _, want := range bodies {
			if body, err := r.Next(nil); err != nil || !bytes.Equal(body, want) {
				t.Fatalf("of %x became %x, %v", want, body, err)
			}
		}
	})
}

// A server of net/rpc's protocol reads a header, looks for the method, and
// decodes the arguments or lets them go.
func ExampleReader() {
	var conn bytes.Buffer
	enc := stdgob.NewEncoder(&conn)
	_ = enc.Encode(rpc.Request{ServiceMethod: "Arith.Mul", Seq: 1})
	_ = enc.Encode(Args{7, 8})

	r, c := gob.NewReader(&conn, 4<<20), gob.New()
	header, err := r.Next(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var request rpc.Request
	fmt.Println(c.Decode(header, &request), request.ServiceMethod)
	body, err := r.Next(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var args Args
	fmt.Println(c.Decode(body, &args), args.A*args.B)
	// Output:
	// <nil> Arith.Mul
	// <nil> 56
}
