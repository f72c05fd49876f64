package admin

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
)

// TapRequest is the request of weft.Admin.Tap. A call is shown if it fits all that is set.
type TapRequest struct {
	Methods   []string `json:"methods,omitempty" weft:"1" doc:"methods, or services and .*; empty: all but those of weft.Admin"`
	Codes     []string `json:"codes,omitempty" weft:"2" doc:"codes with which calls ended, such as OK or Unavailable; empty: all"`
	Failed    bool     `json:"failed,omitempty" weft:"3" doc:"only calls that failed"`
	Slower    float64  `json:"slower_seconds,omitempty" weft:"4" doc:"only calls that took at least this long"`
	Peer      string   `json:"peer,omitempty" weft:"5" doc:"part of the address or the name of a peer"`
	OneIn     int      `json:"one_in,omitempty" weft:"6" doc:"of so many calls that fit, one is shown; 0: each"`
	PerSecond int      `json:"per_second,omitempty" weft:"7" doc:"at most so many are shown in a second; 0: 1000; the others are counted as dropped"`
	Bodies    bool     `json:"bodies,omitempty" weft:"8" doc:"show requests and replies, where Config.Bodies of the server permits it"`
	Count     int      `json:"count,omitempty" weft:"9" doc:"end after so many; 0: go on"`
	MaxBody   int      `json:"max_body,omitempty" weft:"10" doc:"how many bytes of a request or reply are shown, at most 65536; 0: 4096"`
	Metadata  []string `json:"metadata,omitempty" weft:"11" doc:"keys of the requests' metadata to show, where Config.Bodies of the server permits it"`
}

// TappedCall is a call that a server has answered. The first message of weft.Admin.Tap has no
// method: the calls that are answered after it are shown. Client.Tap reads it for its caller.
type TappedCall struct {
	At           time.Time `json:"at" weft:"1" doc:"when the request was read"`
	Method       string    `json:"method" weft:"2"`
	Peer         string    `json:"peer" weft:"3" doc:"the address of the caller"`
	Name         string    `json:"name,omitempty" weft:"4" doc:"what the client calls itself"`
	Principal    string    `json:"principal,omitempty" weft:"5"`
	Wire         string    `json:"wire" weft:"6"`
	Codec        string    `json:"codec" weft:"7"`
	Code         string    `json:"code" weft:"8" doc:"OK, or why the call failed"`
	Reason       string    `json:"reason,omitempty" weft:"9" doc:"of the error"`
	Error        string    `json:"error,omitempty" weft:"10" doc:"its message, at most 256 bytes"`
	Duration     float64   `json:"duration_seconds" weft:"11"`
	RequestBytes int       `json:"request_bytes" weft:"12" doc:"of the messages that came, as they were on the wire"`
	ReplyBytes   int       `json:"reply_bytes" weft:"13" doc:"of the messages that were sent, as they were on the wire; 0 after an error"`
	Stream       *Messages `json:"stream,omitempty" weft:"14" doc:"of a stream, how many messages it had; missing: the call is unary"`
	Attempt      int       `json:"attempt,omitempty" weft:"15" doc:"how many times the caller has tried it before"`
	Left         *float64  `json:"left_seconds,omitempty" weft:"16" doc:"until its deadline when it was answered; missing: it has none"`
	Content      *Content  `json:"content,omitempty" weft:"17" doc:"the messages and the metadata, if the request of the tap asks for them"`
	TraceID      string    `json:"trace_id,omitempty" weft:"20" doc:"of the trace that the call belongs to, from the metadata traceparent"`
	Dropped      uint64    `json:"dropped,omitempty" weft:"19" doc:"calls before this one that fitted and were not shown, since the tap was not read in time or PerSecond was reached"`
	Oneway       bool      `json:"oneway,omitempty" weft:"18" doc:"the caller waits for no reply"`
}

// Content is what a call carried.
type Content struct {
	Request  string `json:"request,omitempty" weft:"1" doc:"as JSON, masked and cut"`
	Reply    string `json:"reply,omitempty" weft:"2" doc:"the same of the reply"`
	Metadata []Pair `json:"metadata,omitempty" weft:"3" doc:"of the request, the keys that were asked for; values with names of secrets are masked"`
}

// Pair is a key of metadata with a value.
type Pair struct {
	Key   string `json:"key" weft:"1"`
	Value string `json:"value" weft:"2"`
}

// Messages are how many messages a stream had.
type Messages struct {
	Received int64 `json:"received" weft:"1" doc:"by the server"`
	Sent     int64 `json:"sent" weft:"2" doc:"by the server"`
}

// The bounds of a tap.
const (
	tapQueue  = 256     // calls that wait to be sent
	mostError = 256     // bytes of the message of an error
	mostBody  = 4 << 10 // bytes of a request or reply, if the tap does not say
	bodyLimit = 64 << 10
	mostTaps  = 1000 // calls in a second
	mostNames = 64   // methods and codes to filter by
)

// tap is a tap that is open.
type tap struct {
	s     *service
	req   *TapRequest
	codes []weft.Code
	queue chan *TappedCall

	dropped atomic.Uint64
	second  atomic.Int64 // the second that taken counts
	taken   atomic.Int64
}

