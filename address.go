package weft

import (
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/tcp"
	"github.com/weftrpc/weft/transport/unix"
)

// defaultTransports are what addresses can name without configuration.
var defaultTransports = []transport.Transport{tcp.New(nil), unix.New(nil)}
