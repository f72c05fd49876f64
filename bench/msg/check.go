package msg

import "fmt"

// Check reports whether reply is the right answer to the published message.
func Check(m Method, reply Message) error {
	return CheckFields(m, reply.GetField1(), reply.GetField2())
}

// CheckFields is Check for a message of another kind.
func CheckFields(m Method, text string, n int32) error {
	if n != replyNumber {
		return fmt.Errorf("%s: field2 of the reply is %d, want %d", m.Name(), n, replyNumber)
	}
	if m.size() > 0 {
		return checkLarge(m, len(text), text[:min(1, len(text))], text[max(0, len(text)-1):])
	}
	if text != replyText {
		return fmt.Errorf("%s: field1 of the reply is %.40q, want %q", m.Name(), text, replyText)
	}
	return nil
}

// CheckRaw is Check for bytes: the length and both ends must be those of the
// request.
func CheckRaw(m Method, request, reply []byte) error {
	if m.size() > 0 {
		return checkLarge(m, len(reply), string(reply[:min(1, len(reply))]), string(reply[max(0, len(reply)-1):]))
	}
	if len(reply) != len(request) {
		return fmt.Errorf("%s: the reply has %d bytes, want %d", m.Name(), len(reply), len(request))
	}
	last := len(reply) - 1
	if last < 0 || reply[0] != request[0] || reply[last] != request[last] {
		return fmt.Errorf("%s: the reply does not begin and end like the request", m.Name())
	}
	return nil
}

func checkLarge(m Method, length int, first, last string) error {
	if length != m.size() {
		return fmt.Errorf("%s: the reply has %d bytes, want %d", m.Name(), length, m.size())
	}
	if first != "w" || last != "w" {
		return fmt.Errorf("%s: the reply begins with %q and ends with %q, want w", m.Name(), first, last)
	}
	return nil
}

// CheckSum reports whether x is the sum of a and b.
func CheckSum(a, b, x int32) error {
	if x != a+b {
		return fmt.Errorf("%s: %d + %d is %d in the reply", Add.Name(), a, b, x)
	}
	return nil
}
