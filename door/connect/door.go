package connect

import (
	"slices"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/door/connect/internal/exchange"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/internal/cors"
	"github.com/weftrpc/weft/door/internal/webjson"
)

// Doors returns the doors of Connect, gRPC-Web and gRPC for ServerConfig.Doors: one for connections of
// HTTP/2, which is that of package door/grpc, and one for HTTP/1.1, which is that of package door/http.
// They take the place of the doors of these packages.
//
//	weft.ServerConfig{Doors: append(connect.Doors(nil), jsonrpc.Door(nil))}
func Doors(cfg *Config) []weft.Door {
	d := &door{cfg: cfg.complete(), nosniff: []string{"nosniff"}}
	d.json = webjson.New(d.cfg.StrictFields)
	d.cors.Origins = d.cfg.Origins
	if d.cfg.Prefix = "/" + strings.Trim(d.cfg.Prefix, "/"); d.cfg.Prefix != "/" {
		d.cfg.Prefix += "/"
	}
	var web http.Config
	if d.cfg.HTTP != nil {
		web = *d.cfg.HTTP
	} else {
		web.BodyTimeout = d.cfg.BodyTimeout
	}
	web.Hosts = slices.Concat(web.Hosts, d.cfg.Hosts)
	d.cors.Hosts = web.Hosts
	front := web.Front
	web.Front = d.front(front)
	d.http = http.Door(&web)
	var rpc grpc.Config
	if d.cfg.GRPC != nil {
		rpc = *d.cfg.GRPC
	} else {
		rpc.Leading = d.cfg.Leading
	}
	rpc.Other = func(c *weft.DoorConn, p *weft.Peer) (grpc.Other, error) {
		h, err := http.Handler(d.http, c, p)
		if err != nil {
			return nil, err
		}
		return exchange.New(c, p, h), nil
	}
	return []weft.Door{grpc.Door(&rpc), d.http}
}

// door is what the doors share.
type door struct {
	cfg    Config
	http   weft.Door
	cors   cors.Policy
	tables sync.Map // *weft.Services to *table
	json   codec.Codec

	nosniff []string // the value of a header of every answer, which is not changed
}
