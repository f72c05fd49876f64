package greeting

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

func TestMain(m *testing.M) { leak.Main(m) }

func sample() wire.Hello {
	return wire.Hello{MaxMessage: 1 << 20, MaxMetadata: 1 << 10, MaxCalls: 100, MaxBindings: 10, StreamWindow: 1 << 16, Codecs: []string{"raw"}}
}

// A greeting that comes in two pieces is read as one that comes whole; of each beginning it is known how much is missing at least.
func TestCutAtEveryByte(t *testing.T) {
	h := sample()
	whole := Append(nil, &h)
	for n := range len(whole) {
		got, size, err := Parse(whole[:n], ParseHello)
		if got != nil || err != nil || size <= n || size > len(whole) {
			t.Fatalf("the first %d of %d bytes gave %v, size %d, %v", n, len(whole), got, size, err)
		}
	}
	ahead := append(slices.Clone(whole), "what follows"...)
	for n := range len(whole) {
		conn, peer := mem.Pipe(nil)
		go peer.Write(ahead[n:])
		got, buf, r, w, err := Read(conn, ahead[:n], ParseHello)
		if err != nil || got.MaxCalls != h.MaxCalls {
			t.Fatalf("a greeting cut at %d gave %v, %v", n, got, err)
		}
		if string(buf[r:w]) != "what follows"[:w-r] {
			t.Fatalf("%q was read ahead", buf[r:w])
		}
		conn.Close()
		peer.Close()
	}
}

// The cache gives what is parsed anew, but does not keep a credential.
func TestCache(t *testing.T) {
	var c Cache
	h := sample()
	plain := wire.AppendHello(nil, &h)
	first, err := c.Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	h.Credential = "secret"
	secret := wire.AppendHello(nil, &h)
	for range 2 {
		if got, err := c.Parse(secret); err != nil || got.Credential != "secret" || got == first {
			t.Errorf("a hello with a credential gave %+v, %v", got, err)
		}
		if got, err := c.Parse(plain); err != nil || got != first {
			t.Errorf("a hello that was parsed before gave %+v, %v", got, err)
		}
	}
	made := 0
	hello := func() wire.Hello { made++; return sample() }
	h = sample()
	if a, b := c.Append(nil, hello), c.Append(nil, hello); string(a) != string(Append(nil, &h)) || string(a) != string(b) || made != 1 {
		t.Errorf("the greeting of a server is %q, then %q, made %d times", a, b, made)
	}
}

// What becomes of a handshake that failed: whether the client is told, and what its caller is.
func TestFailures(t *testing.T) {
	gone := wire.AppendFrame([]byte(wire.Preface), wire.Header{Type: wire.TypeGoAway, Code: uint16(wire.Unauthenticated)}, Reason("no"))
	version := []byte(wire.Preface)
	version[len(version)-1]++
	for _, c := range []struct {
		name    string
		bytes   []byte
		told    wire.Code // 0: the client could not read it
		code    wire.Code
		outcome wire.Outcome
	}{
		{"a stranger", []byte("GET / HTTP/1.1\r\n"), 0, wire.Unavailable, wire.NotSent},
		{"another version", version, wire.Unimplemented, wire.Unavailable, wire.NotSent},
		{"a refusal", gone, 0, wire.Unauthenticated, wire.NotSent},
		{"another frame", wire.AppendFrame([]byte(wire.Preface), wire.Header{Type: wire.TypePing}, nil), wire.Internal, wire.Unavailable, wire.OutcomeUnknown},
		{"a broken hello", wire.AppendFrame([]byte(wire.Preface), wire.Header{Type: wire.TypeHello}, []byte{1}), wire.Internal, wire.Unavailable, wire.OutcomeUnknown},
	} {
		_, _, err := Parse(c.bytes, ParseHello)
		if err == nil {
			t.Errorf("%s was taken for a greeting", c.name)
			continue
		}
		if told := Refusal(err); (told == nil) != (c.told == 0) || told != nil && told.Code != c.told {
			t.Errorf("after %s the client is told %+v, want code %d", c.name, told, c.told)
		}
		if st := Status(err, time.Second); st.Code != c.code || st.Outcome != c.outcome {
			t.Errorf("after %s the caller gets %+v, want code %d, outcome %d", c.name, st, c.code, c.outcome)
		}
	}
	for _, err := range []error{io.EOF, os.ErrDeadlineExceeded, errors.New("any")} {
		if st := Status(err, time.Second); st.Code != wire.Unavailable || st.Outcome != wire.OutcomeUnknown {
			t.Errorf("after %v the caller gets %+v", err, st)
		}
	}
	rejected := &net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}
	if st := Status(rejected, time.Second); st.Outcome != wire.NotSent {
		t.Errorf("after a rejected certificate the caller gets %+v", st)
	}
}

// A peer that is refused reads why, however long the reason is.
func TestRefuse(t *testing.T) {
	conn, peer := mem.Pipe(nil)
	go Refuse(conn, &wire.Status{Code: wire.ResourceExhausted, Message: string(make([]byte, 2*MaxReason))})
	all, err := io.ReadAll(peer)
	peer.Close()
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = Parse(all, ParseHello)
	if st := Status(err, time.Second); st.Code != wire.ResourceExhausted || len(st.Message) != MaxReason {
		t.Errorf("the peer got %v with a message of %d bytes", st.Code, len(st.Message))
	}
}
