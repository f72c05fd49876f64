package http2

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/door/internal/http2/internal/calm"
	"github.com/weftrpc/weft/internal/polltest"
)

// answered makes a request and waits for the end of its answer.
func (r *raw) answered(id uint32) {
	r.t.Helper()
	r.get(id, "/", true).send()
	for {
		if f := r.until(typeData, id); f.flags&flagEndStream != 0 {
			return
		}
	}
}

// TestRapidReset opens streams and resets them at once, many more than may be open.
func TestRapidReset(t *testing.T) {
	e, r := pair(t, nil)
	r.greet().send()
	id := uint32(1)
	for range 200 {
		for range 100 {
			r.get(id, "/", false).add(typeReset, 0, id, 0, 0, 0, 8)
			id += 2
		}
		r.send()
	}
	r.answered(id)
	if n := e.conn.streamsOpen(); n != 0 {
		t.Errorf("%d streams are open", n)
	}
}

// TestResetsOfNothing resets streams that have ended, which costs the peer nothing else.
func TestResetsOfNothing(t *testing.T) {
	_, r := pair(t, nil)
	r.greet().get(1, "/", true).send()
	for range 5000 {
		r.add(typeReset, 0, 1, 0, 0, 0, 8)
	}
	if code := r.send().goAway(); code != EnhanceYourCalm {
		t.Errorf("the connection ended with %v", code)
	}
}

// TestLateResets resets many streams that have been answered, as a client does whose calls run out of time while they are
// answered: no more of them are allowed than streams were opened.
func TestLateResets(t *testing.T) {
	const streams = 3000
	_, r := pair(t, nil)
	r.greet()
	var resets raw
	for id := uint32(1); id < 2*streams; id += 2 {
		r.get(id, "/", true)
		resets.add(typeReset, 0, id, 0, 0, 0, 8)
		if id%100 == 1 {
			r.send().until(typeData, id)
		}
	}
	r.send().until(typeData, 2*streams-1)
	r.buf = resets.buf
	r.answered(2*streams + 1)
	r.buf = resets.buf
	if code := r.send().goAway(); code != EnhanceYourCalm {
		t.Errorf("the connection ended with %v", code)
	}
}

// TestLateResetsOfServer has a client reset streams, all of which the server resets at that moment as well.
func TestLateResetsOfServer(t *testing.T) {
	const streams = 3000
	e, r := pair(t, func(c *Config) { c.Client = true })
	r.server()
	<-e.conn.Settled()
	for id := uint32(1); id < 2*streams; id += 2 {
		st := new(Stream)
		if err := e.open(t.Context(), st); err != nil {
			t.Fatal(err)
		}
		e.conn.Lock()
		e.conn.ResetLocked(st, Cancel)
		e.conn.FlushAndUnlock(false)
		r.until(typeReset, id)
	}
	for id := uint32(1); id < 2*streams; id += 2 {
		r.add(typeReset, 0, id, 0, 0, 0, 8)
	}
	if err := e.open(t.Context(), new(Stream)); err != nil {
		t.Fatal(err)
	}
	r.add(typeHeaders, flagEndHeaders|flagEndStream, 2*streams+1, 0x88).send()
	select {
	case <-e.headers:
	case <-e.conn.Done():
		t.Error(e.conn.Err())
	}
}

// TestFloods sends frames that belong to no request.
func TestFloods(t *testing.T) {
	for name, add := range map[string]func(*raw){
		"PING":         func(r *raw) { r.add(typePing, 0, 0, make([]byte, 8)...) },
		"SETTINGS":     func(r *raw) { r.add(typeSettings, 0, 0, 0, 3, 0, 0, 0, 1) },
		"empty DATA":   func(r *raw) { r.add(typeData, 0, 1) },
		"padded DATA":  func(r *raw) { r.add(typeData, flagPadded, 1, 0) },
		"PRIORITY":     func(r *raw) { r.add(typePriority, 0, 1, 0, 0, 0, 0, 1) },
		"unknown":      func(r *raw) { r.add(200, 0, 0) },
		"zero updates": func(r *raw) { r.add(typeWindow, 0, 1, 0, 0, 0, 0).get(3, "/", false) },
	} {
		t.Run(name, func(t *testing.T) {
			_, r := pair(t, nil)
			r.greet().get(1, "/", false)
			if name == "zero updates" { // ends its stream; the id of the other is used again
				r.add(typeWindow, 0, 1, 0, 0, 0, 0).send()
				if code := r.until(typeReset, 1).code(); code != ProtocolError {
					t.Errorf("the stream ended with %v", code)
				}
				return
			}
			for range 3000 {
				add(r)
			}
			if code := r.send().goAway(); code != EnhanceYourCalm {
				t.Errorf("the connection ended with %v", code)
			}
		})
	}
}

