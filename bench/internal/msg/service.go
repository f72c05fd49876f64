package msg

import (
	"strings"
	"sync"
	"time"

	"github.com/weftrpc/weft/bench/idl/pb"
	"github.com/weftrpc/weft/bench/idl/vt"
)

const (
	// SlowTime is how long Hello.Slow sleeps before it answers.
	SlowTime = 5 * time.Millisecond

	// SleepTime is how long Hello.Sleep sleeps before it answers.
	SleepTime = 10 * time.Millisecond

	// LargeSize is the length of what Hello.Large sends back, in bytes: field1
	// of the message, or the whole body with the raw codec.
	LargeSize = 8 << 20

	replyText   = "OK"
	replyNumber = 100
)

// Method is one method of the service Hello.
type Method uint8

// The methods. All take and return the message; they differ in the server.
const (
	Say   Method = iota // answers at once
	Slow                // answers after SlowTime
	Sleep               // answers after SleepTime
	Large               // answers at once with LargeSize bytes
	methods
)

// Methods lists all methods, for a peer that registers them.
func Methods() []Method { return []Method{Say, Slow, Sleep, Large} }

// String is the bare name, such as "Say".
func (m Method) String() string {
	if m >= methods {
		return "unknown"
	}
	return [methods]string{"Say", "Slow", "Sleep", "Large"}[m]
}

// Name is the full name as weft writes it, such as "Hello.Say".
func (m Method) Name() string { return "Hello." + m.String() }

// Service is what every peer's server does with a request once it is decoded.
// Many goroutines may use one at once.
type Service struct {
	largeText  func() string
	largeBytes func() []byte
}

// NewService makes a service. The large reply is made when first asked for.
func NewService() *Service {
	text := sync.OnceValue(func() string { return strings.Repeat("w", LargeSize) })
	return &Service{
		largeText:  text,
		largeBytes: sync.OnceValue(func() []byte { return []byte(text()) }),
	}
}

// Answer turns a decoded request into its reply, in place, after the time that
// the method takes. The caller owns the message.
func (s *Service) Answer(m Method, message Message) {
	pause(m)
	text := replyText
	if m == Large {
		text = s.largeText()
	}
	switch message := message.(type) {
	case *pb.BenchmarkMessage:
		assign(&message.Field1, text)
		assign(&message.Field2, replyNumber)
	case *vt.BenchmarkMessage:
		assign(&message.Field1, text)
		assign(&message.Field2, replyNumber)
	}
}

// AnswerRaw is Answer for bytes: the body itself, or for Large a shared slice
// that nobody may change.
func (s *Service) AnswerRaw(m Method, body []byte) []byte {
	pause(m)
	if m == Large {
		return s.largeBytes()
	}
	return body
}

func pause(m Method) {
	switch m {
	case Slow:
		time.Sleep(SlowTime)
	case Sleep:
		time.Sleep(SleepTime)
	}
}

// assign writes through the pointer of an optional field, which decoding has
// already made, so that the handler itself allocates nothing.
func assign[T any](field **T, value T) {
	if *field != nil {
		**field = value
		return
	}
	fresh := value
	*field = &fresh
}
