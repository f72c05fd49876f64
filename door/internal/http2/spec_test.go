package http2

import (
	"encoding/binary"
	"strings"
	"testing"
)

// verdict is what a case of TestSpec ends with.
type verdict struct {
	codes  []ErrCode // of which one ends the stream or the connection; nil: neither ends
	stream uint32    // that is reset, or answered; 0: the connection ends, or answers a PING
	frames []byte    // types that must come before that; nil: any
}

func connectionEnds(codes ...ErrCode) verdict { return verdict{codes: codes} }

func streamEnds(id uint32, codes ...ErrCode) verdict { return verdict{codes: codes, stream: id} }

// answers is the verdict that the stream is answered, and the connection goes on.
func answers(id uint32) verdict { return verdict{stream: id} }

// goesOn is the verdict that the connection goes on.
func goesOn() verdict { return verdict{} }

// The fields of a request, as indexes into the static table.
const (
	methodPost = 0x83
	pathRoot   = 0x84
	schemeHTTP = 0x86
)

// request is the smallest block of one.
func request(more ...byte) []byte { return append([]byte{methodPost, pathRoot, schemeHTTP}, more...) }

// text is a field as a literal that enters no table.
func text(name, value string) []byte {
	b := append([]byte{0, byte(len(name))}, name...)
	return append(append(b, byte(len(value))), value...)
}

// head adds HEADERS that are a whole block.
func (r *raw) head(id uint32, end bool, block ...byte) *raw {
	flags := byte(flagEndHeaders)
	if end {
		flags |= flagEndStream
	}
	return r.add(typeHeaders, flags, id, block...)
}

func (r *raw) window(id, n uint32) *raw {
	r.buf = appendWindow(r.buf, id, n)
	return r
}

func (r *raw) setting(id uint16, v uint32) *raw {
	return r.add(typeSettings, 0, 0, appendSetting(nil, id, v)...)
}

// specCase is a case of a section of RFC 9113, or of RFC 7541 ("hpack").
type specCase struct {
	name string
	add  func(*raw)
	want verdict
}

