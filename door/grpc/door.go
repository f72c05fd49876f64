package grpc

import (
	"errors"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc/internal/routes"
	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/door/internal/http2"
	"github.com/weftrpc/weft/internal/fence"
)

// Door returns a door for clients of gRPC, by TLS with the protocol h2 and on plaintext connections by prior knowledge.
func Door(cfg *Config) weft.Door {
	d := &door{}
	if cfg != nil {
		d.cfg = *cfg
	}
	d.tables = hpack.NewTables(vocabulary{keep: d.cfg.Other != nil})
	return d
}

type door struct {
	cfg    Config
	tables *hpack.Tables
	here   bool // tests: calls run on the goroutine that reads though their methods are slow
}

func (*door) Name() string { return weft.WireGRPC }

func (*door) Protocols() []string { return []string{"h2"} }

func (*door) Match(prefix []byte) (yes, more bool) {
	n := min(len(prefix), len(http2.Preface))
	same := strings.HasPrefix(http2.Preface, string(prefix[:n]))
	return same && n == len(http2.Preface), same
}

// streamSlack is how many streams more than calls a client may have open: so it is told that there are too many calls, and by whose limit.
const streamSlack = 128

// Serve implements weft.Door.
func (d *door) Serve(c *weft.DoorConn) error {
	s := newServerConn(d, c)
	return d.serve(s, s)
}

// newServerConn returns a connection that serve serves.
func newServerConn(d *door, c *weft.DoorConn) *serverConn {
	return &serverConn{DoorConn: c, door: d, routes: routes.Routes{Source: c}, limits: c.Limits(), ok: hpack.Known{Name: statusName, Value: "0"}, fence: fence.Fence{Log: c.Logger()}}
}

// serve serves a connection; h handles what comes in.
func (d *door) serve(s *serverConn, h http2.Handler) error {
	c, limits := s.DoorConn, s.limits
	s.conn = http2.New(c.Conn(), h, http2.Config{
		Tables: d.tables, Vocabulary: vocabulary{&s.routes, d.cfg.Other != nil},
		MaxStreams: limits.MaxCalls + streamSlack, StreamWindow: max(limits.StreamWindow, minWindow), MaxHeader: limits.MaxMetadata + headerSlack,
		WriteBuffer: limits.WriteBuffer, StreamBuffer: limits.MaxStreamBytes, WriteTimeout: limits.WriteTimeout,
		PingInterval: limits.PingInterval, PingIdle: limits.PingIdle, PingTimeout: limits.PingTimeout,
		Go: c.Go, Guard: func(takeOver func()) http2.Guard { return c.Guard(takeOver) }, Stalled: s.stalled, Batch: s.jobs.Submit, Hold: c.Hold,
		Wrote: s.wroteLocked,
	})
	peer, err := c.Admit(weft.Credential{}, nil)
	if err == nil && d.cfg.Other != nil {
		s.other, err = d.cfg.Other(c, peer)
	}
	if err != nil {
		s.conn.Leave(http2.NoError, err)
		return err
	}
	c.Go(s.conn.Run)
	return s.wait(c.Draining())
}

const (
	// minWindow is the least window of a stream, which HTTP/2 presumes until it is told.
	minWindow = 64 << 10
	// headerSlack is what the fields that are no metadata may have.
	headerSlack = 4 << 10
)

// wait returns when the connection has ended or was drained.
func (s *serverConn) wait(draining <-chan struct{}) error {
	var old <-chan time.Time
	if s.door.cfg.MaxAge > 0 {
		timer := time.NewTimer(s.door.cfg.MaxAge)
		defer timer.Stop()
		old = timer.C
	}
	select {
	case <-draining:
	case <-old:
	case <-s.conn.Done():
		return ended(s.conn.Err())
	}
	select {
	case <-s.conn.Drain():
	case <-s.conn.Done():
		return ended(s.conn.Err())
	}
	s.conn.Finish()
	return nil
}

// ended is what a connection that its peer has closed returns.
func ended(err error) error {
	if errors.Is(err, http2.ErrClosed) {
		return nil
	}
	return err
}
