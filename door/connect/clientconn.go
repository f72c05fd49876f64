package connect

import (
	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/door/internal/carriers"
)

// clientConn is a connection of the wire.
type clientConn struct {
	*carriers.Conns
	w    *wire
	cfg  weft.WireConfig
	json codec.Codec
}
