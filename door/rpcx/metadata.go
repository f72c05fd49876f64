package rpcx

import (
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/rpcx/internal/frame"
)

// maxPairs is how many pairs the metadata of a call may have.
const maxPairs = 64

// keyWire is a key of the first request of a weft client.
const keyWire = ownPrefix + "wire"

// fillMetadata takes over the metadata of a request.
func (s *serverConn) fillMetadata(meta []byte, head *weft.Head) *weft.Error {
	if len(meta) == 0 {
		return nil
	}
	if len(meta) > s.limits.MaxMetadata {
		return refusal(weft.ResourceExhausted, weft.ReasonMetadataTooLarge, "the metadata has %d bytes, Limits.MaxMetadata of the server allows %d", len(meta), s.limits.MaxMetadata)
	}
	pairs := append(s.pairs[:0], authorization, "")
	auth := false
	for n := 1; len(meta) > 0; n++ {
		key, value, rest, err := frame.Pair(meta)
		if err != nil {
			return refusal(weft.InvalidArgument, weft.ReasonProtocol, "%v", err)
		}
		if meta = rest; n > maxPairs {
			return refusal(weft.ResourceExhausted, weft.ReasonMetadataTooLarge, "the metadata has more than %d pairs", maxPairs)
		}
		switch string(key) {
		case keyAuth:
			pairs[1], auth = string(value), true
		case keyTimeout:
			ms, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil {
				continue // rpcx has none then
			}
			if ms <= 0 {
				return refusal(weft.DeadlineExceeded, "", "the time of the call had passed before it came")
			}
			head.Timeout = longest
			if ms < int64(longest/time.Millisecond) {
				head.Timeout = time.Duration(ms) * time.Millisecond
			}
		case keyError, keyServer, keyAlias:
		default:
			if strings.HasPrefix(string(key), ownPrefix) {
				s.fillOwn(string(key), string(value), head)
				continue
			}
			pairs = append(pairs, string(key), string(value))
		}
	}
	s.pairs = pairs[:0]
	if !auth {
		pairs = pairs[2:]
	}
	if len(pairs) > 0 {
		if head.Metadata = (weft.Metadata{}).With(pairs...); head.Metadata.Len() != len(pairs)/2 {
			return refusal(weft.InvalidArgument, weft.ReasonProtocol, "the metadata has a key that is empty or longer than 255 bytes, or too many pairs")
		}
	}
	clear(s.pairs[:cap(s.pairs)])
	return nil
}

// fillOwn takes over what a client of weft says of a call beside its metadata.
func (s *serverConn) fillOwn(key, value string, head *weft.Head) {
	s.weft.Store(true)
	switch key {
	case keyAttempt:
		if n, err := strconv.ParseUint(value, 10, 31); err == nil {
			head.Attempt = int(n)
		}
	case keyPriority:
		// An unknown priority is that of most calls.
		_ = head.Priority.UnmarshalText([]byte(value))
	}
}

// appendMetadata appends metadata to a request, or to a reply.
func appendMetadata(b []byte, m weft.Metadata, reply bool) []byte {
	for key, value := range m.All() {
		switch {
		case key == keyError && reply:
			continue
		case key == authorization && !reply:
			key = keyAuth
		}
		b = frame.AppendPair(b, key, value)
	}
	return b
}

// parseCredential splits a credential as weft.Metadata has it.
func parseCredential(text string) weft.Credential {
	scheme, token, ok := strings.Cut(text, " ")
	if !ok {
		return weft.Credential{Token: text}
	}
	return weft.Credential{Scheme: scheme, Token: token}
}
