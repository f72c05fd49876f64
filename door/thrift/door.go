package thrift

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift/internal/plan"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// door implements weft.Door.
type door struct {
	cfg   Config
	plans plan.Set
	index atomic.Pointer[index]
	tools sync.Pool // of *tools
}

func newDoor(cfg *Config) *door {
	d := &door{}
	if cfg != nil {
		d.cfg = *cfg
	}
	return d
}

// Name implements weft.Door.
func (*door) Name() string { return weft.WireThrift }

// Protocols implements weft.Door.
func (*door) Protocols() []string { return nil }

// maxFirst is how many bytes the first frame of a connection may have: its first byte is then none with which another wire begins.
const maxFirst = 64<<20 - 1

// Match implements weft.Door.
func (*door) Match(prefix []byte) (yes, more bool) {
	_, v := protocol.Sniff(prefix, maxFirst)
	return v == protocol.Yes, v == protocol.More
}

// afterEnd is how long calls may go on whose client sends nothing more: it may have gone, or wait for answers.
const afterEnd = time.Second

// Serve implements weft.Door.
func (d *door) Serve(c *weft.DoorConn) error {
	if _, err := c.Admit(weft.Credential{}, nil); err != nil {
		return err
	}
	s := newServerConn(d, c)
	c.Go(s.rd.run)
	select {
	case <-s.ended:
	case <-c.Draining():
		select {
		case <-s.ended:
		case <-s.out.drain():
			s.stop()
			<-s.ended
			s.out.close()
			return nil
		}
	}
	err := s.err
	full, _ := errors.AsType[*weft.Error](err)
	if end := errors.Is(err, io.EOF); end || full != nil && full.Reason == weft.ReasonTooManyBytes { // calls that run are answered
		s.out.settle(afterEnd)
		if end {
			err = nil
		}
	}
	s.out.close()
	return err
}

// tools are what a message is read and written by.
type tools struct {
	r protocol.Reader
	w protocol.Writer
}

// kept is the largest buffer that is used again, in bytes.
const kept = 64 << 10

// take takes the bytes that were written out of the tools, in memory of about their size.
func (t *tools) take() []byte {
	b := t.w.Buf
	if cap(b) > 2*len(b) {
		return bytes.Clone(b)
	}
	t.w.Buf = nil
	return b
}

func (d *door) getTools() *tools {
	if t, ok := d.tools.Get().(*tools); ok {
		return t
	}
	return &tools{}
}

func (d *door) putTools(t *tools) {
	if cap(t.w.Buf) > kept {
		t.w.Buf = nil
	}
	t.r.Reset(nil, false)
	d.tools.Put(t)
}
