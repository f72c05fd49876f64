package wire_test

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/wire"
)

// The types in this file are the JSON of testdata/vectors; its README describes it.

// hexBytes are bytes that JSON shows as hexadecimal text.
type hexBytes []byte

func (b hexBytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(b)), nil }

func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

type vectorPair struct {
	Key   hexBytes `json:"key"`
	Value hexBytes `json:"value"`
}

type vectorHello struct {
	Features     uint64   `json:"features,omitempty"`
	MaxMessage   uint32   `json:"max_message,omitempty"`
	MaxMetadata  uint32   `json:"max_metadata,omitempty"`
	MaxCalls     uint32   `json:"max_calls,omitempty"`
	MaxBindings  uint32   `json:"max_bindings,omitempty"`
	StreamWindow uint32   `json:"stream_window,omitempty"`
	Codecs       []string `json:"codecs,omitempty"`
	Compressors  []string `json:"compressors,omitempty"`
	Credential   string   `json:"credential,omitempty"`
	Software     string   `json:"software,omitempty"`
}

func (h *vectorHello) wire() *wire.Hello {
	return &wire.Hello{
		Features: wire.Features(h.Features), MaxMessage: h.MaxMessage, MaxMetadata: h.MaxMetadata,
		MaxCalls: h.MaxCalls, MaxBindings: h.MaxBindings, StreamWindow: h.StreamWindow,
		Codecs: h.Codecs, Compressors: h.Compressors, Credential: h.Credential, Software: h.Software,
	}
}

type vectorBind struct {
	Codec  string `json:"codec"`
	Method string `json:"method"`
}

