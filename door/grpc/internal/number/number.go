// Package number is how the header fields of gRPC write numbers and timeouts.
package number

import (
	"math"
	"strconv"
	"time"
)

// Decimal reads a number of digits alone.
func Decimal(v []byte) (n uint64, ok bool) {
	if len(v) == 0 || len(v) > 18 {
		return 0, false
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	return n, true
}

// Timeout reads the value of grpc-timeout.
func Timeout(v []byte) (time.Duration, bool) {
	if len(v) < 2 || len(v) > 9 {
		return 0, false
	}
	n, ok := Decimal(v[:len(v)-1])
	if !ok {
		return 0, false
	}
	var unit time.Duration
	switch v[len(v)-1] {
	case 'n':
		unit = time.Nanosecond
	case 'u':
		unit = time.Microsecond
	case 'm':
		unit = time.Millisecond
	case 'S':
		unit = time.Second
	case 'M':
		unit = time.Minute
	case 'H':
		unit = time.Hour
	default:
		return 0, false
	}
	if n > uint64(math.MaxInt64)/uint64(unit) {
		return math.MaxInt64, true
	}
	return time.Duration(n) * unit, true
}

// AppendTimeout appends a value of grpc-timeout, which has at most eight digits. It is
// rounded up, so that a server does not end a call before its client.
func AppendTimeout(b []byte, d time.Duration) []byte {
	const most = 99999999
	d = max(d, 1)
	for _, u := range []struct {
		unit   time.Duration
		letter byte
	}{{time.Nanosecond, 'n'}, {time.Microsecond, 'u'}, {time.Millisecond, 'm'}, {time.Second, 'S'}, {time.Minute, 'M'}} {
		if n := (d-1)/u.unit + 1; n <= most {
			return append(strconv.AppendUint(b, uint64(n), 10), u.letter)
		}
	}
	return append(strconv.AppendUint(b, uint64(min((d-1)/time.Hour+1, most)), 10), 'H')
}
