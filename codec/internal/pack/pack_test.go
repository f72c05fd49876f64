package pack

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"
)

// TestForms holds every form to the specification of MessagePack.
func TestForms(t *testing.T) {
	for want, put := range map[string]func(b []byte) int{
		"00":                             func(b []byte) int { return Int(b, 0, 0) },
		"7f":                             func(b []byte) int { return Int(b, 0, 127) },
		"cc80":                           func(b []byte) int { return Int(b, 0, 128) },
		"ccff":                           func(b []byte) int { return Uint(b, 0, 255) },
		"cd0100":                         func(b []byte) int { return Uint(b, 0, 256) },
		"cdffff":                         func(b []byte) int { return Uint(b, 0, 65535) },
		"ce00010000":                     func(b []byte) int { return Uint(b, 0, 65536) },
		"ceffffffff":                     func(b []byte) int { return Uint(b, 0, math.MaxUint32) },
		"cf0000000100000000":             func(b []byte) int { return Uint(b, 0, 1<<32) },
		"ff":                             func(b []byte) int { return Int(b, 0, -1) },
		"e0":                             func(b []byte) int { return Int(b, 0, -32) },
		"d0df":                           func(b []byte) int { return Int(b, 0, -33) },
		"d080":                           func(b []byte) int { return Int(b, 0, -128) },
		"d1ff7f":                         func(b []byte) int { return Int(b, 0, -129) },
		"d18000":                         func(b []byte) int { return Int(b, 0, -32768) },
		"d2ffff7fff":                     func(b []byte) int { return Int(b, 0, -32769) },
		"d280000000":                     func(b []byte) int { return Int(b, 0, math.MinInt32) },
		"d3ffffffff7fffffff":             func(b []byte) int { return Int(b, 0, math.MinInt32-1) },
		"d38000000000000000":             func(b []byte) int { return Int(b, 0, math.MinInt64) },
		"c2":                             func(b []byte) int { return Bool(b, 0, false) },
		"c3":                             func(b []byte) int { return Bool(b, 0, true) },
		"ca3fc00000":                     func(b []byte) int { return Float32(b, 0, 1.5) },
		"cb3ff8000000000000":             func(b []byte) int { return Float64(b, 0, 1.5) },
		"bf":                             func(b []byte) int { return TextHead(b, 0, 31) },
		"d920":                           func(b []byte) int { return TextHead(b, 0, 32) },
		"da0100":                         func(b []byte) int { return TextHead(b, 0, 256) },
		"db00010000":                     func(b []byte) int { return TextHead(b, 0, 65536) },
		"c400":                           func(b []byte) int { return BytesHead(b, 0, 0) },
		"c50100":                         func(b []byte) int { return BytesHead(b, 0, 256) },
		"c600010000":                     func(b []byte) int { return BytesHead(b, 0, 65536) },
		"9f":                             func(b []byte) int { return ListHead(b, 0, 15) },
		"dc0010":                         func(b []byte) int { return ListHead(b, 0, 16) },
		"dd00010000":                     func(b []byte) int { return ListHead(b, 0, 65536) },
		"8f":                             func(b []byte) int { return TableHead(b, 0, 15) },
		"de0010":                         func(b []byte) int { return TableHead(b, 0, 16) },
		"df00010000":                     func(b []byte) int { return TableHead(b, 0, 65536) },
		"d6ff00000000":                   func(b []byte) int { return Time(b, 0, time.Unix(0, 0)) },
		"d7ff0000000400000000":           func(b []byte) int { return Time(b, 0, time.Unix(0, 1)) },
		"c70cff00000001ffffffffffffffff": func(b []byte) int { return Time(b, 0, time.Unix(-1, 1)) },
	} {
		b := make([]byte, MaxComplex)
		if got := hex.EncodeToString(b[:put(b)]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := string(AppendText([]byte("x"), strings.Repeat("a", 40))); got != "x\xd9\x28"+strings.Repeat("a", 40) {
		t.Errorf("%q", got)
	}
}

func TestExtensions(t *testing.T) {
	for _, want := range []time.Time{{}, time.Unix(0, 0), time.Unix(1<<34, 5), time.Unix(1<<34-1, 999_999_999), time.Unix(-5, 0)} {
		b := make([]byte, MaxTime)
		n := Time(b, 0, want)
		head := 2
		if b[0] == 0xc7 {
			head = 3
		}
		if got, ok := TimeOf(int8(b[head-1]), b[head:n]); !ok || !got.Equal(want) {
			t.Errorf("%v comes back as %v", want, got)
		}
	}
	b := make([]byte, MaxComplex)
	n := Complex64(b, 0, 1.5+2i)
	if got, ok := ComplexOf(int8(b[1]), b[2:n]); !ok || got != 1.5+2i {
		t.Errorf("a complex64 comes back as %v", got)
	}
	n = Complex128(b, 0, 2.5-2i)
	if got, ok := ComplexOf(int8(b[1]), b[2:n]); !ok || got != 2.5-2i {
		t.Errorf("a complex128 comes back as %v", got)
	}
	for _, bad := range []string{"", "\xff\xff\xff\xff\xff\xff\xff\xff", "12345", "\x00\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff"} {
		if got, ok := TimeOf(timestamp, []byte(bad)); ok {
			t.Errorf("%x is the time %v", bad, got)
		}
	}
	if _, ok := TimeOf(5, []byte("1234")); ok {
		t.Error("an extension of type 5 is a time")
	}
}
