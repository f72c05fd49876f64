package http

import (
	"encoding/hex"
	"errors"
	"io"
	nethttp "net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/internal/httpbody"
	"github.com/weftrpc/weft/door/internal/httpfield"
)

// body reads the body of the request, decompressed. It may be used until release is called.
func (in *inbound) body() ([]byte, error) {
	if !in.hasBody() {
		return nil, nil
	}
	var packed compress.Compressor
	if name := in.r.Header.Get("Content-Encoding"); name != "" && !strings.EqualFold(name, "identity") {
		if packed = in.x.d.compressor(name); packed == nil {
			in.w.Header().Set("Accept-Encoding", httpfield.Names(in.x.d.cfg.Compressors))
			return nil, refusal(weft.Unimplemented, weft.ReasonNoCodec, "there is no Content-Encoding %q; there are %s", httpfield.Clip(name), httpfield.Names(in.x.d.cfg.Compressors))
		}
	}
	limit := in.x.Limits().MaxMessage
	control := nethttp.NewResponseController(in.w)
	if at, ok := in.call.Context().Deadline(); ok && time.Until(at) < in.x.d.cfg.BodyTimeout {
		_ = control.SetReadDeadline(at)
	}
	from := io.Reader(in.r.Body)
	if in.end != nil {
		from = &in.held
	}
	body, err := httpbody.Read(from, in.r.ContentLength, limit)
	switch {
	case err == httpbody.ErrTooLarge:
		return nil, tooLarge(limit)
	case err != nil:
		if full, ok := errors.AsType[*weft.Error](err); ok {
			return nil, full
		}
		if timeout, ok := errors.AsType[interface {
			error
			Timeout() bool
		}](err); ok && timeout.Timeout() {
			return nil, refusal(weft.DeadlineExceeded, "", "the body of the request did not come in time")
		}
		return nil, refusal(weft.InvalidArgument, weft.ReasonDecode, "the body of the request cannot be read: %v", err)
	}
	in.came = body
	in.read.Add(int64(len(body.B)))
	// From now on net/http reads to notice that the client has gone.
	_ = control.SetReadDeadline(time.Time{})
	if packed == nil {
		return body.B, nil
	}
	plain, err := in.call.Restoring(packed).Decompress(nil, body.B, limit)
	full, _ := errors.AsType[*weft.Error](err)
	switch {
	case full != nil: // there is no room
		return nil, full
	case errors.Is(err, compress.ErrTooLarge):
		return nil, tooLarge(limit)
	case err != nil:
		return nil, refusal(weft.InvalidArgument, weft.ReasonDecompress, "the body cannot be decompressed with %s: %v", packed.Name(), err)
	}
	return plain, nil
}

// release gives the memory of the body back.
func (in *inbound) release() {
	if in.came != nil {
		in.came.Release()
		in.came = nil
		in.held.Release()
	}
}

func tooLarge(limit int) *weft.Error {
	return refusal(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the request has more than %d bytes, which Limits.MaxMessage of the server allows", limit)
}

// compressor is that of a name in Content-Encoding or Accept-Encoding.
func (d *door) compressor(name string) compress.Compressor {
	for _, c := range d.cfg.Compressors {
		if strings.EqualFold(c.Name(), strings.TrimSpace(name)) {
			return c
		}
	}
	return nil
}

// compress compresses a body if the client can undo it and it is large enough, and says so in
// the header.
func (in *inbound) compress(body []byte) []byte {
	if len(body) < in.x.Limits().CompressAbove {
		return body
	}
	for _, c := range in.x.d.cfg.Compressors {
		if !httpfield.Accepts(in.r.Header.Values("Accept-Encoding"), func(name string) bool { return name == c.Name() }) {
			continue
		}
		packed, err := c.Compress(nil, body)
		if err != nil || len(packed) >= len(body) {
			return body
		}
		in.w.Header().Set("Content-Encoding", c.Name())
		return packed
	}
	return body
}

// maxParams is how many parameters of a query are read.
const maxParams = 256

// parseQuery reads a query.
func parseQuery(raw string) (url.Values, error) {
	if strings.Count(raw, "&") >= maxParams {
		return nil, errors.New("it has more than 256 parameters")
	}
	return url.ParseQuery(raw)
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }
