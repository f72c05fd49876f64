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

	// MediumSize and LargeSize are the lengths of what Hello.Medium and
	// Hello.Large send back, in bytes: field1 of the message, or the whole body
	// with the raw codec.
	MediumSize = 1 << 20
	LargeSize  = 8 << 20

	replyText   = "OK"
	replyNumber = 100
)

// Method is one method of the service Hello, or MathService's only one.
type Method uint8

// The methods. Those of Hello take and return the message; they differ in the
// server.
const (
	Say    Method = iota // answers at once
	Slow                 // answers after SlowTime
	Sleep                // answers after SleepTime
	Medium               // answers at once with MediumSize bytes
	Large                // answers at once with LargeSize bytes
	Add                  // of MathService: the sum of two numbers
	methods
)

// Methods lists the methods of Hello, for a peer that registers them.
func Methods() []Method { return []Method{Say, Slow, Sleep, Medium, Large} }

// String is the bare name, such as "Say".
func (m Method) String() string {
	if m >= methods {
		return "unknown"
	}
	return [methods]string{"Say", "Slow", "Sleep", "Medium", "Large", "Add"}[m]
}

// Name is the full name as weft writes it, such as "Hello.Say".
func (m Method) Name() string {
	if m == Add {
		return "MathService.Add"
	}
	return "Hello." + m.String()
}

// size is how many bytes the reply has in place of the usual ones, or 0.
func (m Method) size() int {
	switch m {
	case Medium:
		return MediumSize
	case Large:
		return LargeSize
	}
	return 0
}

// Service is what every peer's server does with a request once it is decoded.
// Many goroutines may use one at once.
type Service struct {
	text  func() string
	bytes func() []byte
}

// NewService makes a service. The large replies are made when first asked for.
func NewService() *Service {
	text := sync.OnceValue(func() string { return strings.Repeat("w", LargeSize) })
	return &Service{
		text:  text,
		bytes: sync.OnceValue(func() []byte { return []byte(text()) }),
	}
}

// Text is what field1 of a reply holds, after the time that the method takes.
// Field2 holds Answered.
func (s *Service) Text(m Method) string {
	pause(m)
	if size := m.size(); size > 0 {
		return s.text()[:size]
	}
	return replyText
}

// Answered is field2 of every reply.
const Answered = replyNumber

// Answer turns a decoded request into its reply, in place, after the time that
// the method takes. The caller owns the message.
func (s *Service) Answer(m Method, message Message) {
	text := s.Text(m)
	switch message := message.(type) {
	case *pb.BenchmarkMessage:
		assign(&message.Field1, text)
		assign(&message.Field2, replyNumber)
	case *vt.BenchmarkMessage:
		assign(&message.Field1, text)
		assign(&message.Field2, replyNumber)
	}
}

// AnswerRaw is Answer for bytes: the body itself, or for Medium and Large a
// shared slice, which must not be changed.
func (s *Service) AnswerRaw(m Method, body []byte) []byte {
	pause(m)
	if size := m.size(); size > 0 {
		return s.bytes()[:size]
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
