package msg

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft/bench/idl/pb"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestThePublishedMessage(t *testing.T) {
	if err := Verify(); err != nil {
		t.Fatal(err)
	}
	raw, err := NewRaw()
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) != 581 {
		t.Errorf("the message has %d bytes, want 581", len(raw))
	}
	if n := NewVT().SizeVT(); n != 581 {
		t.Errorf("vtprotobuf's size is %d, want 581", n)
	}
	message := NewGoogle()
	if len(message.GetField5()) != 0 {
		t.Error("field5 must stay empty")
	}
	if message.GetField129() != Text || message.GetField22() != 100000 || !message.GetField59() {
		t.Errorf("a field was left out: %v", message)
	}
}

func TestEveryCodecAnswersEveryMethod(t *testing.T) {
	service := NewService()
	for _, codec := range []Codec{Raw, VT, Google} {
		respond, err := service.Responder(codec)
		if err != nil {
			t.Fatal(err)
		}
		exchange, err := NewExchange(codec)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range Methods() {
			t.Run(string(codec)+"/"+method.String(), func(t *testing.T) {
				prefix := []byte("header")
				request, err := exchange.AppendRequest(prefix)
				if err != nil || len(request) != len(prefix)+Size {
					t.Fatalf("request of %d bytes, %v", len(request), err)
				}
				start := time.Now()
				reply, err := respond([]byte("header"), method, request[len(prefix):])
				if err != nil {
					t.Fatal(err)
				}
				if err := exchange.Accept(method, reply[len(prefix):]); err != nil {
					t.Error(err)
				}
				want := map[Method]time.Duration{Slow: SlowTime, Sleep: SleepTime}[method]
				if took := time.Since(start); took < want {
					t.Errorf("took %v, want at least %v", took, want)
				}
			})
		}
	}
}

func TestCheckFindsWrongReplies(t *testing.T) {
	raw, err := NewRaw()
	if err != nil {
		t.Fatal(err)
	}
	turned := append([]byte(nil), raw...)
	turned[len(turned)-1]++
	wrongNumber := &pb.BenchmarkMessage{Field1: proto.String("OK"), Field2: proto.Int32(99)}
	wrongText := &pb.BenchmarkMessage{Field1: proto.String("KO"), Field2: proto.Int32(100)}
	tests := []struct {
		name string
		err  error
	}{
		{"the request itself", Check(Say, NewGoogle())},
		{"an empty message", Check(Say, new(pb.BenchmarkMessage))},
		{"wrong number", Check(Say, wrongNumber)},
		{"wrong text", Check(Slow, wrongText)},
		{"a small reply to Large", Check(Large, &pb.BenchmarkMessage{Field1: proto.String(""), Field2: proto.Int32(100)})},
		{"short bytes", CheckRaw(Say, raw, raw[:580])},
		{"no bytes", CheckRaw(Say, nil, nil)},
		{"another last byte", CheckRaw(Say, raw, turned)},
		{"small bytes to Large", CheckRaw(Large, raw, raw)},
		{"no bytes to Large", CheckRaw(Large, raw, nil)},
	}
	for _, test := range tests {
		if test.err == nil {
			t.Errorf("%s was accepted", test.name)
		}
	}
}

func TestBadBytesAreAnError(t *testing.T) {
	bad := []byte{0xff, 0xff, 0xff}
	for _, codec := range []Codec{VT, Google} {
		respond, err := NewService().Responder(codec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := respond(nil, Say, bad); err == nil {
			t.Errorf("%s: the server decoded garbage", codec)
		}
		exchange, err := NewExchange(codec)
		if err != nil {
			t.Fatal(err)
		}
		if err := exchange.Accept(Say, bad); err == nil {
			t.Errorf("%s: the caller decoded garbage", codec)
		}
	}
}

func TestUnknownCodec(t *testing.T) {
	if _, err := ParseCodec("thrift"); err == nil {
		t.Error("ParseCodec took thrift")
	}
	if _, err := NewService().Responder("thrift"); err == nil {
		t.Error("Responder took thrift")
	}
	if _, err := NewExchange("gob"); err == nil {
		t.Error("NewExchange took gob")
	}
}

func TestAnswerDoesNotAllocate(t *testing.T) {
	service, message := NewService(), NewVT()
	if n := testing.AllocsPerRun(100, func() { service.Answer(Say, message) }); n != 0 {
		t.Errorf("the handler allocates %v times", n)
	}
}