// TestPingsOfCalls sends two PINGs with each request, as grpc-go may.
func TestPingsOfCalls(t *testing.T) {
	_, r := pair(t, nil)
	r.greet().send()
	id := uint32(1)
	for range 100 {
		for range 50 {
			r.add(typePing, 0, 0, make([]byte, 8)...).get(id, "/", false).add(typeData, flagEndStream, id, 'x').add(typePing, 0, 0, make([]byte, 8)...)
			id += 2
		}
		r.send().until(typeData, id-2)
	}
}

// TestPingsOfData sends a PING for each DATA frame that comes, as grpc-go does while it receives a stream. Without DATA there may be few.
func TestPingsOfData(t *testing.T) {
	e, r := pair(t, nil)
	e.apart = true
	r.greet().get(1, "/hold", true).send().until(typeSettings, 0)
	ping := func() { r.add(typePing, 0, 0, make([]byte, 8)...) }
	ping()
	r.send().until(typePing, 0) // the request was read
	e.conn.Lock()
	st := e.conn.open.Get(1)
	at := e.conn.StartHeadersLocked(st, false)
	e.conn.SetBufferLocked(e.conn.Enc.Static(e.conn.BufferLocked(), hpack.Static200))
	e.conn.EndHeadersLocked(at)
	e.conn.Unlock()
	for range 3 * calm.Burst {
		e.conn.Lock()
		e.conn.QueueDataLocked(st, []byte{1}, false, nil)
		e.conn.FlushAndUnlock(false)
		r.until(typeData, 1)
		ping()
		r.send().until(typePing, 0)
	}
	for range 3 * calm.Burst {
		ping()
	}
	if code := r.send().goAway(); code != EnhanceYourCalm {
		t.Errorf("the connection ended with %v", code)
	}
}

// TestContinuationFlood sends a header block that does not end.
func TestContinuationFlood(t *testing.T) {
	for name, piece := range map[string][]byte{"empty": nil, "long": make([]byte, maxFrame)} {
		t.Run(name, func(t *testing.T) {
			_, r := pair(t, nil)
			r.greet().add(typeHeaders, 0, 1, 0x83)
			for range 100 {
				r.add(typeContinuation, 0, 1, piece...)
			}
			if code := r.send().goAway(); code != EnhanceYourCalm {
				t.Errorf("the connection ended with %v", code)
			}
		})
	}
}

// TestBomb sends a header block that is short and stands for a long one: no more of it is
// looked at than is allowed, and the connection goes on.
func TestBomb(t *testing.T) {
	e, r := pair(t, nil)
	long := hpack.Known{Name: "x", Value: strings.Repeat("x", 3000)}
	b := r.enc.Static(r.enc.Static(nil, hpack.StaticPOST), hpack.StaticHTTP)
	b = r.enc.Literal(b, ":path", "/")
	for range 5000 {
		b = r.enc.Known(b, &long)
	}
	r.greet().add(typeHeaders, flagEndHeaders|flagEndStream, 1, b...)
	r.answered(3)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.size > 8<<10 || e.tooLarge != 1 {
		t.Errorf("%d bytes of fields were given to the handler, %d blocks were too large", e.size, e.tooLarge)
	}
}

// TestBlockedReplies makes requests whose answers have no room in the windows: few are held,
// and they leave when there is room.
func TestBlockedReplies(t *testing.T) {
	e, r := pair(t, nil)
	r.greet().add(typeSettings, 0, 0, 0, settingWindow, 0, 0, 0, 0)
	body := make([]byte, 1000)
	for id := uint32(1); id < 100; id += 2 {
		r.get(id, "/", false).add(typeData, flagEndStream, id, body...)
	}
	r.send()
	queued := func() int {
		e.conn.mu.Lock()
		defer e.conn.mu.Unlock()
		return e.conn.queued
	}
	polltest.True(t, patience, "all answers wait", func() bool { return queued() == 50*1000 })
	for id := uint32(1); id < 100; id += 4 { // one half leaves, the other is reset
		r.buf = appendWindow(r.buf, id, 400)
		r.buf = appendWindow(r.buf, id, 600)
		r.add(typeReset, 0, id+2, 0, 0, 0, 8)
	}
	r.send().until(typeData, 97)
	polltest.True(t, patience, "nothing waits", func() bool { return queued() == 0 && e.conn.streamsOpen() == 0 })
}

