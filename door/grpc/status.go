package grpc

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/fields"
)

const (
	// typeURL is before the name of a message in google.protobuf.Any.
	typeURL = "type.googleapis.com/"
	// errorInfo carries Error.Reason, for the domain below where the reason is of weft or of a handler.
	errorInfo = "google.rpc.ErrorInfo"
	domain    = "weft"
)

// detailsOf is the google.rpc.Status of an error, "" for one without a reason and details.
func detailsOf(e *weft.Error) string {
	if e.Reason == "" && len(e.Details) == 0 {
		return ""
	}
	var b []byte
	b = protowire.AppendTag(b, 1, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(e.Code))
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	b = protowire.AppendString(b, e.Message)
	if e.Reason != "" {
		var info []byte
		info = protowire.AppendTag(info, 1, protowire.BytesType)
		info = protowire.AppendString(info, e.Reason)
		info = protowire.AppendTag(info, 2, protowire.BytesType)
		info = protowire.AppendString(info, domain)
		b = appendAny(b, weft.Detail{Type: errorInfo, Value: info})
	}
	for _, d := range e.Details {
		b = appendAny(b, d)
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

// appendAny appends a detail of a google.rpc.Status.
func appendAny(b []byte, d weft.Detail) []byte {
	var v []byte
	v = protowire.AppendTag(v, 1, protowire.BytesType)
	v = protowire.AppendString(v, typeURL+d.Type)
	v = protowire.AppendTag(v, 2, protowire.BytesType)
	v = protowire.AppendBytes(v, d.Value)
	b = protowire.AppendTag(b, 3, protowire.BytesType)
	return protowire.AppendBytes(b, v)
}

// maxDetails is how many details of an error are kept, as on weft's own wire.
const maxDetails = 16

// addDetails reads a grpc-status-details-bin into an error.
func addDetails(e *weft.Error, text string) {
	b, err := decodeBinary(text)
	if err != nil {
		return
	}
	fields.Each(b, func(n protowire.Number, v []byte) {
		switch n {
		case 2:
			e.Message = string(v) // without the limits of a header
		case 3:
			if len(e.Details) < maxDetails {
				addDetail(e, v)
			}
		}
	})
}

// addDetail reads a google.protobuf.Any.
func addDetail(e *weft.Error, b []byte) {
	var d weft.Detail
	fields.Each(b, func(n protowire.Number, v []byte) {
		switch n {
		case 1:
			d.Type = string(v[strings.LastIndexByte(string(v), '/')+1:])
		case 2:
			d.Value = append([]byte{}, v...)
		}
	})
	addKnownDetail(e, d)
}

// addKnownDetail adds a detail; a google.rpc.ErrorInfo gives the error its reason.
func addKnownDetail(e *weft.Error, d weft.Detail) {
	if d.Type == errorInfo {
		var reason, where string
		fields.Each(d.Value, func(n protowire.Number, v []byte) {
			switch n {
			case 1:
				reason = string(v)
			case 2:
				where = string(v)
			}
		})
		if e.Reason == "" {
			e.Reason = reason
		}
		if where == domain {
			return
		}
	}
	e.Details = append(e.Details, d)
}

// pushback is the value of grpc-retry-pushback-ms of an error that says when to try again.
func pushback(e *weft.Error) (string, bool) {
	if len(e.Details) == 0 {
		return "", false
	}
	d, ok := e.RetryAfter()
	if !ok {
		return "", false
	}
	return strconv.FormatInt(max(d.Milliseconds(), -1), 10), true
}

// addPushback reads a grpc-retry-pushback-ms.
func addPushback(e *weft.Error, text string) *weft.Error {
	if _, ok := e.RetryAfter(); ok {
		return e
	}
	ms, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		ms = -1 // as the specification has it
	}
	return e.WithRetryAfter(time.Duration(ms) * time.Millisecond)
}