type vectorStatus struct {
	Message string         `json:"message,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Details []vectorDetail `json:"details,omitempty"`
}

type vectorDetail struct {
	Type  string   `json:"type"`
	Value hexBytes `json:"value"`
}

func (s *vectorStatus) wire() *wire.Status {
	st := &wire.Status{Message: s.Message, Reason: s.Reason}
	for _, d := range s.Details {
		st.Details = append(st.Details, wire.Detail{Type: d.Type, Value: d.Value})
	}
	return st
}

// sameStatus compares what travels in the body of an ERROR; no value and an empty
// one are the same.
func sameStatus(a, b *wire.Status) bool {
	if a.Message != b.Message || a.Reason != b.Reason || len(a.Details) != len(b.Details) {
		return false
	}
	for i := range a.Details {
		if a.Details[i].Type != b.Details[i].Type || !bytes.Equal(a.Details[i].Value, b.Details[i].Value) {
			return false
		}
	}
	return true
}

// vectorFrame is a frame. Its payload is one of: Hello, Bind, Text, Payload, or
// metadata (with the flag META) followed by Body or Status.
type vectorFrame struct {
	Type       string        `json:"type"`
	Flags      string        `json:"flags,omitempty"`
	Code       uint16        `json:"code,omitempty"`
	Slot       uint16        `json:"slot,omitempty"`
	Generation uint16        `json:"generation,omitempty"`
	Arg        uint32        `json:"arg,omitempty"`
	Hello      *vectorHello  `json:"hello,omitempty"`
	Bind       *vectorBind   `json:"bind,omitempty"`
	Text       *string       `json:"text,omitempty"`
	Meta       *[]vectorPair `json:"meta,omitempty"`
	Status     *vectorStatus `json:"status,omitempty"`
	Body       *hexBytes     `json:"body,omitempty"`
	Payload    *hexBytes     `json:"payload,omitempty"`
}

var typeNames = map[string]wire.Type{
	"HELLO": wire.TypeHello, "BIND": wire.TypeBind, "REQUEST": wire.TypeRequest, "REPLY": wire.TypeReply,
	"ERROR": wire.TypeError, "CHUNK": wire.TypeChunk, "DATA": wire.TypeData, "CREDIT": wire.TypeCredit,
	"CANCEL": wire.TypeCancel, "PING": wire.TypePing, "GOAWAY": wire.TypeGoAway,
}

var flagNames = map[string]wire.Flags{
	"META": wire.FlagMeta, "COMPRESSED": wire.FlagCompressed, "MORE": wire.FlagMore, "ANSWER": wire.FlagAnswer,
	"END": wire.FlagEnd, "STREAM": wire.FlagStream, "ONEWAY": wire.FlagOneway,
	"MILLIS": wire.FlagMillis, "REFUSED": wire.FlagRefused, "ACK": wire.FlagAck,
}

// number reads a name, or a number such as 0x9c for what has no name.
func number[T ~uint8](t *testing.T, names map[string]T, name string) T {
	t.Helper()
	if n, ok := names[name]; ok {
		return n
	}
	n, err := strconv.ParseUint(name, 0, 8)
	if err != nil {
		t.Fatalf("no such name: %q", name)
	}
	return T(n)
}

func (f *vectorFrame) header(t *testing.T) wire.Header {
	t.Helper()
	h := wire.Header{Type: number(t, typeNames, f.Type), Code: f.Code, Arg: f.Arg}
	h.ID = wire.ID(uint32(f.Slot), f.Generation)
	if f.Flags != "" {
		for _, name := range strings.Split(f.Flags, "|") {
			h.Flags |= number(t, flagNames, name)
		}
	}
	return h
}

// bytes makes the frame from its meaning.
func (f *vectorFrame) bytes(t *testing.T) []byte {
	t.Helper()
	var p []byte
	if f.Meta != nil {
		p = appendMeta(p, *f.Meta)
	}
	switch {
	case f.Hello != nil:
		p = wire.AppendHello(p, f.Hello.wire())
	case f.Bind != nil:
		p = wire.AppendBind(p, f.Bind.Codec, f.Bind.Method)
	case f.Text != nil:
		p = append(p, *f.Text...)
	case f.Status != nil:
		p = wire.AppendStatus(p, f.Status.wire())
	case f.Body != nil:
		p = append(p, *f.Body...)
	case f.Payload != nil:
		p = append(p, *f.Payload...)
	default:
		t.Fatalf("frame %s has no payload", f.Type)
	}
	return wire.AppendFrame(nil, f.header(t), p)
}

// check compares a frame that was read with its meaning.
func (f *vectorFrame) check(t *testing.T, h wire.Header, payload []byte) {
	t.Helper()
	want := f.header(t)
	want.Length = uint32(len(payload))
	if h != want {
		t.Errorf("header is %+v, want %+v", h, want)
	}
	if f.Meta != nil {
		pairs, rest, err := wire.SplitMeta(payload, wire.MaxMetaBlock)
		if err != nil {
			t.Fatal(err)
		}
		if got := pairsOf(pairs); !samePairs(got, *f.Meta) {
			t.Errorf("metadata is %v, want %v", got, *f.Meta)
		}
		payload = rest
	}
	switch {
	case f.Hello != nil:
		got, err := wire.ParseHello(payload)
		if err != nil || !reflect.DeepEqual(got, f.Hello.wire()) {
			t.Errorf("hello is %+v, %v, want %+v", got, err, f.Hello)
		}
	case f.Bind != nil:
		codec, method, err := wire.ParseBind(payload)
		if err != nil || string(codec) != f.Bind.Codec || string(method) != f.Bind.Method {
			t.Errorf("binding is %q %q, %v, want %+v", codec, method, err, f.Bind)
		}
	case f.Text != nil:
		if string(payload) != *f.Text {
			t.Errorf("text is %q, want %q", payload, *f.Text)
		}
	case f.Status != nil:
		var got wire.Status
		if err := wire.ParseStatus(payload, &got); err != nil || !sameStatus(&got, f.Status.wire()) {
			t.Errorf("status is %+v, %v, want %+v", got, err, f.Status)
		}
	case f.Body != nil:
		if !bytes.Equal(payload, *f.Body) {
			t.Errorf("body is %x, want %x", payload, []byte(*f.Body))
		}
	case !bytes.Equal(payload, *f.Payload):
		t.Errorf("payload is %x, want %x", payload, []byte(*f.Payload))
	}
}

// cutFrame reads the first frame of b.
func cutFrame(t *testing.T, b []byte, sum bool) (h wire.Header, payload, rest []byte) {
	t.Helper()
	if len(b) < wire.HeaderSize {
		t.Fatalf("%d bytes are no header", len(b))
	}
	h = wire.ParseHeader(b)
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
	end := wire.HeaderSize + int(h.Length)
	if sum {
		if len(b) < end+wire.ChecksumSize || !wire.ChecksumOK(b[:end], b[end:end+wire.ChecksumSize]) {
			t.Fatalf("wrong checksum behind %x", b)
		}
		return h, b[wire.HeaderSize:end], b[end+wire.ChecksumSize:]
	}
	if len(b) < end {
		t.Fatalf("frame of %d bytes, %d are there", end, len(b))
	}
	return h, b[wire.HeaderSize:end], b[end:]
}

func appendMeta(dst []byte, pairs []vectorPair) []byte {
	var inside []byte
	for _, p := range pairs {
		inside = wire.AppendPair(inside, string(p.Key), string(p.Value))
	}
	dst = append(dst, byte(len(inside)), byte(len(inside)>>8))
	return append(dst, inside...)
}

func pairsOf(inside []byte) []vectorPair {
	pairs := []vectorPair{}
	for rest := string(inside); rest != ""; {
		var k, v string
		k, v, rest = wire.NextPair(rest)
		pairs = append(pairs, vectorPair{hexBytes(k), hexBytes(v)})
	}
	return pairs
}

func samePairs(a, b []vectorPair) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i].Key, b[i].Key) || !bytes.Equal(a[i].Value, b[i].Value) {
			return false
		}
	}
	return true
}