// specCases are those that h2spec tries a server with.
func specCases() []specCase {
	const max = maxWin
	ping := make([]byte, 8)
	priority := []byte{0, 0, 0, 0, 255}
	ended := func(r *raw) *raw { return r.head(1, true, request()...).send().read(1) } // stream 1 has ended
	open := func(r *raw) *raw { return r.head(1, false, request()...) }                // is open
	half := func(r *raw) *raw { return r.get(1, "/hold", true) }                       // half-closed: the client has said all
	reset := func(r *raw) *raw { return open(r).add(typeReset, 0, 1, 0, 0, 0, 8) }     // was reset by the client
	return []specCase{
		{"3.4 the preface", func(r *raw) { r.head(1, true, request()...) }, answers(1)},
		{"4.1 a frame of an unknown type", func(r *raw) { r.add(0x16, 0, 0, ping...) }, goesOn()},
		{"4.1 undefined flags", func(r *raw) { r.add(typePing, 0x16, 0, ping...) }, goesOn()},
		{"4.1 the reserved bit", func(r *raw) { r.add(typePing, 0, 1<<31, ping...) }, goesOn()},
		{"4.2 DATA of 2^14 bytes", func(r *raw) { open(r).add(typeData, flagEndStream, 1, make([]byte, maxFrame)...) }, answers(1)},
		{"4.2 larger DATA", func(r *raw) { open(r).add(typeData, 0, 1, make([]byte, maxFrame+1)...) }, connectionEnds(FrameSizeError)},
		{"4.2 larger HEADERS", func(r *raw) { r.head(1, true, make([]byte, maxFrame+1)...) }, connectionEnds(FrameSizeError)},
		{"4.3 an invalid header block", func(r *raw) { r.head(1, true, 0x40) }, connectionEnds(CompressionError)},
		{"4.3 PRIORITY within a block", func(r *raw) { r.add(typeHeaders, 0, 1, request()...).add(typePriority, 0, 1, priority...) }, connectionEnds(ProtocolError)},
		{"4.3 another stream within a block", func(r *raw) { r.add(typeHeaders, 0, 1, request()...).head(3, true, request()...) }, connectionEnds(ProtocolError)},

		{"5.1 idle: DATA", func(r *raw) { r.add(typeData, flagEndStream, 1, 'x') }, connectionEnds(ProtocolError)},
		{"5.1 idle: RST_STREAM", func(r *raw) { r.add(typeReset, 0, 1, 0, 0, 0, 8) }, connectionEnds(ProtocolError)},
		{"5.1 idle: WINDOW_UPDATE", func(r *raw) { r.window(1, 100) }, connectionEnds(ProtocolError)},
		{"5.1 idle: CONTINUATION", func(r *raw) { r.add(typeContinuation, flagEndHeaders, 1, request()...) }, connectionEnds(ProtocolError)},
		{"5.1 idle: PRIORITY", func(r *raw) { r.add(typePriority, 0, 1, priority...).head(1, true, request()...) }, answers(1)},
		{"5.1 half-closed: DATA", func(r *raw) { half(r).add(typeData, flagEndStream, 1, 'x') }, streamEnds(1, StreamClosed)},
		{"5.1 half-closed: HEADERS", func(r *raw) { half(r).head(1, true, request()...) }, connectionEnds(StreamClosed)},
		{"5.1 half-closed: CONTINUATION", func(r *raw) { half(r).add(typeContinuation, flagEndHeaders, 1, request()...) }, connectionEnds(ProtocolError)},
		{"5.1 half-closed: WINDOW_UPDATE", func(r *raw) { half(r).window(1, 1).head(3, true, request()...) }, answers(3)},
		{"5.1 half-closed: PRIORITY", func(r *raw) { half(r).add(typePriority, 0, 1, priority...).head(3, true, request()...) }, answers(3)},
		{"5.1 half-closed: RST_STREAM", func(r *raw) { half(r).add(typeReset, 0, 1, 0, 0, 0, 8).head(3, true, request()...) }, answers(3)},
		{"5.1 closed by RST_STREAM: DATA", func(r *raw) { reset(r).add(typeData, flagEndStream, 1, 'x') }, streamEnds(1, StreamClosed)},
		{"5.1 closed by RST_STREAM: HEADERS", func(r *raw) { reset(r).head(1, true, request()...) }, connectionEnds(StreamClosed)},
		{"5.1 closed by RST_STREAM: CONTINUATION", func(r *raw) { reset(r).add(typeContinuation, flagEndHeaders, 1, request()...) }, connectionEnds(ProtocolError)},
		{"5.1 closed: DATA", func(r *raw) { ended(r).add(typeData, flagEndStream, 1, 'x') }, streamEnds(1, StreamClosed)},
		{"5.1 closed: HEADERS", func(r *raw) { ended(r).head(1, true, request()...) }, connectionEnds(StreamClosed)},
		{"5.1 closed: CONTINUATION", func(r *raw) { ended(r).add(typeContinuation, flagEndHeaders, 1, request()...) }, connectionEnds(ProtocolError)},
		{"5.1 closed: PRIORITY", func(r *raw) { ended(r).add(typePriority, 0, 1, priority...) }, goesOn()},
		{"5.1 closed: WINDOW_UPDATE", func(r *raw) { ended(r).window(1, 1) }, goesOn()},
		{"5.1.1 an even number", func(r *raw) { r.head(2, true, request()...) }, connectionEnds(ProtocolError)},
		{"5.1.1 a smaller number", func(r *raw) { r.head(5, true, request()...).head(3, true, request()...) }, connectionEnds(ProtocolError)},
		{"5.1.2 too many streams", func(r *raw) {
			for id := uint32(1); id <= 201; id += 2 {
				r.head(id, false, request()...)
			}
		}, streamEnds(201, RefusedStream)},
		{"5.3.1 HEADERS that depend on themselves", func(r *raw) {
			r.add(typeHeaders, flagEndHeaders|flagEndStream|flagPriority, 1, append([]byte{0, 0, 0, 1, 255}, request()...)...)
		}, connectionEnds(ProtocolError)},
		{"5.3.1 PRIORITY of an open stream that depends on itself", func(r *raw) { open(r).add(typePriority, 0, 1, 0, 0, 0, 1, 255) }, streamEnds(1, ProtocolError)},
		{"5.3.1 PRIORITY of an idle stream that depends on itself", func(r *raw) { r.add(typePriority, 0, 1, 0, 0, 0, 1, 255) }, connectionEnds(ProtocolError)},
		{"5.4.1 GOAWAY before the end", func(r *raw) { r.add(typePing, 0, 3, ping...) }, verdict{codes: []ErrCode{ProtocolError}, frames: []byte{typeGoAway}}},
		{"5.5 an unknown frame within a block", func(r *raw) { r.add(typeHeaders, 0, 1, request()...).add(0x16, 0, 0) }, connectionEnds(ProtocolError)},

		{"6.1 DATA of stream 0", func(r *raw) { r.add(typeData, 0, 0, 'x') }, connectionEnds(ProtocolError)},
		{"6.1 DATA with too much padding", func(r *raw) { open(r).add(typeData, flagEndStream|flagPadded, 1, 6, 'x', 'x', 'x', 'x', 'x') }, connectionEnds(ProtocolError)},
		{"6.1 DATA with padding", func(r *raw) { open(r).add(typeData, flagEndStream|flagPadded, 1, 2, 'x', 0, 0) }, answers(1)},
		{"6.1 DATA of padding alone", func(r *raw) { open(r).add(typeData, flagEndStream|flagPadded, 1, 2, 0, 0) }, answers(1)},
		{"6.2 HEADERS of stream 0", func(r *raw) { r.head(0, true, request()...) }, connectionEnds(ProtocolError)},
		{"6.2 HEADERS with too much padding", func(r *raw) { r.add(typeHeaders, flagEndHeaders|flagPadded, 1, 9, methodPost) }, connectionEnds(ProtocolError)},
		{"6.2 HEADERS with padding", func(r *raw) {
			r.add(typeHeaders, flagEndHeaders|flagEndStream|flagPadded, 1, append(append([]byte{2}, request()...), 0, 0)...)
		}, answers(1)},
		{"6.2 HEADERS with a priority", func(r *raw) {
			r.add(typeHeaders, flagEndHeaders|flagEndStream|flagPriority, 1, append(priority[:5:5], request()...)...)
		}, answers(1)},
		{"6.2 HEADERS with half a priority", func(r *raw) { r.add(typeHeaders, flagEndHeaders|flagPriority, 1, 0, 0) }, connectionEnds(FrameSizeError)},
		{"6.3 PRIORITY of stream 0", func(r *raw) { r.add(typePriority, 0, 0, priority...) }, connectionEnds(ProtocolError)},
		{"6.3 PRIORITY of a wrong length", func(r *raw) { open(r).add(typePriority, 0, 1, 0, 0, 0, 0) }, streamEnds(1, FrameSizeError)},
		{"6.3 PRIORITY of a wrong length, idle", func(r *raw) { r.add(typePriority, 0, 1, 0, 0, 0, 0) }, connectionEnds(FrameSizeError)},
		{"6.4 RST_STREAM of stream 0", func(r *raw) { r.add(typeReset, 0, 0, 0, 0, 0, 8) }, connectionEnds(ProtocolError)},
		{"6.4 RST_STREAM of a wrong length", func(r *raw) { open(r).add(typeReset, 0, 1, 0, 0, 0) }, connectionEnds(FrameSizeError)},
		{"6.5 ACK with a payload", func(r *raw) { r.add(typeSettings, flagAck, 0, 0, 1, 0, 0, 0, 0) }, connectionEnds(FrameSizeError)},
		{"6.5 SETTINGS of a stream", func(r *raw) { r.add(typeSettings, 0, 1, 0, 3, 0, 0, 0, 100) }, connectionEnds(ProtocolError)},
		{"6.5 SETTINGS of a wrong length", func(r *raw) { r.add(typeSettings, 0, 0, 0, 3, 0) }, connectionEnds(FrameSizeError)},
		{"6.5.2 ENABLE_PUSH of 2", func(r *raw) { r.setting(settingPush, 2) }, connectionEnds(ProtocolError)},
		{"6.5.2 INITIAL_WINDOW_SIZE above 2^31-1", func(r *raw) { r.setting(settingWindow, 1<<31) }, connectionEnds(FlowControlError)},
		{"6.5.2 MAX_FRAME_SIZE below 2^14", func(r *raw) { r.setting(settingMaxFrame, maxFrame-1) }, connectionEnds(ProtocolError)},
		{"6.5.2 MAX_FRAME_SIZE above 2^24-1", func(r *raw) { r.setting(settingMaxFrame, 1<<24) }, connectionEnds(ProtocolError)},
		{"6.5.2 an unknown setting", func(r *raw) { r.setting(0xff, 1) }, goesOn()},
		{"6.5.3 SETTINGS are acknowledged", func(r *raw) { r.setting(settingMaxStreams, 100) }, verdict{frames: []byte{typeSettings}}},
		{"6.7 PING is answered", func(r *raw) { r.add(typePing, 0, 0, ping...) }, goesOn()},
		{"6.7 PING of a stream", func(r *raw) { r.add(typePing, 0, 1, ping...) }, connectionEnds(ProtocolError)},
		{"6.7 PING of a wrong length", func(r *raw) { r.add(typePing, 0, 0, ping[:6]...) }, connectionEnds(FrameSizeError)},
		{"6.8 GOAWAY of a stream", func(r *raw) { r.add(typeGoAway, 0, 1, ping...) }, connectionEnds(ProtocolError)},
		{"6.8 GOAWAY of a wrong length", func(r *raw) { r.add(typeGoAway, 0, 0, ping[:7]...) }, connectionEnds(FrameSizeError)},
		{"6.9 WINDOW_UPDATE of zero", func(r *raw) { r.window(0, 0) }, connectionEnds(ProtocolError)},
		{"6.9 WINDOW_UPDATE of zero on a stream", func(r *raw) { open(r).window(1, 0) }, streamEnds(1, ProtocolError)},
		{"6.9 WINDOW_UPDATE of a wrong length", func(r *raw) { r.add(typeWindow, 0, 0, 0, 0, 1) }, connectionEnds(FrameSizeError)},
		{"6.9.1 a window above 2^31-1", func(r *raw) { r.window(0, max).window(0, max) }, connectionEnds(FlowControlError)},
		{"6.9.1 a stream's window above 2^31-1", func(r *raw) { open(r).window(1, max).window(1, max) }, streamEnds(1, FlowControlError)},
		{"6.9.2 a window above 2^31-1 by SETTINGS", func(r *raw) { open(r).window(1, max-defaultWin).setting(settingWindow, defaultWin+1) }, connectionEnds(FlowControlError)},
		{"6.10 several CONTINUATIONs", func(r *raw) {
			r.add(typeHeaders, flagEndStream, 1, methodPost).add(typeContinuation, 0, 1, pathRoot).add(typeContinuation, flagEndHeaders, 1, schemeHTTP)
		}, answers(1)},
		{"6.10 CONTINUATION, then DATA", func(r *raw) {
			r.add(typeHeaders, 0, 1, methodPost).add(typeContinuation, 0, 1, pathRoot).add(typeData, flagEndStream, 1, 'x')
		}, connectionEnds(ProtocolError)},
		{"6.10 CONTINUATION of stream 0", func(r *raw) { r.add(typeHeaders, 0, 1, methodPost).add(typeContinuation, flagEndHeaders, 0, pathRoot) }, connectionEnds(ProtocolError)},
		{"6.10 CONTINUATION behind the end of a block", func(r *raw) { open(r).add(typeContinuation, flagEndHeaders, 1, pathRoot) }, connectionEnds(ProtocolError)},
		{"6.10 CONTINUATION behind DATA", func(r *raw) {
			open(r).add(typeData, 0, 1, 'x').add(typeContinuation, flagEndHeaders, 1, pathRoot)
		}, connectionEnds(ProtocolError)},
		{"7 GOAWAY with an unknown code", func(r *raw) { r.add(typeGoAway, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff) }, goesOn()},
		{"7 RST_STREAM with an unknown code", func(r *raw) { half(r).add(typeReset, 0, 1, 0, 0, 0, 0xff).head(3, true, request()...) }, answers(3)},

		{"8.1 a second HEADERS that does not end the stream", func(r *raw) { open(r).head(1, false, text("x", "y")...) }, streamEnds(1, ProtocolError)},
		{"8.1 trailers", func(r *raw) { open(r).add(typeData, 0, 1, 'x').head(1, true, text("x", "y")...) }, goesOn()},
		{"8.2 an upper-case name", func(r *raw) { r.head(1, true, request(text("X-Test", "ok")...)...) }, streamEnds(1, ProtocolError)},
		{"8.2 a space in a name", func(r *raw) { r.head(1, true, request(text("x test", "ok")...)...) }, streamEnds(1, ProtocolError)},
		{"8.2 a NUL in a value", func(r *raw) { r.head(1, true, request(text("x", "\x00")...)...) }, streamEnds(1, ProtocolError)},
		{"8.2.2 connection", func(r *raw) { r.head(1, true, request(text("connection", "keep-alive")...)...) }, streamEnds(1, ProtocolError)},
		{"8.2.2 transfer-encoding", func(r *raw) { r.head(1, true, request(text("transfer-encoding", "chunked")...)...) }, streamEnds(1, ProtocolError)},
		{"8.2.2 te of another value", func(r *raw) { r.head(1, true, request(text("te", "trailers, deflate")...)...) }, streamEnds(1, ProtocolError)},
		{"8.2.2 te: trailers", func(r *raw) { r.head(1, true, request(text("te", "trailers")...)...) }, answers(1)},
		{"8.3 an unknown pseudo-header", func(r *raw) { r.head(1, true, request(text(":test", "ok")...)...) }, streamEnds(1, ProtocolError)},
		{"8.3 :status", func(r *raw) { r.head(1, true, request(0x88)...) }, streamEnds(1, ProtocolError)},
		{"8.3 a pseudo-header among trailers", func(r *raw) { open(r).head(1, true, methodPost) }, streamEnds(1, ProtocolError)},
		{"8.3 a pseudo-header behind a field", func(r *raw) {
			r.head(1, true, append(append([]byte{methodPost, pathRoot}, text("x", "y")...), schemeHTTP)...)
		}, streamEnds(1, ProtocolError)},
		{"8.3.1 an empty :path", func(r *raw) { r.head(1, true, methodPost, schemeHTTP, 0x04, 0) }, streamEnds(1, ProtocolError)},
		{"8.3.1 no :method", func(r *raw) { r.head(1, true, pathRoot, schemeHTTP) }, streamEnds(1, ProtocolError)},
		{"8.3.1 no :scheme", func(r *raw) { r.head(1, true, methodPost, pathRoot) }, streamEnds(1, ProtocolError)},
		{"8.3.1 no :path", func(r *raw) { r.head(1, true, methodPost, schemeHTTP) }, streamEnds(1, ProtocolError)},
		{"8.3.1 two :method", func(r *raw) { r.head(1, true, request(methodPost)...) }, streamEnds(1, ProtocolError)},
		{"8.3.1 two :scheme", func(r *raw) { r.head(1, true, request(schemeHTTP)...) }, streamEnds(1, ProtocolError)},
		{"8.3.1 two :path", func(r *raw) { r.head(1, true, request(pathRoot)...) }, streamEnds(1, ProtocolError)},
		{"8.1.1 content-length and one DATA", func(r *raw) {
			r.head(1, false, request(text("content-length", "1")...)...).add(typeData, flagEndStream, 1, 'x', 'x')
		}, streamEnds(1, ProtocolError)},
		{"8.1.1 content-length and two DATA", func(r *raw) {
			r.head(1, false, request(text("content-length", "3")...)...).add(typeData, 0, 1, 'x').add(typeData, flagEndStream, 1, 'x')
		}, streamEnds(1, ProtocolError)},
		{"8.1.1 content-length and no DATA", func(r *raw) { r.head(1, true, request(text("content-length", "1")...)...) }, streamEnds(1, ProtocolError)},
		{"8.1.1 content-length that is kept", func(r *raw) {
			r.head(1, false, request(text("content-length", "2")...)...).add(typeData, 0, 1, 'x').add(typeData, flagEndStream, 1, 'x')
		}, answers(1)},
		{"8.4 PUSH_PROMISE", func(r *raw) { open(r).add(typePush, flagEndHeaders, 1, append([]byte{0, 0, 0, 2}, request()...)...) }, connectionEnds(ProtocolError)},

		{"hpack 2.3.3 an index beyond the tables", func(r *raw) { r.head(1, true, request(0xff, 0x7f)...) }, connectionEnds(CompressionError)},
		{"hpack 4.2 a size update behind fields", func(r *raw) { r.head(1, true, request(0x20)...) }, connectionEnds(CompressionError)},
		{"hpack 4.2 a size update before fields", func(r *raw) { r.head(1, true, append([]byte{0x20}, request()...)...) }, answers(1)},
		{"hpack 5.1 a number that is too long", func(r *raw) {
			r.head(1, true, append([]byte{0x7f}, strings.Repeat("\xff", 20)...)...)
		}, connectionEnds(CompressionError)},
		{"hpack 5.2 padding of more than 7 bits", func(r *raw) { r.head(1, true, request(0, 1, 'a', 0x82, 0xf8, 0xff)...) }, connectionEnds(CompressionError)},
		{"hpack 5.2 padding of zeros", func(r *raw) { r.head(1, true, request(0, 1, 'a', 0x81, 0xe0)...) }, connectionEnds(CompressionError)},
		{"hpack 5.2 the end-of-string symbol", func(r *raw) { r.head(1, true, request(0, 1, 'a', 0x84, 0xff, 0xff, 0xff, 0xff)...) }, connectionEnds(CompressionError)},
		{"hpack 6.1 index 0", func(r *raw) { r.head(1, true, request(0x80)...) }, connectionEnds(CompressionError)},
		{"hpack 6.2 a literal that enters the table", func(r *raw) {
			r.head(1, true, request(0x40, 1, 'a', 1, 'b')...).head(3, true, request(0xbe)...)
		}, answers(3)},
		{"hpack 6.2.3 a literal that never enters a table", func(r *raw) { r.head(1, true, request(0x10, 1, 'a', 1, 'b')...) }, answers(1)},
		{"hpack 6.3 a size update above the limit", func(r *raw) { r.head(1, true, append([]byte{0x3f, 0xe2, 0x1f}, request()...)...) }, connectionEnds(CompressionError)},
	}
}

