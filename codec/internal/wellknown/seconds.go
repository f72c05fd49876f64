// Package wellknown has the forms of messages that all implementations of Protocol Buffers have, and whose values
// are no structs in Go: google.protobuf.Timestamp, Duration and Value.
package wellknown

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// The bounds of google.protobuf.Timestamp: the years 1 to 9999.
const (
	firstSecond = -62135596800
	lastSecond  = 253402300799
)

// Time returns the time that the body of a google.protobuf.Timestamp has. was is that of the bodies before it of the same field, of which each
// may have a part; zero: there was none.
func Time(body []byte, was time.Time) (time.Time, error) {
	seconds, nanoseconds := int64(0), int64(0)
	if !was.IsZero() {
		seconds, nanoseconds = was.Unix(), int64(was.Nanosecond())
	}
	seconds, nanoseconds, err := parts(body, seconds, nanoseconds)
	if err == nil && (seconds < firstSecond || seconds > lastSecond || nanoseconds < 0 || nanoseconds >= 1e9) {
		err = fmt.Errorf("%d s and %d ns are no timestamp", seconds, nanoseconds)
	}
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(seconds, nanoseconds).UTC(), nil
}

// Duration returns the duration that the body of a google.protobuf.Duration has; was is as in Time.
func Duration(body []byte, was time.Duration) (time.Duration, error) {
	seconds, nanoseconds, err := parts(body, int64(was/time.Second), int64(was%time.Second))
	const most = math.MaxInt64 / int64(time.Second)
	v := seconds*1e9 + nanoseconds
	if err == nil && (seconds > most || seconds < -most || nanoseconds <= -1e9 || nanoseconds >= 1e9 || nanoseconds > 0 != (v > seconds*1e9) && nanoseconds != 0) {
		err = fmt.Errorf("%d s and %d ns do not fit a time.Duration", seconds, nanoseconds)
	}
	return time.Duration(v), err
}

// parts returns the two fields that both messages have, or what they were before.
func parts(body []byte, wasSeconds, wasNanoseconds int64) (seconds, nanoseconds int64, err error) {
	seconds, nanoseconds = wasSeconds, wasNanoseconds
	for len(body) > 0 {
		number, wire, rest, err := next(body)
		if err != nil {
			return 0, 0, err
		}
		if number > 2 || wire != protowire.VarintType {
			if body, err = skip(number, wire, rest); err != nil {
				return 0, 0, err
			}
			continue
		}
		v, n := protowire.ConsumeVarint(rest)
		if n < 0 {
			return 0, 0, protowire.ParseError(n)
		}
		if body = rest[n:]; number == 1 {
			seconds = int64(v)
		} else {
			nanoseconds = int64(v)
		}
	}
	return seconds, nanoseconds, nil
}

// next reads the tag at the beginning of body, and returns what is behind it.
func next(body []byte) (protowire.Number, protowire.Type, []byte, error) {
	number, wire, n := protowire.ConsumeTag(body)
	if n < 0 {
		return 0, 0, nil, protowire.ParseError(n)
	}
	return number, wire, body[n:], nil
}

// skip returns what is behind the value of a field that is not known.
func skip(number protowire.Number, wire protowire.Type, body []byte) ([]byte, error) {
	n := protowire.ConsumeFieldValue(number, wire, body)
	if n < 0 {
		return nil, protowire.ParseError(n)
	}
	return body[n:], nil
}