// tap answers Tap.
func (s *service) tap(ctx context.Context, req *TapRequest, out *weft.Sender[TappedCall]) error {
	if (req.Bodies || len(req.Metadata) > 0) && !s.cfg.Bodies {
		return weft.Errorf(weft.PermissionDenied, "this server does not show requests and replies: Config.Bodies of package admin is not set")
	}
	if n := max(len(req.Methods), len(req.Codes), len(req.Metadata)); n > mostNames {
		return weft.Errorf(weft.InvalidArgument, "the tap names %d methods, codes or keys, want at most %d", n, mostNames)
	}
	if req.MaxBody < 0 || req.MaxBody > bodyLimit {
		return weft.Errorf(weft.InvalidArgument, "the tap asks for %d bytes of a body, want 0 to %d", req.MaxBody, bodyLimit)
	}
	t := &tap{s: s, req: req, queue: make(chan *TappedCall, tapQueue)}
	for _, name := range req.Codes {
		code, err := codeNamed(name)
		if err != nil {
			return err
		}
		t.codes = append(t.codes, code)
	}
	if err := s.beginStream(); err != nil {
		return err
	}
	defer s.streams.Add(-1)
	stop := s.srv.Tap(t.see)
	defer stop()
	if err := out.Send(&TappedCall{At: time.Now()}); err != nil {
		return err
	}
	for sent := 0; req.Count <= 0 || sent < req.Count; sent++ {
		select {
		case call := <-t.queue:
			if err := out.Send(call); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-s.srv.Draining(): // which waits for this stream
			return nil
		}
	}
	return nil
}

// codeNamed is the code that has a name.
func codeNamed(name string) (weft.Code, error) {
	for code := range weft.Code(weft.Unauthenticated + 1) {
		if strings.EqualFold(strings.ReplaceAll(name, "_", ""), code.String()) {
			return code, nil
		}
	}
	return 0, weft.Errorf(weft.InvalidArgument, "there is no code %q; codes are OK, Canceled, Unavailable and so on", name)
}

// see takes a call that was answered, if it fits. It is called on the goroutine of that call.
func (t *tap) see(c *weft.TappedCall) {
	code := weft.Code(0)
	if c.Err != nil {
		code = weft.CodeOf(c.Err)
	}
	r := t.req
	switch {
	case !t.method(c.Info.Method), r.Failed && code == 0, c.Duration.Seconds() < r.Slower,
		len(t.codes) > 0 && !slices.Contains(t.codes, code), !fromPeer(c.Info.Peer, r.Peer):
		return
	case r.OneIn > 1 && rand.IntN(r.OneIn) > 0:
		return
	case len(t.queue) == cap(t.queue) || !t.room():
		t.dropped.Add(1)
		return
	}
	call := t.s.tapped(c, code, r)
	call.Dropped = t.dropped.Swap(0)
	select {
	case t.queue <- call:
	default:
		t.dropped.Add(call.Dropped + 1)
	}
}

// method tells whether calls of a method are shown.
func (t *tap) method(name string) bool {
	if len(t.req.Methods) == 0 {
		return !strings.HasPrefix(name, Service+".")
	}
	return slices.ContainsFunc(t.req.Methods, func(pattern string) bool { return matches(pattern, name) })
}

// fromPeer tells whether a call is from a peer with a part of an address or name.
func fromPeer(p *weft.Peer, part string) bool {
	return part == "" || strings.Contains(p.Addr().String(), part) || strings.Contains(p.Name(), part)
}

// room tells whether one more call is shown in this second.
func (t *tap) room() bool {
	most := int64(mostTaps)
	if t.req.PerSecond > 0 {
		most = min(most, int64(t.req.PerSecond))
	}
	now := time.Now().Unix()
	if was := t.second.Load(); was != now && t.second.CompareAndSwap(was, now) {
		t.taken.Store(0)
	}
	return t.taken.Add(1) <= most
}

// tapped describes a call.
func (s *service) tapped(c *weft.TappedCall, code weft.Code, req *TapRequest) *TappedCall {
	p := c.Info.Peer
	out := &TappedCall{
		At: c.Began, Method: c.Info.Method, Peer: p.Addr().String(), Name: p.Name(), Principal: s.principal(weft.PrincipalFrom(c.Context)),
		Wire: p.Wire(), Codec: c.Info.Codec, Code: code.String(), Duration: c.Duration.Seconds(), RequestBytes: c.RequestSize, ReplyBytes: c.ReplySize, Oneway: c.Info.Oneway,
		Attempt: weft.AttemptFrom(c.Context), TraceID: traceID(weft.MetadataFrom(c.Context).Get("traceparent")),
	}
	if c.Info.Stream {
		out.Stream = &Messages{c.Received, c.Sent}
	}
	if at, ok := c.Context.Deadline(); ok {
		left := time.Until(at).Seconds()
		out.Left = &left
	}
	if e, ok := errors.AsType[*weft.Error](c.Err); ok {
		out.Reason, out.Error = e.Reason, clip(e.Message, mostError)
	} else if c.Err != nil {
		out.Error = clip(c.Err.Error(), mostError)
	}
	if req.Bodies || len(req.Metadata) > 0 {
		out.Content = &Content{Metadata: pairs(weft.MetadataFrom(c.Context), req.Metadata)}
	}
	if req.Bodies {
		most := cmp.Or(req.MaxBody, mostBody)
		out.Content.Request, out.Content.Reply = s.body(c.Info.Method, c.Request, most), s.body(c.Info.Method, c.Reply, most)
	}
	return out
}

// pairs are what a request has of some keys, without secrets.
func pairs(m weft.Metadata, keys []string) (all []Pair) {
	for _, key := range keys {
		for _, value := range m.Values(key) {
			if Sensitive(key) {
				value = mask
			}
			all = append(all, Pair{key, clip(value, mostError)})
		}
	}
	return all
}

// traceID is the ID in a traceparent of W3C; "" when it is none.
func traceID(parent string) string {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || strings.Trim(parts[1], "0123456789abcdef") != "" {
		return ""
	}
	return parts[1]
}

// clip shortens a text to n bytes of valid UTF-8.
func clip(text string, n int) string {
	if len(text) > n {
		text = text[:n] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
