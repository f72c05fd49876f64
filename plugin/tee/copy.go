package tee

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/diff"
	"github.com/weftrpc/weft/plugin/internal/encoded"
)

// copied is a call of which a copy is to be made, with what the original has answered.
type copied struct {
	method  string
	oneway  bool
	pairs   []string // of its metadata
	request encoded.Message
	reply   encoded.Message
	maker   func() any // of a reply to decode into; nil: there is no reply to compare
	code    weft.Code
	took    time.Duration
}

// work makes copies until the Tee is closed.
func (t *Tee) work() {
	for {
		select {
		case <-t.life.Done():
			return
		case c := <-t.queue:
			t.make(c)
			t.bytes.Add(-int64(len(c.request.Body) + len(c.reply.Body)))
		}
	}
}

// make makes a copy and compares what it answers.
func (t *Tee) make(c *copied) {
	ctx, cancel := context.WithTimeout(t.life, t.cfg.Timeout)
	defer cancel()
	ctx = weft.WithMetadata(ctx, append(c.pairs, Mark, "1")...)
	options := []weft.CallOption{weft.WithCodec(encoded.Codec(c.request.Codec))}
	if t.cfg.Credential != nil {
		options = append(options, weft.WithCredential(*t.cfg.Credential))
	}
	if c.oneway {
		err := t.notifier.Notify(ctx, c.method, &c.request.Body, options...)
		t.figures.note(c, 0, verdict{unreached: err != nil, oneway: true})
		return
	}
	reply := encoded.Message{Codec: c.request.Codec}
	began := time.Now()
	err := t.cfg.Target.Call(ctx, c.method, &c.request.Body, &reply.Body, options...)
	took := time.Since(began)
	if t.life.Err() == nil {
		t.figures.note(c, took, t.judge(c, reply, err))
	}
}

// verdict is what came of a copy.
type verdict struct {
	unreached   bool // the target did not run it, as far as is known
	oneway      bool // there is nothing to compare
	code        weft.Code
	differences []diff.Difference
	different   bool
}

// judge compares the answers.
func (t *Tee) judge(c *copied, reply encoded.Message, err error) verdict {
	v := verdict{code: weft.CodeOf(err)}
	if e, ok := errors.AsType[*weft.Error](err); ok && e.Outcome != weft.Executed {
		v.unreached = true
		return v
	}
	if v.code != c.code {
		v.different = true
		return v
	}
	if err != nil || c.maker == nil || bytes.Equal(reply.Body, c.reply.Body) {
		return v
	}
	v.differences, err = t.compare(c, reply)
	if err != nil {
		v.differences = []diff.Difference{{B: err.Error()}}
	}
	v.different = len(v.differences) > 0
	if !t.cfg.Values {
		for i := range v.differences {
			v.differences[i].A, v.differences[i].B = "", ""
		}
	}
	return v
}

// compare compares two replies by their fields.
func (t *Tee) compare(c *copied, reply encoded.Message) ([]diff.Difference, error) {
	if c.request.Codec == "raw" {
		return []diff.Difference{{}}, nil
	}
	reply.Codec = c.reply.Codec
	var texts [2][]byte
	for i, m := range []encoded.Message{c.reply, reply} {
		v := c.maker()
		if err := m.Decode(v); err != nil {
			return nil, err
		}
		var err error
		if texts[i], err = encoded.JSON(v); err != nil {
			return nil, err
		}
	}
	return diff.JSON(texts[0], texts[1], t.cfg.Ignore)
}
