package wire

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// Outcome says how far a failed call got.
type Outcome uint8

// The outcomes of a call.
const (
	OutcomeUnknown Outcome = iota // bytes left, no verdict came back
	NotSent                       // nothing left this process
	Refused                       // the peer did not run the handler
	Executed                      // the handler answered
)

// Code is a status code: the sixteen of gRPC, with the same numbers.
type Code uint16

// The codes that this package and the session use themselves.
const (
	OK                 Code = 0
	Canceled           Code = 1
	InvalidArgument    Code = 3
	DeadlineExceeded   Code = 4
	PermissionDenied   Code = 7
	ResourceExhausted  Code = 8
	FailedPrecondition Code = 9
	Unimplemented      Code = 12
	Internal           Code = 13
	Unavailable        Code = 14
	DataLoss           Code = 15
	Unauthenticated    Code = 16
)

// Lasting reports whether what was refused with the code, a connection or a registration, is likely to be refused again until one of the two
// sides is configured in another way.
func (c Code) Lasting() bool {
	switch c {
	case Unauthenticated, PermissionDenied, FailedPrecondition, Unimplemented, InvalidArgument:
		return true
	}
	return false
}

// Detail is a typed value that travels with an error.
type Detail struct {
	Type  string // a name both sides know, for protobuf the full name of the message
	Value []byte
}

// Status is how a call that failed looks on the wire.
type Status struct {
	Code    Code
	Outcome Outcome
	Message string
	Reason  string
	Details []Detail
}

// Bounds on the parts of an error, in bytes but for MaxDetails.
const (
	MaxErrorMessage = 4 << 10
	MaxErrorReason  = 255
	MaxDetails      = 16
	MaxDetailType   = 255
	// MaxStatus is the longest body of an ERROR. No limit of a hello makes it
	// shorter, so that a receiver of small messages can still be told what failed.
	MaxStatus = 64 << 10
)

// AppendStatus appends the body of an ERROR frame. A message or reason that is
// too long is cut, details beyond the bounds are left out: an error must always
// be sayable.
func AppendStatus(dst []byte, s *Status) []byte {
	from := len(dst)
	message := cut(s.Message, MaxErrorMessage)
	reason := cut(s.Reason, MaxErrorReason)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(message)))
	dst = append(dst, message...)
	dst = append(dst, byte(len(reason)))
	dst = append(dst, reason...)
	at := len(dst)
	dst = append(dst, 0)
	for _, d := range s.Details {
		if dst[at] == MaxDetails {
			break
		}
		if len(d.Type) > MaxDetailType || len(dst)-from+1+len(d.Type)+4+len(d.Value) > MaxStatus {
			continue
		}
		dst[at]++
		dst = append(dst, byte(len(d.Type)))
		dst = append(dst, d.Type...)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(d.Value)))
		dst = append(dst, d.Value...)
	}
	return dst
}

// cut shortens s to at most n bytes, at the end of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// ParseStatus reads the body of an ERROR frame into s, which keeps the code and
// the outcome it has. Nothing of b is kept. After an error the rest of s means
// nothing.
func ParseStatus(b []byte, s *Status) error {
	if len(b) > MaxStatus {
		return fmt.Errorf("error has %d bytes, at most %d are allowed", len(b), MaxStatus)
	}
	if len(b) < 2 {
		return fmt.Errorf("error ends inside the length of its message")
	}
	n := int(binary.LittleEndian.Uint16(b))
	if b = b[2:]; len(b) < n+1 {
		return fmt.Errorf("error claims a message of %d bytes, %d are left", n, len(b))
	}
	s.Message, b = string(b[:n]), b[n:]
	n = int(b[0])
	if b = b[1:]; len(b) < n+1 {
		return fmt.Errorf("error claims a reason of %d bytes, %d are left", n, len(b))
	}
	s.Reason, b = string(b[:n]), b[n:]
	s.Details = nil
	count := int(b[0])
	if b = b[1:]; count > MaxDetails {
		return fmt.Errorf("error claims %d details, at most %d are allowed", count, MaxDetails)
	}
	for range count {
		d, rest, err := parseDetail(b)
		if err != nil {
			return err
		}
		s.Details, b = append(s.Details, d), rest
	}
	if len(b) > 0 {
		return fmt.Errorf("error has %d bytes behind its end", len(b))
	}
	return nil
}

func parseDetail(b []byte) (d Detail, rest []byte, err error) {
	if len(b) == 0 {
		return d, nil, fmt.Errorf("error ends before a detail that it claims")
	}
	k := int(b[0])
	if b = b[1:]; len(b) < k+4 {
		return d, nil, fmt.Errorf("error ends inside the head of a detail")
	}
	d.Type, b = string(b[:k]), b[k:]
	n := binary.LittleEndian.Uint32(b)
	if b = b[4:]; uint64(n) > uint64(len(b)) {
		return d, nil, fmt.Errorf("error claims a detail of %d bytes, %d are left", n, len(b))
	}
	d.Value = append([]byte(nil), b[:n]...)
	return d, b[n:], nil
}
