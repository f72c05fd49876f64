package wire

// The reasons that weft itself gives for a call that failed.
const (
	ReasonBreakerOpen      = "BREAKER_OPEN"
	ReasonClosed           = "CLOSED"
	ReasonClientLimit      = "CLIENT_LIMIT"
	ReasonDecode           = "DECODE"
	ReasonDecompress       = "DECOMPRESS"
	ReasonDraining         = "DRAINING"
	ReasonEncode           = "ENCODE"
	ReasonForbidden        = "FORBIDDEN_BY_RULES"
	ReasonHandshake        = "HANDSHAKE"
	ReasonMessageTooLarge  = "MESSAGE_TOO_LARGE"
	ReasonMetadataTooLarge = "METADATA_TOO_LARGE"
	ReasonNoCallback       = "NO_CALLBACK"
	ReasonNoCodec          = "NO_CODEC"
	ReasonNoMethod         = "NO_METHOD"
	ReasonNoServer         = "NO_SERVER"
	ReasonNoServices       = "NO_SERVICES"
	ReasonPanic            = "PANIC"
	ReasonProtocol         = "PROTOCOL"
	ReasonShutdown         = "SHUTDOWN"
	ReasonSlowReader       = "SLOW_READER"
	ReasonTooManyBytes     = "TOO_MANY_BYTES"
	ReasonTooManyCalls     = "TOO_MANY_CALLS"
	ReasonWrongKind        = "WRONG_KIND"
)
