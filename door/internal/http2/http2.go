// Package http2 is one connection of HTTP/2 (RFC 9113), of a server or of a client, for the doors and wires that travel by it. It is made
// like weft's own sessions: frames are parsed where they lie in the read buffer, frames of many calls leave in one write, and the goroutine
// that reads may run short calls itself.
//
// A [Conn] knows frames, header compression (RFC 7541), flow control and the limits that keep
// a hostile peer from making it work or hold much. It knows no requests: its [Handler] does.
package http2

import "fmt"

// Preface is what a client sends first.
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// ErrCode is why a stream or a connection ends.
type ErrCode uint32

// The codes that this package gives a meaning.
const (
	NoError          ErrCode = 0
	ProtocolError    ErrCode = 1
	InternalError    ErrCode = 2
	FlowControlError ErrCode = 3
	StreamClosed     ErrCode = 5
	FrameSizeError   ErrCode = 6
	RefusedStream    ErrCode = 7
	Cancel           ErrCode = 8
	CompressionError ErrCode = 9
	EnhanceYourCalm  ErrCode = 11
	// InadequateSecurity is of a server that does not take the connection's TLS.
	InadequateSecurity ErrCode = 12
)

// String is the name of the code as the RFC has it.
func (e ErrCode) String() string {
	names := [...]string{"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
		"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
		"INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"}
	if int(e) < len(names) {
		return names[e]
	}
	return fmt.Sprintf("error code %d", uint32(e))
}

// Breach is what a peer did that ends the connection.
type Breach struct {
	Code ErrCode
	What string
}

func (b *Breach) Error() string { return "http2: " + b.What + " (" + b.Code.String() + ")" }

func breach(code ErrCode, format string, args ...any) error {
	return &Breach{code, fmt.Sprintf(format, args...)}
}

// GoneAway is the error of a connection that its peer has ended by GOAWAY.
type GoneAway struct {
	Code  ErrCode
	Debug string
}

func (g *GoneAway) Error() string {
	text := "http2: the peer takes no more streams (" + g.Code.String() + ")"
	if g.Debug != "" {
		text += fmt.Sprintf(": %q", g.Debug)
	}
	return text
}

// Types of frames.
const (
	typeData         = 0
	typeHeaders      = 1
	typePriority     = 2
	typeReset        = 3
	typeSettings     = 4
	typePush         = 5
	typePing         = 6
	typeGoAway       = 7
	typeWindow       = 8
	typeContinuation = 9
)

// Flags of frames.
const (
	flagEndStream  = 1
	flagAck        = 1
	flagEndHeaders = 4
	flagPadded     = 8
	flagPriority   = 32
)

// Settings.
const (
	settingTableSize  = 1
	settingPush       = 2
	settingMaxStreams = 3
	settingWindow     = 4
	settingMaxFrame   = 5
	settingMaxHeaders = 6
)

const (
	headerSize = 9
	maxFrame   = 16 << 10 // bytes of a frame, received and sent
	maxPieces  = 16       // frames of one header block
	defaultWin = 65535
	maxWin     = 1<<31 - 1
	maxID      = 1<<31 - 1
)