// TestShrunkenWindow makes a window negative, and waits for it to be positive again.
func TestShrunkenWindow(t *testing.T) {
	_, r := pair(t, nil)
	r.greet().get(1, "/", false).add(typeData, 0, 1, make([]byte, maxFrame)...).send()
	r.add(typeSettings, 0, 0, 0, settingWindow, 0, 0, 0x20, 0).add(typeData, flagEndStream, 1, make([]byte, maxFrame)...).send()
	if f := r.until(typeData, 1); len(f.payload) != 0x2000 {
		t.Errorf("the first DATA has %d bytes", len(f.payload))
	}
	r.add(typeSettings, 0, 0, 0, settingWindow, 0, 0, 0, 16)
	r.buf = appendWindow(r.buf, 1, 1<<20)
	r.send()
	left := 2*maxFrame - 0x2000
	for left > 0 {
		left -= len(r.until(typeData, 1).payload)
	}
}

// TestBreaches sends what ends a connection or a stream.
func TestBreaches(t *testing.T) {
	huge := binary.BigEndian.AppendUint32(nil, maxWin)
	for name, test := range map[string]struct {
		add  func(*raw)
		code ErrCode
		id   uint32 // of the stream; 0: the connection ends
	}{
		"not SETTINGS first":    {func(r *raw) { r.buf = append(r.buf[:0], Preface...); r.add(typePing, 0, 0, make([]byte, 8)...) }, ProtocolError, 0},
		"large frame":           {func(r *raw) { r.add(typeData, 0, 1, make([]byte, maxFrame+1)...) }, FrameSizeError, 0},
		"even stream":           {func(r *raw) { r.get(2, "/", true) }, ProtocolError, 0},
		"stream number falls":   {func(r *raw) { r.get(5, "/", false).get(3, "/", false) }, ProtocolError, 0},
		"HEADERS of stream 0":   {func(r *raw) { r.get(0, "/", true) }, ProtocolError, 0},
		"DATA of stream 0":      {func(r *raw) { r.add(typeData, 0, 0, 1) }, ProtocolError, 0},
		"DATA before HEADERS":   {func(r *raw) { r.add(typeData, 0, 1, 1) }, ProtocolError, 0},
		"DATA behind the end":   {func(r *raw) { r.get(1, "/hold", true).add(typeData, 0, 1, 1) }, StreamClosed, 1},
		"RST_STREAM of idle":    {func(r *raw) { r.add(typeReset, 0, 1, 0, 0, 0, 0) }, ProtocolError, 0},
		"short RST_STREAM":      {func(r *raw) { r.get(1, "/", false).add(typeReset, 0, 1, 0) }, FrameSizeError, 0},
		"WINDOW_UPDATE of idle": {func(r *raw) { r.buf = appendWindow(r.buf, 1, 1) }, ProtocolError, 0},
		"window of zero":        {func(r *raw) { r.buf = appendWindow(r.buf, 0, 0) }, ProtocolError, 0},
		"window too large":      {func(r *raw) { r.add(typeWindow, 0, 0, huge...) }, FlowControlError, 0},
		"stream window":         {func(r *raw) { r.get(1, "/", false).add(typeWindow, 0, 1, huge...) }, FlowControlError, 1},
		"INITIAL_WINDOW_SIZE":   {func(r *raw) { r.add(typeSettings, 0, 0, 0, settingWindow, 0xff, 0xff, 0xff, 0xff) }, FlowControlError, 0},
		"MAX_FRAME_SIZE":        {func(r *raw) { r.add(typeSettings, 0, 0, 0, settingMaxFrame, 0, 0, 0, 1) }, ProtocolError, 0},
		"ENABLE_PUSH":           {func(r *raw) { r.add(typeSettings, 0, 0, 0, settingPush, 0, 0, 0, 2) }, ProtocolError, 0},
		"length of SETTINGS":    {func(r *raw) { r.add(typeSettings, 0, 0, 1, 2, 3) }, FrameSizeError, 0},
		"ack with a payload":    {func(r *raw) { r.add(typeSettings, flagAck, 0, 0, 1, 0, 0, 0, 0) }, FrameSizeError, 0},
		"SETTINGS of a stream":  {func(r *raw) { r.add(typeSettings, 0, 1) }, ProtocolError, 0},
		"PING of a stream":      {func(r *raw) { r.add(typePing, 0, 1, make([]byte, 8)...) }, ProtocolError, 0},
		"short PING":            {func(r *raw) { r.add(typePing, 0, 0, 1) }, FrameSizeError, 0},
		"PUSH_PROMISE":          {func(r *raw) { r.add(typePush, 0, 1, 0, 0, 0, 2) }, ProtocolError, 0},
		"lone CONTINUATION":     {func(r *raw) { r.add(typeContinuation, flagEndHeaders, 1) }, ProtocolError, 0},
		"block interrupted":     {func(r *raw) { r.add(typeHeaders, 0, 1).add(typePing, 0, 0, make([]byte, 8)...) }, ProtocolError, 0},
		"wrong block":           {func(r *raw) { r.add(typeHeaders, flagEndHeaders, 1, 0xff) }, CompressionError, 0},
		"too much padding":      {func(r *raw) { r.add(typeHeaders, flagEndHeaders|flagPadded, 1, 9, 0x83) }, ProtocolError, 0},
		"no path":               {func(r *raw) { r.add(typeHeaders, flagEndHeaders, 1, 0x83, 0x86) }, ProtocolError, 1},
		"two methods":           {func(r *raw) { r.add(typeHeaders, flagEndHeaders, 1, 0x83, 0x83, 0x84, 0x86) }, ProtocolError, 1},
		"a status":              {func(r *raw) { r.add(typeHeaders, flagEndHeaders, 1, 0x83, 0x84, 0x86, 0x88) }, ProtocolError, 1},
		"upper case":            {func(r *raw) { r.add(typeHeaders, flagEndHeaders, 1, 0x83, 0x84, 0x86, 0, 1, 'A', 1, 'b') }, ProtocolError, 1},
		"line end in a value":   {func(r *raw) { r.add(typeHeaders, flagEndHeaders, 1, 0x83, 0x84, 0x86, 0, 1, 'a', 1, '\n') }, ProtocolError, 1},
		"pseudo behind regular": {func(r *raw) { r.add(typeHeaders, flagEndHeaders, 1, 0x83, 0x84, 0, 1, 'a', 1, 'b', 0x86) }, ProtocolError, 1},
		"depends on itself":     {func(r *raw) { r.get(1, "/", false).add(typePriority, 0, 1, 0, 0, 0, 1, 1) }, ProtocolError, 1},
		"trailers with a path":  {func(r *raw) { r.get(1, "/", false).get(1, "/", true) }, ProtocolError, 1},
		"length that is wrong": {func(r *raw) {
			b := r.enc.Literal(r.enc.Literal([]byte{0x83, 0x86}, ":path", "/"), "content-length", "5")
			r.add(typeHeaders, flagEndHeaders, 1, b...).add(typeData, flagEndStream, 1, 1)
		}, ProtocolError, 1},
		"too much DATA": {func(r *raw) {
			r.get(1, "/hold", true).get(3, "/", false)
			for range 9 { // beyond the window, and nothing is given back while the reader is held up
				r.add(typeData, 0, 5, make([]byte, maxFrame)...)
			}
		}, ProtocolError, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e, r := pair(t, nil)
			defer close(e.hold)
			test.add(r.greet())
			r.send()
			if test.id != 0 {
				if code := r.until(typeReset, test.id).code(); code != test.code {
					t.Errorf("the stream ended with %v, want %v", code, test.code)
				}
				return
			}
			if code := r.goAway(); code != test.code {
				t.Errorf("the connection ended with %v, want %v", code, test.code)
			}
		})
	}
}

// TestTooManyStreams opens more streams than may be open.
func TestTooManyStreams(t *testing.T) {
	_, r := pair(t, func(c *Config) { c.MaxStreams = 3 })
	r.greet()
	for id := uint32(1); id <= 9; id += 2 {
		r.get(id, "/", false)
	}
	r.send()
	for _, id := range []uint32{7, 9} {
		if code := r.until(typeReset, id).code(); code != RefusedStream {
			t.Errorf("stream %d ended with %v", id, code)
		}
	}
	r.add(typeData, flagEndStream, 1).send().until(typeData, 1)
	r.answered(11)
}

// TestWrongPreface connects with what is no preface.
func TestWrongPreface(t *testing.T) {
	_, r := pair(t, nil)
	r.buf = []byte("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n")
	if code := r.send().goAway(); code != 99 {
		t.Errorf("a GOAWAY came with %v", code)
	}
}