// read waits for the end of a stream's answer.
func (r *raw) read(id uint32) *raw {
	r.t.Helper()
	for r.until(typeData, id).flags&flagEndStream == 0 {
	}
	return r
}

// TestSpec tries a server with what h2spec tries it with.
func TestSpec(t *testing.T) {
	for _, c := range specCases() {
		t.Run(c.name, func(t *testing.T) {
			e, r := pair(t, nil)
			e.mu.Lock()
			e.apart = true
			e.mu.Unlock()
			c.add(r.greet())
			if c.want.codes == nil {
				r.add(typePing, 0, 0, 'l', 'a', 's', 't', 0, 0, 0, 0)
			}
			r.send()
			seen := make(map[byte]bool)
			ponged, answered := false, c.want.stream == 0
			for {
				f, ok := r.next()
				if !ok {
					if c.want.codes == nil || c.want.stream != 0 {
						t.Fatalf("the connection has ended, want %+v", c.want)
					}
					t.Fatalf("the connection has ended without GOAWAY")
				}
				seen[f.typ] = true
				switch {
				case f.typ == typeGoAway:
					if code := ErrCode(binary.BigEndian.Uint32(f.payload[4:])); c.want.codes == nil || c.want.stream != 0 || code != c.want.codes[0] {
						t.Fatalf("the connection ended with %v (%s), want %+v", code, f.payload[8:], c.want)
					}
					return
				case f.typ == typeReset && c.want.codes != nil && f.id == c.want.stream:
					if f.code() != c.want.codes[0] {
						t.Fatalf("stream %d ended with %v, want %+v", f.id, f.code(), c.want)
					}
					return
				case f.typ == typeReset:
					t.Fatalf("stream %d ended with %v, want %+v", f.id, f.code(), c.want)
				case f.typ == typePing && f.flags&flagAck != 0 && string(f.payload[:4]) == "last":
					ponged = true
				case f.typ == typeData && f.id == c.want.stream && f.flags&flagEndStream != 0:
					answered = true
				}
				if c.want.codes == nil && ponged && answered {
					break
				}
			}
			for _, typ := range c.want.frames {
				if !seen[typ] {
					t.Errorf("no frame of type %d came", typ)
				}
			}
		})
	}
}

// TestWindowOfOne gives the answer of a stream room for one byte, and then for the rest.
func TestWindowOfOne(t *testing.T) {
	_, r := pair(t, nil)
	r.greet().setting(settingWindow, 1).setting(settingWindow, 2).setting(settingWindow, 1) // the last one counts
	r.head(1, false, request()...).add(typeData, flagEndStream, 1, 'h', 'e', 'l', 'l', 'o').send()
	if f := r.until(typeData, 1); len(f.payload) != 1 {
		t.Errorf("the first DATA has %d bytes, want 1", len(f.payload))
	}
	r.setting(settingWindow, 0).window(1, 1).send() // the window is 0 then
	r.setting(settingWindow, 3).send()
	if f := r.until(typeData, 1); len(f.payload) != 3 {
		t.Errorf("the second DATA has %d bytes, want 3", len(f.payload))
	}
	r.window(1, 100).send().read(1)
}
