package weft

import (
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/tcp"
	"github.com/weftrpc/weft/transport/unix"
)

// defaultTransports are what addresses can name without configuration.
func defaultTransports() []transport.Transport {
	return []transport.Transport{tcp.New(nil), unix.New(nil)}
}
