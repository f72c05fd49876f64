package weft

import "github.com/weftrpc/weft/internal/wire"

// The reasons that weft itself gives in Error.Reason. Handlers have their own.
const (
	ReasonBreakerOpen      = wire.ReasonBreakerOpen      // a circuit breaker of the client did not let the attempt through
	ReasonClosed           = wire.ReasonClosed           // the connection was closed while the call was open
	ReasonClientLimit      = wire.ReasonClientLimit      // a limit that rules set for the calls of a client
	ReasonDecode           = wire.ReasonDecode           // a message is not one of its codec and type
	ReasonDecompress       = wire.ReasonDecompress       // a message cannot be decompressed
	ReasonDraining         = wire.ReasonDraining         // the peer shuts down and takes no more calls
	ReasonEncode           = wire.ReasonEncode           // a message cannot be encoded
	ReasonForbidden        = wire.ReasonForbidden        // rules let the call go to no server
	ReasonHandshake        = wire.ReasonHandshake        // the handshake of a connection failed
	ReasonMessageTooLarge  = wire.ReasonMessageTooLarge  // Limits.MaxMessage of the receiver
	ReasonMetadataTooLarge = wire.ReasonMetadataTooLarge // Limits.MaxMetadata of the receiver
	ReasonNoCallback       = wire.ReasonNoCallback       // the peer's wire cannot be called back
	ReasonNoCodec          = wire.ReasonNoCodec          // the receiver does not have the codec
	ReasonNoMethod         = wire.ReasonNoMethod         // there is no such method
	ReasonNoServer         = wire.ReasonNoServer         // no server is known that can take the call
	ReasonNoServices       = wire.ReasonNoServices       // the peer offers no services at all
	ReasonOverloadDeadline = wire.ReasonOverloadDeadline // the server is overloaded: the call would be answered too late
	ReasonOverloadMethod   = wire.ReasonOverloadMethod   // as many calls of the method are in flight on the server as it can use, or MethodLimit says
	ReasonOverloadWait     = wire.ReasonOverloadWait     // the server is overloaded: calls wait too long for a processor, or Overload.MaxInFlight are in flight
	ReasonPanic            = wire.ReasonPanic            // the handler panicked
	ReasonProtocol         = wire.ReasonProtocol         // a peer broke the protocol
	ReasonShutdown         = wire.ReasonShutdown         // the server shut down before the call had ended
	ReasonSlowReader       = wire.ReasonSlowReader       // a peer makes calls and does not read the replies
	ReasonThrottled        = wire.ReasonThrottled        // the client sends fewer calls, since its servers refuse many for overload
	ReasonTooManyBytes     = wire.ReasonTooManyBytes     // Limits.MaxCallBytes of the receiver
	ReasonTooManyCalls     = wire.ReasonTooManyCalls     // Limits.MaxCalls of the receiver
	ReasonWrongKind        = wire.ReasonWrongKind        // a streaming method was called as a unary one, or the reverse
)
