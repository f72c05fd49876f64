package gob_test

import (
	"bytes"
	stdgob "encoding/gob"
	"net/rpc"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec/gob"
)

// published has the fields of the message that RPC comparisons use, 581 bytes in
// Protocol Buffers.
type published struct {
	Field1                                                     string
	Field2, Field3                                             int32
	Field4                                                     string
	Field5                                                     int64
	Field6                                                     int32
	Field7, Field9                                             string
	Field12, Field13, Field14                                  bool
	Field16                                                    int32
	Field17                                                    bool
	Field18                                                    string
	Field22                                                    int64
	Field23                                                    int32
	Field24                                                    bool
	Field25, Field29                                           int32
	Field30, Field59                                           bool
	Field60, Field67, Field68                                  int32
	Field78, Field80, Field81                                  bool
	Field100, Field101                                         int32
	Field102, Field103                                         string
	Field104, Field128                                         int32
	Field129                                                   string
	Field130, Field131, Field150, Field271, Field272, Field280 int32
}

func newPublished() *published {
	m := new(published)
	for _, field := range reflect.ValueOf(m).Elem().Fields() {
		switch field.Kind() {
		case reflect.String:
			field.SetString("许多往事在眼前一幕一幕，变的那麼模糊")
		case reflect.Bool:
			field.SetBool(true)
		default:
			field.SetInt(100_000)
		}
	}
	return m
}

// exchange is one direction of a call: a message is encoded and decoded.
type exchange func(b *testing.B)

func weftExchange() exchange {
	c, sent, dst := gob.New(), newPublished(), make([]byte, 0, 4096)
	return func(b *testing.B) {
		body, err := c.Append(dst, sent)
		if err != nil {
			b.Fatal(err)
		}
		var got published
		if err := c.Decode(body, &got); err != nil || got.Field280 != sent.Field280 {
			b.Fatal(err)
		}
	}
}

// streamExchange does with a Writer and a Reader what net/rpc does.
func streamExchange() exchange {
	var conn bytes.Buffer
	var w gob.Writer
	var body, in, out []byte
	c, r, sent := gob.New(), gob.NewReader(&conn, 1<<20), newPublished()
	seq := uint64(1000)
	return func(b *testing.B) {
		seq++
		out = out[:0]
		for _, v := range []any{&rpc.Request{ServiceMethod: "Hello.Say", Seq: seq}, sent} {
			var err error
			if body, err = c.Append(body[:0], v); err != nil {
				b.Fatal(err)
			}
			if out, err = w.Append(out, body); err != nil {
				b.Fatal(err)
			}
		}
		conn.Write(out)
		var head rpc.Request
		var got published
		for _, v := range []any{&head, &got} {
			var err error
			if in, err = r.Next(in[:0]); err != nil {
				b.Fatal(err)
			}
			if err := c.Decode(in, v); err != nil {
				b.Fatal(err)
			}
		}
		if head.Seq != seq || got.Field280 != sent.Field280 {
			b.Fatal(head, got)
		}
	}
}

// netrpcExchange does what net/rpc does on a connection that stays open.
func netrpcExchange() exchange {
	var conn bytes.Buffer
	enc, dec, sent := stdgob.NewEncoder(&conn), stdgob.NewDecoder(&conn), newPublished()
	seq := uint64(1000)
	return func(b *testing.B) {
		seq++
		if err := enc.Encode(&rpc.Request{ServiceMethod: "Hello.Say", Seq: seq}); err != nil {
			b.Fatal(err)
		}
		if err := enc.Encode(sent); err != nil {
			b.Fatal(err)
		}
		var head rpc.Request
		if err := dec.Decode(&head); err != nil || head.Seq != seq {
			b.Fatal(err)
		}
		var got published
		if err := dec.Decode(&got); err != nil || got.Field280 != sent.Field280 {
			b.Fatal(err)
		}
	}
}

// BenchmarkBesideNetRPC measures the codec, a stream of its bodies and the
// stream of net/rpc in turns, so that all meet the same machine. An operation is
// one direction of a call, on a stream with the header that net/rpc needs.
func BenchmarkBesideNetRPC(b *testing.B) {
	const turn = 100
	sides := []struct {
		name   string
		run    exchange
		time   time.Duration
		allocs uint64
	}{{name: "codec", run: weftExchange()}, {name: "stream", run: streamExchange()}, {name: "netrpc", run: netrpcExchange()}}
	for i := range sides {
		sides[i].run(b) // the first one describes the types
	}
	turns := 0
	for b.Loop() {
		for i := range sides {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			for range turn {
				sides[i].run(b)
			}
			sides[i].time += time.Since(start)
			runtime.ReadMemStats(&after)
			sides[i].allocs += after.Mallocs - before.Mallocs
		}
		turns++
	}
	n := float64(turns * turn)
	for _, s := range sides {
		b.ReportMetric(float64(s.time.Nanoseconds())/n, s.name+"-ns/op")
		b.ReportMetric(float64(s.allocs)/n, s.name+"-allocs/op")
	}
	b.ReportMetric(float64(sides[0].time)/float64(sides[2].time), "codec/netrpc")
	b.ReportMetric(float64(sides[1].time)/float64(sides[2].time), "stream/netrpc")
}
