package protovalidate

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"buf.build/go/protovalidate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/weftrpc/weft"
)

// The bounds of what an error tells, so that it fits into the trailers of gRPC.
const (
	maxViolations = 20
	maxText       = 256     // bytes, of the path of a field or of a description
	maxAll        = 4 << 10 // of all of them
)

// refusal is the error of a request that breaks rules.
func refusal(broken *protovalidate.ValidationError) *weft.Error {
	bad, size := &errdetails.BadRequest{}, 0
	for _, v := range broken.Violations {
		field, description := cut(protovalidate.FieldPathString(v.Proto.GetField())), cut(description(v))
		if size += len(field) + len(description); len(bad.FieldViolations) > 0 && size > maxAll || len(bad.FieldViolations) == maxViolations {
			break
		}
		bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field: field, Description: description, Reason: reasonOf(v.Proto.GetRuleId())})
	}
	return weft.Errorf(weft.InvalidArgument, "the request is not valid: %s", summary(bad, len(broken.Violations))).WithReason(Reason).With(bad)
}

// description says what is wrong with a field.
func description(v *protovalidate.Violation) string {
	text := v.Proto.GetMessage()
	if text == "" {
		text = "the rule " + v.Proto.GetRuleId() + " is broken"
	}
	if v.Proto.GetForKey() {
		return "its key: " + text
	}
	return text
}

// summary is the first violation, and how many there are beside it.
func summary(bad *errdetails.BadRequest, all int) string {
	if len(bad.FieldViolations) == 0 {
		return "its rules are broken"
	}
	first := bad.FieldViolations[0]
	text := first.Description
	if first.Field != "" {
		text = first.Field + ": " + text
	}
	if all > 1 {
		text += fmt.Sprintf("; and %d more", all-1)
	}
	return text
}

// reasonOf is the id of a rule, such as "string.min_len", as the field reason of a violation has it:
// STRING_MIN_LEN. It is "" for an id that cannot be one.
func reasonOf(rule string) string {
	if len(rule) == 0 || len(rule) > 63 {
		return ""
	}
	reason := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, rule)
	if reason[0] < 'A' || reason[0] > 'Z' {
		return ""
	}
	return reason
}

// cut shortens a text to maxText bytes of valid UTF-8.
func cut(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
